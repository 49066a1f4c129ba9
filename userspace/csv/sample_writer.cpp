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

void append_mib(std::string& out, int64_t bytes) {
  const __int128 scaled = static_cast<__int128>(bytes) * 1000;
  constexpr int64_t unit = int64_t{1} << 20U;
  auto thousandths = static_cast<int64_t>(scaled / unit);
  const auto rest = static_cast<int64_t>(scaled % unit);
  if (rest > unit / 2 || (rest == unit / 2 && thousandths % 2 != 0)) ++thousandths;
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

std::string narrow_header() {
  return "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score\r\n";
}

std::string wide_header() {
  std::string header;
  const auto add = [&](const char* name) { header += (header.empty() ? "" : ",") + std::string(name); };
  for (const char* name : kWideFirst) add(name);
  for (const auto& column : kProcessColumns) add(column.name);
  add(kParentProcess);
  for (const FactColumn& fact : kProcessFacts) add(fact.csv_name);
  for (const FactColumn& fact : kRunFacts) add(fact.csv_name);
  return header + "\r\n";
}

void NarrowWriter::append(std::string& out, int64_t time_ns, int64_t pid, std::string_view name,
                          Nullable rss_bytes, Nullable swap_bytes, Nullable oom_score) {
  time_.append(out, time_ns);
  out += ',';
  append_integer(out, pid);
  out += ',';
  append_text_cell(out, name, is_safe_);
  for (const Nullable bytes : {rss_bytes, swap_bytes}) {
    out += ',';
    if (bytes.has_value()) append_integer(out, bytes.value());
    out += ',';
    if (bytes.has_value()) append_mib(out, bytes.value());
  }
  out += ',';
  if (oom_score.has_value()) append_integer(out, oom_score.value());
  out += "\r\n";
}

}  // namespace memlog
