// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace memlog {
namespace {

constexpr std::string_view kBetween = "  ";

struct Character {
  uint32_t code;
  size_t length;
};

// The first character of well-formed UTF-8 (printable() sees to that; anything else counts bytewise).
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  const size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 1 || length > text.size()) return {lead, 1};
  uint32_t code = lead & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6U | (byte(i) & 0x3FU);
  return {code, length};
}

struct Range {
  uint32_t first;
  uint32_t last;
};

// What Unicode calls wide: enough of it for the scripts and emoji that names are written in.
constexpr std::array<Range, 12> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x23E9, 0x23EC},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 9> kCombining = {{{0x0300, 0x036F},
                                              {0x0483, 0x0489},
                                              {0x0591, 0x05BD},
                                              {0x064B, 0x065F},
                                              {0x1AB0, 0x1AFF},
                                              {0x1DC0, 0x1DFF},
                                              {0x200B, 0x200F},
                                              {0x20D0, 0x20FF},
                                              {0xFE00, 0xFE0F}}};

template <size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

size_t width_of(uint32_t code) {
  if (code < 0x300) return 1;
  return is_in(kCombining, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

// Takes columns from the widest of those that may shrink until the line fits or none can give more.
void shrink(std::vector<size_t>& widths, const std::vector<TableColumn>& columns, size_t most_columns) {
  size_t total = kBetween.size() * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > most_columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (columns[i].least_width == 0 || widths[i] <= columns[i].least_width) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += width_of(character.code);
    text.remove_prefix(character.length);
  }
  return width;
}

std::string cut_to_width(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t used = 0;
  size_t end = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    if (used + width_of(character.code) > width - 1) break;
    used += width_of(character.code);
    end += character.length;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string table_line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                       const std::vector<Align>& aligns) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += kBetween;
    const size_t width = display_width(cells[i]);
    const std::string padding(width < widths[i] ? widths[i] - width : 0, ' ');
    line += aligns[i] == Align::right ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::render(size_t most_columns) const {
  std::vector<size_t> widths;
  std::vector<Align> aligns;
  std::vector<std::string> titles;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
    aligns.push_back(columns_[i].align);
    titles.push_back(columns_[i].title);
  }
  if (most_columns > 0) shrink(widths, columns_, most_columns);
  const auto line = [&](std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = cut_to_width(cells[i], widths[i]);
    return table_line(cells, widths, aligns);
  };
  std::string text = line(titles);
  for (const auto& row : rows_) text += line(row);
  return text;
}

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::exchange(line, ""));
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

}  // namespace memlog
