// SPDX-License-Identifier: Apache-2.0
// Lines of the CSV files that memlog writes, appended to a string. Locale never matters.
//
// The narrow file is memory_logger.py's to the byte: its columns, CRLF, quotes only where needed, MiB rounded
// to three places and written as Python writes them. The wide file is described in csv/columns.h.
#pragma once

#include <string>
#include <string_view>

#include "csv/timestamp.h"
#include "model/records.h"

namespace memlog {

// "12.0", "0.125": the double nearest to bytes / 2^20 rounded half to even, as Python's repr writes it.
void append_mib(std::string& out, int64_t bytes);
void append_integer(std::string& out, int64_t value);
// In quotes where the text needs them. `is_safe`: text that a spreadsheet would take for a formula begins
// with an apostrophe.
void append_text_cell(std::string& out, std::string_view text, bool is_safe);

std::string narrow_header();
std::string wide_header();

class NarrowWriter {
 public:
  explicit NarrowWriter(bool is_safe) : is_safe_(is_safe) {}
  void append(std::string& out, int64_t time_ns, int64_t pid, std::string_view name, Nullable rss_bytes,
              Nullable swap_bytes, Nullable oom_score);

 private:
  TimestampWriter time_;
  bool is_safe_;
};

}  // namespace memlog
