// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/clock.h"

namespace memlog {

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view basename_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<int64_t> parse_duration(std::string_view text) {
  const Error bad{fmt::format("reading the duration '{}'", printable(text)), "not a duration",
                  "write a number and a unit, such as 100ms, 1s, 0.5, 2m, 1h or 3d"};
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return bad;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::array<std::pair<std::string_view, int64_t>, 8> units = {{{"", kNsPerSecond},
                                                                          {"s", kNsPerSecond},
                                                                          {"us", kNsPerUs},
                                                                          {"ms", kNsPerMs},
                                                                          {"m", 60 * kNsPerSecond},
                                                                          {"min", 60 * kNsPerSecond},
                                                                          {"h", 3600 * kNsPerSecond},
                                                                          {"d", 86400 * kNsPerSecond}}};
  for (const auto& [name, unit_ns] : units) {
    if (unit != name) continue;
    const double duration_ns = number * static_cast<double>(unit_ns);
    if (duration_ns > 9e18) return bad;
    return static_cast<int64_t>(std::llround(duration_ns));
  }
  return bad;
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const char* sign = bytes < 0 ? "-" : "";
  double value = std::fabs(static_cast<double>(bytes));
  if (value < 1024) return fmt::format("{}{:.0f} B", sign, value);
  size_t unit = 0;
  value /= 1024;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{}{:.{}f} {}", sign, value, decimals, units[unit]);
}

std::string format_duration(int64_t duration_ns) {
  if (duration_ns < 0) return "-" + format_duration(-duration_ns);
  if (duration_ns < kNsPerMs) return fmt::format("{} µs", duration_ns / kNsPerUs);
  if (duration_ns < kNsPerSecond) return fmt::format("{} ms", duration_ns / kNsPerMs);
  const int64_t seconds = duration_ns / kNsPerSecond;
  if (seconds < 60) return fmt::format("{}.{} s", seconds, duration_ns / (kNsPerSecond / 10) % 10);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d {:02} h", seconds / 86400, seconds / 3600 % 24);
}

namespace {

// Length of the well-formed UTF-8 character at the start of `text`, or 0 (RFC 3629: no surrogates, no
// overlongs).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    // U+0080..U+009F are control characters too: a terminal may obey them.
    const bool c1_control = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || lead < 0x20 || lead == 0x7F || c1_control) {
      out += fmt::format("\\x{:02x}", lead);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string quoted_for_shell(std::string_view text) {
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace memlog
