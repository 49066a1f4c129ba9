// SPDX-License-Identifier: Apache-2.0
// Pure text: numbers, durations and sizes as the user writes and reads them. Locale never matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memlog {

// A whole decimal number that fills `text` entirely; nullopt for anything else, overflow included.
std::optional<int64_t> parse_int(std::string_view text);

std::string_view trim(std::string_view text);

// Calls `line(std::string_view)` for each '\n'-ended piece of `text`, the last unended one included.
template <typename Function>
void for_each_line(std::string_view text, Function line) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split(std::string_view text, char separator);

// The part after the last '/'.
std::string_view basename_of(std::string_view path);

// "250ms", "1s", "0.5" (seconds), "2m", "1h", "3d", "10us" -> nanoseconds; the error names the text.
Result<int64_t> parse_duration(std::string_view text);

// Exactly three significant digits of a sensible unit: "812 B", "3.99 KiB", "1.25 GiB".
std::string format_bytes(int64_t bytes);
// "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min", "3 d 04 h".
std::string format_duration(int64_t duration_ns);

// `text` made safe to print on a terminal: control characters and broken UTF-8 become '?'-like escapes.
std::string printable(std::string_view text);

// `text` in single quotes, as a shell needs it to take it as it is.
std::string quoted_for_shell(std::string_view text);

// `text` with each maximal broken UTF-8 piece replaced by U+FFFD, so that it can be stored as SQL text or
// JSON.
std::string valid_utf8(std::string_view text);

}  // namespace memlog
