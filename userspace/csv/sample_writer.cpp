// SPDX-License-Identifier: Apache-2.0
#include "csv/sample_writer.h"

#include <array>
#include <charconv>
#include <cstring>

#include "csv/columns.h"
#include "model/columns.h"

namespace memlog {

void append_integer(std::string& out, int64_t value) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

void append_mib(std::string& out, int64_t bytes) { append_mean_mib(out, bytes, 1); }

void append_mean_mib(std::string& out, int64_t bytes, int64_t count) {
  const __int128 scaled = static_cast<__int128>(bytes) * 1000;
  const __int128 unit = static_cast<__int128>(count) << 20U;
  auto thousandths = static_cast<int64_t>(scaled / unit);
  const __int128 rest = 2 * (scaled % unit);
  if (rest > unit || (rest == unit && thousandths % 2 != 0)) ++thousandths;
  append_integer(out, thousandths / 1000);
  const auto fraction = static_cast<int>(thousandths % 1000);
  std::array<char, 4> digits = {'.', static_cast<char>('0' + fraction / 100),
                                static_cast<char>('0' + fraction / 10 % 10),
                                static_cast<char>('0' + fraction % 10)};
  size_t length = digits.size();
  while (length > 2 && digits[length - 1] == '0') --length;
  out.append(digits.data(), length);
}

void append_text_cell(std::string& out, std::string_view text, bool is_safe) {
  const bool is_formula = is_safe && !text.empty() && std::strchr("=+-@\t\r", text.front()) != nullptr;
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    if (is_formula) out += '\'';
    out += text;
    return;
  }
  out += '"';
  if (is_formula) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string narrow_header(bool has_devices) {
  std::string header = "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score";
  for (const char* name : kDramColumns)
    if (has_devices) header += std::string(",") + name;
  return header + "\r\n";
}

std::string wide_header() {
  std::string header;
  const auto add = [&](const char* name) { header += (header.empty() ? "" : ",") + std::string(name); };
  for (const char* name : kWideFirst) add(name);
  for (const auto& column : kProcessColumns) add(column.name);
  add(kParentProcess);
  for (const FactColumn& fact : kProcessFacts) add(fact.csv_name);
  for (const FactColumn& fact : kRunFacts) add(fact.csv_name);
  add(kRecord);
  add(kFields);
  return header + "\r\n";
}

void NarrowWriter::append(std::string& out, const NarrowRow& row) {
  const auto add_integer = [&](Nullable value) {
    out += ',';
    if (value.has_value()) append_integer(out, value.value());
  };
  const auto add_mib = [&](Nullable bytes, int64_t count) {
    out += ',';
    if (bytes.has_value()) append_mean_mib(out, bytes.value(), count);
  };
  time_.append(out, row.time_ns);
  add_integer(row.pid);
  out += ',';
  append_text_cell(out, row.name, is_safe_);
  for (const Nullable bytes : {row.rss_bytes, row.swap_bytes}) {
    add_integer(bytes);
    add_mib(bytes, 1);
  }
  add_integer(row.oom_score);
  if (has_devices_) {
    const int64_t count = row.devices.device_count.value_or(0);
    const bool is_known = count > 0 && row.devices.dram_bytes.has_value();
    add_integer(is_known ? row.devices.device_count : Nullable());
    add_mib(is_known ? row.devices.dram_bytes : Nullable(), 1);
    add_mib(is_known ? row.devices.dram_bytes : Nullable(), count);
    add_mib(is_known ? row.devices.dram_min_bytes : Nullable(), 1);
    add_mib(is_known ? row.devices.dram_max_bytes : Nullable(), 1);
  }
  out += "\r\n";
}

}  // namespace memlog
