// SPDX-License-Identifier: Apache-2.0
#include "csv/timestamp.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

constexpr int64_t kNoon = 1'780'662'896'000'000'000;  // 2026-06-05 12:34:56 UTC

std::string written(int64_t time_ns) {
  std::string text;
  TimestampWriter().append(text, time_ns);
  return text;
}

TEST(Timestamp, IsWrittenAsPythonDoesWithoutAFractionOfZero) {
  EXPECT_EQ(written(kNoon), "2026-06-05T12:34:56+00:00");
  EXPECT_EQ(written(kNoon + 789'012'000), "2026-06-05T12:34:56.789012+00:00");
  EXPECT_EQ(written(kNoon + 12'000), "2026-06-05T12:34:56.000012+00:00");
  EXPECT_EQ(written(0), "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(written(951'782'400'000'000'000), "2000-02-29T00:00:00+00:00");
}

TEST(Timestamp, IsReadWithAnyFractionAndOffset) {
  EXPECT_EQ(parse_timestamp("2026-06-05T12:34:56+00:00"), kNoon);
  EXPECT_EQ(parse_timestamp("2026-06-05T12:34:56.789012+00:00"), kNoon + 789'012'000);
  EXPECT_EQ(parse_timestamp("2026-06-05 12:34:56.5Z"), kNoon + 500'000'000);
  EXPECT_EQ(parse_timestamp("2026-06-05T12:34:56.123456789"), kNoon + 123'456'789);
  EXPECT_EQ(parse_timestamp("2026-06-05T14:34:56+02:00"), kNoon);
  EXPECT_EQ(parse_timestamp("2026-06-05T07:04:56-0530"), kNoon);
}

TEST(Timestamp, WhatIsNoTimeIsRefused) {
  for (const char* text :
       {"", "2026", "2026-06-05", "2026-06-05T12:34", "2026-02-30T00:00:00", "2026-13-01T00:00:00",
        "2026-06-05T24:00:00", "2026-06-05T12:60:00", "2026-06-05T12:34:60", "2026-06-05T12:34:56.",
        "2026-06-05T12:34:56.1234567890", "2026-06-05T12:34:56+0", "2026-06-05T12:34:56Zx",
        "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00", "2200-01-01T00:00:00Z", "20a6-06-05T12:34:56Z"})
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
}

}  // namespace
}  // namespace memlog
