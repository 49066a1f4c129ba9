// SPDX-License-Identifier: Apache-2.0
// schema/README.md as what `memlog sql --schema` prints.
//
// The format is documented there: a heading "## `name`" begins a table or view, its text follows, then a
// Markdown table of column, unit and meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memlog {

struct ColumnMeaning {
  std::string name;
  std::string unit;
  std::string meaning;
};

struct TableMeaning {
  std::string name;
  std::string meaning;
  std::vector<ColumnMeaning> columns;
};

std::vector<TableMeaning> parse_schema_readme(std::string_view readme);

// For people, in lines of at most `width` columns where the names allow it. `table` empty: all of them; an
// unknown one: empty text.
std::string schema_text(std::string_view readme, std::string_view table, size_t width);

}  // namespace memlog
