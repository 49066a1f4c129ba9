// SPDX-License-Identifier: Apache-2.0
#include "cli/schema_text.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/table.h"

namespace memlog {
namespace {

// Markdown's marks for code mean nothing on a terminal.
std::string without_backticks(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '`');
  return plain;
}

std::optional<ColumnMeaning> parse_row(std::string_view line) {
  const std::vector<std::string_view> cells = split(line, '|');
  if (cells.size() != 5) return std::nullopt;
  const std::string name = without_backticks(trim(cells[1]));
  if (name == "column" || name.find_first_not_of("-: ") == std::string::npos) return std::nullopt;
  return ColumnMeaning{name, without_backticks(trim(cells[2])), without_backticks(trim(cells[3]))};
}

std::string table_text(const TableMeaning& table, size_t width) {
  size_t name_width = 0;
  size_t unit_width = 0;
  for (const ColumnMeaning& column : table.columns) {
    name_width = std::max(name_width, display_width(column.name));
    unit_width = std::max(unit_width, display_width(column.unit));
  }
  const size_t indent = 2 + name_width + 2 + unit_width + 2;
  std::string text = table.name + "\n";
  for (const std::string& line : wrap(table.meaning, width - 2)) text += "  " + line + "\n";
  for (const ColumnMeaning& column : table.columns) {
    std::string before = "  " + column.name + std::string(name_width - display_width(column.name) + 2, ' ') +
                         column.unit + std::string(unit_width - display_width(column.unit) + 2, ' ');
    for (const std::string& line : wrap(column.meaning, std::max(width, indent + 20) - indent)) {
      text += before + line + "\n";
      before = std::string(indent, ' ');
    }
  }
  return text;
}

}  // namespace

std::vector<TableMeaning> parse_schema_readme(std::string_view readme) {
  std::vector<TableMeaning> tables;
  for_each_line(readme, [&](std::string_view line) {
    if (line.starts_with("## ")) {
      tables.push_back({without_backticks(trim(line.substr(3))), "", {}});
    } else if (line.starts_with("# ") || tables.empty()) {
      return;
    } else if (line.starts_with("|")) {
      if (std::optional<ColumnMeaning> column = parse_row(line))
        tables.back().columns.push_back(*std::move(column));
    } else if (!trim(line).empty()) {
      std::string& meaning = tables.back().meaning;
      meaning += (meaning.empty() ? "" : " ") + without_backticks(trim(line));
    }
  });
  return tables;
}

std::string schema_text(std::string_view readme, std::string_view table, size_t width) {
  std::string text;
  for (const TableMeaning& meaning : parse_schema_readme(readme)) {
    if (!table.empty() && meaning.name != table) continue;
    text += (text.empty() ? "" : "\n") + table_text(meaning, std::max(width, size_t{40}));
  }
  return text;
}

}  // namespace memlog
