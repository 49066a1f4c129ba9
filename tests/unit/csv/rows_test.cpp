// SPDX-License-Identifier: Apache-2.0
#include "csv/rows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace memlog {
namespace {

using ::testing::ElementsAre;

// `text` in pieces of `piece` bytes, so that rows lie across reads.
CsvRows::Source source_of(std::string text, size_t piece) {
  return [text = std::move(text), piece, at = size_t{0}](std::span<char> space) mutable -> Result<size_t> {
    const size_t length = std::min({piece, space.size(), text.size() - at});
    std::memcpy(space.data(), text.data() + at, length);
    at += length;
    return length;
  };
}

// Each row as "line:cell|cell", quoted cells in <>, bad ones as "line!reason", '~' where the line end is
// missing.
std::vector<std::string> read_all(const std::string& text, size_t piece = 3) {
  CsvRows rows(source_of(text, piece));
  std::vector<std::string> lines;
  while (true) {
    const Result<CsvRows::Found> found = rows.next();
    if (!found || *found == CsvRows::Found::end) return lines;
    std::string line = std::to_string(rows.line());
    if (*found == CsvRows::Found::bad) {
      line += "!" + rows.reason();
    } else {
      for (size_t i = 0; i < rows.cells().size(); ++i) {
        const CsvCell& cell = rows.cells()[i];
        line += (i == 0 ? ":" : "|") +
                (cell.is_quoted ? "<" + std::string(cell.text) + ">" : std::string(cell.text));
      }
    }
    lines.push_back(line + (rows.is_unended() ? "~" : ""));
  }
}

TEST(CsvRows, LinesEndWithLineFeedsWithOrWithoutACarriageReturn) {
  EXPECT_THAT(read_all("a,b\r\n1,2\n,\r\n"), ElementsAre("1:a|b", "2:1|2", "3:|"));
}

TEST(CsvRows, AByteOrderMarkAndBlankLinesAreSkipped) {
  EXPECT_THAT(read_all("\xEF\xBB\xBF"
                       "a\r\n\r\n\nb\n"),
              ElementsAre("1:a", "4:b"));
}

TEST(CsvRows, QuotedCellsHoldCommasQuotesAndLineEndsAndEmptyIsTold) {
  EXPECT_THAT(read_all("\"a,b\",\"c\"\"d\",\"e\r\nf\",\"\",\nx,y\n"),
              ElementsAre("1:<a,b>|<c\"d>|<e\r\nf>|<>|", "3:x|y"));
}

TEST(CsvRows, TheLastLineMayLackItsEnd) {
  EXPECT_THAT(read_all("a\nb,c"), ElementsAre("1:a", "2:b|c~"));
  EXPECT_THAT(read_all("a\n\"b\""), ElementsAre("1:a", "2:<b>~"));
  EXPECT_THAT(read_all("a\n\"b"), ElementsAre("1:a", "2!a quote that is not closed~"));
}

TEST(CsvRows, ARunOfNulBytesIsOneBadRowAndTheRowAfterItIsWhole) {
  EXPECT_THAT(read_all("a,b\n" + std::string(512, '\0') + "c,d\n"),
              ElementsAre("1:a|b", "2!512 NUL bytes", "2:c|d"));
  EXPECT_THAT(read_all("a,b\nc" + std::string(1, '\0') + "\nd,e\n"),
              ElementsAre("1:a|b", "2!a NUL byte", "3:d|e"));
}

TEST(CsvRows, AHoleLargerThanARowMayBeIsOneBadRow) {
  EXPECT_THAT(read_all("a\n" + std::string(3 << 20, '\0') + "b\n", 1 << 16),
              ElementsAre("1:a", "2!3145728 NUL bytes", "2:b"));
}

TEST(CsvRows, AnEndlessLineIsBadAndTheNextOneIsRead) {
  EXPECT_THAT(read_all("a\n" + std::string(3 << 20, 'x') + "\nb\n", 1 << 16),
              ElementsAre("1:a", "2!a line of more than 1048576 bytes", "3:b"));
}

TEST(CsvRows, QuotesAndCarriageReturnsOutOfPlaceSpoilOnlyTheirLine) {
  EXPECT_THAT(read_all("a\"b\"c,d\ne\n"), ElementsAre("1!a quote in the middle of a cell", "2:e"));
  EXPECT_THAT(read_all("\"a\"b,d\ne\n"), ElementsAre("1!a quote in the middle of a cell", "2:e"));
  EXPECT_THAT(read_all("a\rb\ne\n"), ElementsAre("1!a carriage return inside the line", "2:e"));
  EXPECT_THAT(read_all("\"a\ne\nf\n"), ElementsAre("1!a quote that is not closed", "2:e", "3:f"));
}

TEST(CsvRows, EveryWayToCutTheTextIntoReadsGivesTheSameRows) {
  const std::string text = "a,\"b\r\n,\"\"c\"\r\n\r\n1,\"2\"\n" + std::string(9, '\0') + "x,y\n\"z";
  const std::vector<std::string> whole = read_all(text, text.size());
  EXPECT_EQ(whole.size(), 5U);
  for (size_t piece = 1; piece < text.size(); ++piece) EXPECT_EQ(read_all(text, piece), whole) << piece;
}

TEST(CsvRows, NothingHasNoRows) { EXPECT_TRUE(read_all("").empty()); }

}  // namespace
}  // namespace memlog
