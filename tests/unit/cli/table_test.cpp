// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <gmock/gmock.h>

namespace memlog {
namespace {

using ::testing::ElementsAre;

TEST(TextTable, AlignsNumbersRightAndLeavesNoBlanksAtTheEnd) {
  TextTable table({{"NAME"}, {"SIZE", Align::right}, {"END"}});
  table.add_row({"a", "7", "exit 0"});
  table.add_row({"longer", "12345", ""});
  EXPECT_EQ(table.render(0),
            "NAME     SIZE  END\n"
            "a           7  exit 0\n"
            "longer  12345\n");
}

TEST(TextTable, CutsOnlyWhatMayBeCutAndOnlyWhereTheTerminalIsTooNarrow) {
  TextTable table({{"NAME", Align::left, 4}, {"SIZE", Align::right}});
  table.add_row({"a very long name", "123"});
  EXPECT_EQ(table.render(80), "NAME              SIZE\na very long name   123\n");
  EXPECT_EQ(table.render(16), "NAME        SIZE\na very lo…   123\n");
  EXPECT_EQ(table.render(3), "NAME  SIZE\na v…   123\n");
}

TEST(TextTable, PrintsNoControlCharacter) {
  TextTable table({{"NAME"}});
  table.add_row({"\x1b[31m\n\xFF"});
  EXPECT_EQ(table.render(0), "NAME\n\\x1b[31m\\x0a\\xff\n");
}

TEST(DisplayWidth, CountsTerminalColumns) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("größe"), 5U);
  EXPECT_EQ(display_width("工作"), 4U);
  EXPECT_EQ(display_width("🔥"), 2U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);  // e and a combining accent
}

TEST(CutToWidth, NeverSplitsACharacterAndNeverExceedsTheWidth) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to_width("工作者", 4), "工…");
  EXPECT_EQ(cut_to_width("ab", 1), "…");
  EXPECT_EQ(cut_to_width("ab", 0), "");
}

TEST(Wrap, BreaksAtBlanks) {
  EXPECT_THAT(wrap("one two  three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("incomprehensible word", 5), ElementsAre("incomprehensible", "word"));
  EXPECT_THAT(wrap("", 5), ElementsAre(""));
}

}  // namespace
}  // namespace memlog
