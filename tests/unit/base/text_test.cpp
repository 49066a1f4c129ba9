// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace memlog {
namespace {

TEST(ParseInt, TakesOnlyWholeNumbers) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-1000"), -1000);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "1.0", "0x10", "9223372036854775808", "--1", "1e3"}) {
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  }
}

TEST(ParseDuration, TakesTheUnitsThatPeopleWrite) {
  EXPECT_EQ(*parse_duration("1s"), kNsPerSecond);
  EXPECT_EQ(*parse_duration("0.5"), 500 * kNsPerMs);
  EXPECT_EQ(*parse_duration("250ms"), 250 * kNsPerMs);
  EXPECT_EQ(*parse_duration("10us"), 10 * kNsPerUs);
  EXPECT_EQ(*parse_duration("2m"), 120 * kNsPerSecond);
  EXPECT_EQ(*parse_duration("1.5h"), 5400 * kNsPerSecond);
  EXPECT_EQ(*parse_duration("3d"), int64_t{3} * 86400 * kNsPerSecond);
}

TEST(ParseDuration, NamesWhatItCannotRead) {
  for (const char* bad :
       {"", "s", "-1s", "1 s", "1S", "nan", "inf", "1e3", "1000000000000h", "1s2", "0x1p4", "1,5s"}) {
    const Result<int64_t> parsed = parse_duration(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_NE(parsed.error().doing.find(std::string("'") + bad + "'"), std::string::npos);
  }
}

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(10239), "10.0 KiB");
  EXPECT_EQ(format_bytes(int64_t{1023} * 1024), "1.00 MiB");
  EXPECT_EQ(format_bytes(5497558138880), "5.00 TiB");
  EXPECT_EQ(format_bytes(-4096), "-4.00 KiB");
  EXPECT_EQ(format_bytes(INT64_MIN), "-8.00 EiB");
}

TEST(FormatDuration, ChoosesTheUnit) {
  EXPECT_EQ(format_duration(0), "0 µs");
  EXPECT_EQ(format_duration(850 * kNsPerMs), "850 ms");
  EXPECT_EQ(format_duration(12345 * kNsPerMs), "12.3 s");
  EXPECT_EQ(format_duration(59999 * kNsPerMs), "59.9 s");
  EXPECT_EQ(format_duration(245 * kNsPerSecond), "4 min 05 s");
  EXPECT_EQ(format_duration(7380 * kNsPerSecond), "2 h 03 min");
  EXPECT_EQ(format_duration(int64_t{76} * 3600 * kNsPerSecond), "3 d 04 h");
}

TEST(FormatUtc, HoldsBeforeAndAfter1970) {
  EXPECT_EQ(format_utc(0), "1970-01-01 00:00:00.000");
  EXPECT_EQ(format_utc(-1), "1969-12-31 23:59:59.999");
  EXPECT_EQ(format_utc(1780662896789012345), "2026-06-05 12:34:56.789");
}

TEST(Printable, NeverPassesAControlCharacterOrBrokenUtf8) {
  EXPECT_EQ(printable("worker"), "worker");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable("gr\xC3\xB6\xC3\x9F"), "gr\xC3\xB6\xC3\x9F");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");           // C1: CSI
  EXPECT_EQ(printable("\xC3"), "\\xc3");                    // cut short
  EXPECT_EQ(printable("\xE0\x80\x80"), "\\xe0\\x80\\x80");  // overlong
}

TEST(ValidUtf8, ReplacesOnlyWhatIsBroken) {
  EXPECT_EQ(valid_utf8("\xC3\xB6"), "\xC3\xB6");
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
}

TEST(Split, KeepsEmptyParts) { EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"})); }

TEST(Text, AShellTakesWhatIsQuotedAsItIs) {
  EXPECT_EQ(quoted_for_shell("/dev/shm/a b"), "'/dev/shm/a b'");
  EXPECT_EQ(quoted_for_shell("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace memlog
