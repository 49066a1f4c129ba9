// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/table.h"

namespace memlog {
namespace {

constexpr size_t kLookAheadRows = 1000;

std::vector<std::string> column_names(const Statement& statement) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(statement.column_count()));
  for (int i = 0; i < statement.column_count(); ++i) names.push_back(statement.column_name(i));
  return names;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The shortest text that reads back as the same number, and that is seen not to be a whole one.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string cell_text(const Statement& row, int column) {
  switch (row.kind(column)) {
    case ColumnKind::null:
      return "";
    case ColumnKind::integer:
      return std::to_string(row.integer(column).value_or(INT64_MIN));
    case ColumnKind::real:
      return real_text(row.real(column));
    case ColumnKind::text:
      return row.text_or(column);
    case ColumnKind::blob:
      return hexadecimal(row.text_or(column));
  }
  return "";
}

// Calls `row` for each row while it answers true.
template <typename Function>
Status each_row(Statement& statement, Function row) {
  while (true) {
    const Result<bool> has_row = statement.step();
    if (!has_row) return has_row.error();
    if (!*has_row || !row()) return Ok{};
  }
}

void append_csv(std::string& line, std::string_view text, bool is_null) {
  const bool needs_quotes =
      (text.empty() && !is_null) || text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (!needs_quotes) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

Status write_csv(Statement& statement, Output& output) {
  const int count = statement.column_count();
  std::string line;
  for (int i = 0; i < count; ++i) {
    if (i > 0) line += ',';
    append_csv(line, statement.column_name(i), false);
  }
  if (!output.put(line + "\n")) return Ok{};
  return each_row(statement, [&] {
    line.clear();
    for (int i = 0; i < count; ++i) {
      if (i > 0) line += ',';
      append_csv(line, cell_text(statement, i), statement.kind(i) == ColumnKind::null);
    }
    line += '\n';
    return output.put(line);
  });
}

std::string json_string(std::string_view text) { return nlohmann::json(valid_utf8(text)).dump(); }

std::string json_value(const Statement& row, int column) {
  switch (row.kind(column)) {
    case ColumnKind::null:
      return "null";
    case ColumnKind::integer:
      return cell_text(row, column);
    case ColumnKind::real:
      return std::isfinite(row.real(column)) ? real_text(row.real(column)) : "null";
    default:
      return json_string(cell_text(row, column));
  }
}

std::vector<std::string> json_keys(const Statement& statement) {
  const std::vector<std::string> names = column_names(statement);
  std::vector<std::string> taken;
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    std::string key = name;
    for (int i = 2; std::find(taken.begin(), taken.end(), key) != taken.end(); ++i)
      key = fmt::format("{}_{}", name, i);
    taken.push_back(key);
    keys.push_back(json_string(key));
  }
  return keys;
}

Status write_json(Statement& statement, Output& output) {
  const std::vector<std::string> keys = json_keys(statement);
  std::string line = "[";
  bool is_first = true;
  Status status = each_row(statement, [&] {
    line += is_first ? "\n  {" : ",\n  {";
    is_first = false;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) line += ", ";
      line += keys[i] + ": " + json_value(statement, static_cast<int>(i));
    }
    line += '}';
    const bool goes_on = output.put(line);
    line.clear();
    return goes_on;
  });
  // After an error the text stays cut, so that nobody takes it for the whole answer.
  if (status) output.put(line + (is_first ? "]\n" : "\n]\n"));
  return status;
}

class TableWriter {
 public:
  TableWriter(const Statement& statement, Output& output)
      : statement_(statement), output_(output), titles_(column_names(statement)) {
    for (std::string& title : titles_) title = printable(title);
    is_number_.assign(titles_.size(), true);
    has_value_.assign(titles_.size(), false);
  }

  bool add_row() {
    std::vector<std::string> cells;
    for (size_t i = 0; i < titles_.size(); ++i) {
      const ColumnKind kind = statement_.kind(static_cast<int>(i));
      cells.push_back(printable(cell_text(statement_, static_cast<int>(i))));
      if (is_aligned_ || kind == ColumnKind::null) continue;
      has_value_[i] = true;
      if (kind != ColumnKind::integer && kind != ColumnKind::real) is_number_[i] = false;
    }
    if (is_aligned_) return put_line(cells);
    waiting_.push_back(std::move(cells));
    return waiting_.size() < kLookAheadRows || align();
  }

  bool has_rows() const { return is_aligned_ || !waiting_.empty(); }

  // Writes what waits. Called once more at the end.
  bool align() {
    if (is_aligned_) return true;
    is_aligned_ = true;
    for (size_t i = 0; i < titles_.size(); ++i) {
      size_t width = display_width(titles_[i]);
      for (const auto& cells : waiting_) width = std::max(width, display_width(cells[i]));
      widths_.push_back(width);
      aligns_.push_back(is_number_[i] && has_value_[i] ? Align::right : Align::left);
    }
    bool goes_on = put_line(titles_) && put_rule();
    for (const auto& cells : waiting_) goes_on = goes_on && put_line(cells);
    waiting_ = {};
    return goes_on;
  }

 private:
  bool put_line(const std::vector<std::string>& cells) {
    return output_.put(table_line(cells, widths_, aligns_));
  }
  bool put_rule() {
    std::vector<std::string> rules;
    rules.reserve(widths_.size());
    for (const size_t width : widths_) rules.emplace_back(width, '-');
    return put_line(rules);
  }

  const Statement& statement_;
  Output& output_;
  std::vector<std::string> titles_;
  std::vector<bool> is_number_;
  std::vector<bool> has_value_;
  std::vector<size_t> widths_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> waiting_;
  bool is_aligned_ = false;
};

Status write_table(Statement& statement, Output& output) {
  TableWriter table(statement, output);
  Status status = each_row(statement, [&] { return table.add_row(); });
  if (status || table.has_rows()) table.align();
  return status;
}

}  // namespace

Status write_rows(Statement& statement, TableFormat format, Output& output) {
  if (format == TableFormat::csv) return write_csv(statement, output);
  if (format == TableFormat::json) return write_json(statement, output);
  return write_table(statement, output);
}

}  // namespace memlog
