// SPDX-License-Identifier: Apache-2.0
// Times as memory_logger.py writes them: 2026-06-05T12:34:56.789012+00:00, without a fraction where the
// microseconds are 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memlog {

// Wall-clock ns since 1970 of ISO 8601 text: 'T' or a blank, up to nine digits of fraction, an offset of
// hours and minutes, 'Z' or nothing (UTC). nullopt: not such text, no such date, or not between 1970 and
// 2200.
std::optional<int64_t> parse_timestamp(std::string_view text);

// Appends them, in UTC, cut to microseconds. Remembers the last second, since times come in order.
class TimestampWriter {
 public:
  void append(std::string& out, int64_t time_ns);

 private:
  int64_t second_ = INT64_MIN;
  std::string text_;
};

}  // namespace memlog
