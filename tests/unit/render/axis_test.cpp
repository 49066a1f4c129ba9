// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>

#include "base/clock.h"
#include "render/time_axis.h"
#include "render/value_axis.h"
#include "support/timelines.h"

namespace memlog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kBegin;
using testing::kSecond;

constexpr double kGiB = 1073741824.0;

std::vector<std::string> words(const std::vector<ValueTick>& ticks) {
  std::vector<std::string> words;
  words.reserve(ticks.size());
  for (const ValueTick& tick : ticks) words.push_back(tick.label);
  return words;
}

std::vector<std::string> words(const std::vector<TimeTick>& ticks) {
  std::vector<std::string> words;
  words.reserve(ticks.size());
  for (const TimeTick& tick : ticks)
    words.push_back(tick.date.empty() ? tick.label : tick.label + "|" + tick.date);
  return words;
}

TEST(ValueTicks, StepsAreOneTwoFiveOfTheBinaryUnitOfTheTop) {
  EXPECT_THAT(words(value_ticks(5.5 * kGiB, 6, Unit::bytes)),
              ElementsAre("0", "1 GiB", "2 GiB", "3 GiB", "4 GiB", "5 GiB"));
  EXPECT_THAT(words(value_ticks(1.2 * kGiB, 4, Unit::bytes)), ElementsAre("0", "0.5 GiB", "1.0 GiB"));
  EXPECT_THAT(words(value_ticks(0.99 * kGiB, 2, Unit::bytes)), ElementsAre("0", "1000 MiB"));
  EXPECT_THAT(words(value_ticks(7, 8, Unit::bytes)),
              ElementsAre("0", "1 B", "2 B", "3 B", "4 B", "5 B", "6 B", "7 B"));
}

TEST(ValueTicks, ValuesAreExactMultiplesOfTheUnit) {
  EXPECT_EQ(value_ticks(5.5 * kGiB, 6, Unit::bytes)[3].value, 3 * kGiB);
}

TEST(ValueTicks, NothingToShowStillGivesAnAxis) {
  for (const double top :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(words(value_ticks(top, 2, Unit::bytes)), ElementsAre("0", "0.5 MiB", "1.0 MiB"));
  }
  EXPECT_THAT(words(value_ticks(0, 3, Unit::count)), ElementsAre("0", "1"));
}

TEST(ValueTicks, TheLargestValuesHaveFewTicks) {
  const auto ticks = value_ticks(9.2e18, 5, Unit::bytes);
  EXPECT_LE(ticks.size(), 6U);
  EXPECT_EQ(ticks.back().label, "6 EiB");
}

TEST(TimeTicks, FallOnTheCalendarsSteps) {
  EXPECT_THAT(words(time_ticks(kBegin + 3 * kSecond, kBegin + 1200 * kSecond, 5, Zone::utc)),
              ElementsAre("12:05|2026-06-05", "12:10", "12:15", "12:20"));
  EXPECT_THAT(words(time_ticks(kBegin, kBegin + kSecond, 3, Zone::utc)),
              ElementsAre("12:00:00.000|2026-06-05", "12:00:00.500", "12:00:01.000"));
  EXPECT_THAT(words(time_ticks(kBegin, kBegin + int64_t{3} * 86400 * kSecond, 4, Zone::utc)),
              ElementsAre("2026-06-06", "2026-06-07", "2026-06-08"));
}

TEST(TimeTicks, TheDateIsToldAgainWhereTheDayChanges) {
  EXPECT_THAT(words(time_ticks(kBegin, kBegin + int64_t{16} * 3600 * kSecond, 4, Zone::utc)),
              ElementsAre("12:00|2026-06-05", "18:00", "00:00|2026-06-06"));
}

TEST(TimeTicks, AnEmptyOrReversedSpanHasNone) {
  EXPECT_THAT(time_ticks(kBegin, kBegin, 5, Zone::utc), IsEmpty());
  EXPECT_THAT(time_ticks(kBegin, kBegin - 1, 5, Zone::utc), IsEmpty());
}

TEST(TimeTicks, LocalTicksAreRoundInTheLocalZone) {
  setenv("TZ", "Asia/Kolkata", 1);
  tzset();
  EXPECT_THAT(words(time_ticks(kBegin, kBegin + 7200 * kSecond, 3, Zone::local)),
              ElementsAre("18:00|2026-06-05", "19:00"));
  EXPECT_EQ(zone_name(kBegin, Zone::local), "IST (UTC+05:30)");
  EXPECT_EQ(format_time(kBegin, Zone::local, true), "2026-06-05 17:30:00");
  unsetenv("TZ");
  tzset();
}

TEST(TimeTicks, TimeSinceTheStartCountsInReadableUnits) {
  EXPECT_THAT(words(elapsed_ticks(120 * kSecond, 5)), ElementsAre("0", "30 s", "1 min", "1:30 min", "2 min"));
  EXPECT_THAT(words(elapsed_ticks(int64_t{3} * 86400 * kSecond, 4)), ElementsAre("0", "1 d", "2 d", "3 d"));
}

TEST(FormatTime, TimesBeforeTheEpochAreRight) {
  EXPECT_EQ(format_time(-1, Zone::utc, true, 3), "1969-12-31 23:59:59.999");
}

}  // namespace
}  // namespace memlog
