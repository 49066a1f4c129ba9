// SPDX-License-Identifier: Apache-2.0
// Text tables: columns as wide as their cells, numbers to the right, cut to a terminal where there is one.
//
// Cells are made printable here, whatever bytes they hold. Widths are terminal columns: wide (East Asian,
// emoji) characters take two, combining ones none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memlog {

enum class Align : uint8_t { left, right };

struct TableColumn {
  std::string title;
  Align align = Align::left;
  size_t least_width = 0;  // 0: never cut; else it may shrink to this where the terminal is too narrow
};

class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty, further ones are ignored.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Title line and rows, each ended by '\n' and without blanks at its end. `most_columns` 0: nothing is cut.
  std::string render(size_t most_columns) const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Of text without control characters.
size_t display_width(std::string_view text);
// `text`, or its beginning and "…", in at most `width` columns.
std::string cut_to_width(std::string_view text, size_t width);
// One line of cells padded to `widths` (longer ones stick out), two blanks between them.
std::string table_line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                       const std::vector<Align>& aligns);
// Breaks at blanks into lines of at most `width` columns, where words allow it.
std::vector<std::string> wrap(std::string_view text, size_t width);

}  // namespace memlog
