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
// The same of bytes / count.
void append_mean_mib(std::string& out, int64_t bytes, int64_t count);
void append_integer(std::string& out, int64_t value);
// In quotes where the text needs them. `is_safe`: text that a spreadsheet would take for a formula begins
// with an apostrophe.
void append_text_cell(std::string& out, std::string_view text, bool is_safe);

std::string narrow_header(bool has_devices);
std::string wide_header();

struct NarrowRow {
  int64_t time_ns = 0;
  int64_t pid = 0;
  std::string_view name;
  Nullable rss_bytes;
  Nullable swap_bytes;
  Nullable oom_score;
  DeviceTotal devices;  // looked at where the file has columns for them
};

class NarrowWriter {
 public:
  NarrowWriter(bool is_safe, bool has_devices) : is_safe_(is_safe), has_devices_(has_devices) {}
  void append(std::string& out, const NarrowRow& row);

 private:
  TimestampWriter time_;
  bool is_safe_;
  bool has_devices_;
};

}  // namespace memlog
