// SPDX-License-Identifier: Apache-2.0
#include "cli/render_window.h"

#include <fmt/format.h>

#include <ctime>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/text.h"

namespace memlog {
namespace {

struct CalendarParts {
  int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

// "a<separator>b<separator>c" as numbers; nullopt for anything else.
std::optional<std::vector<int64_t>> numbers(std::string_view text, char separator) {
  std::vector<int64_t> found;
  for (const std::string_view piece : split(text, separator)) {
    const std::optional<int64_t> number = parse_int(piece);
    if (!number || *number < 0) return std::nullopt;
    found.push_back(*number);
  }
  return found;
}

bool read_clock(std::string_view text, CalendarParts& parts) {
  const auto clock = numbers(text, ':');
  if (!clock || clock->size() < 2 || clock->size() > 3) return false;
  parts.hour = (*clock)[0];
  parts.minute = (*clock)[1];
  parts.second = clock->size() == 3 ? (*clock)[2] : 0;
  return parts.hour < 24 && parts.minute < 60 && parts.second <= 60;
}

bool read_date(std::string_view text, CalendarParts& parts) {
  const auto date = numbers(text, '-');
  if (!date || date->size() != 3) return false;
  parts.year = (*date)[0];
  parts.month = (*date)[1];
  parts.day = (*date)[2];
  return parts.year >= 1970 && parts.year < 2200 && parts.month >= 1 && parts.month <= 12 && parts.day >= 1 &&
         parts.day <= 31;
}

int64_t moment_of(const CalendarParts& parts, bool is_utc) {
  std::tm civil{};
  civil.tm_year = static_cast<int>(parts.year - 1900);
  civil.tm_mon = static_cast<int>(parts.month - 1);
  civil.tm_mday = static_cast<int>(parts.day);
  civil.tm_hour = static_cast<int>(parts.hour);
  civil.tm_min = static_cast<int>(parts.minute);
  civil.tm_sec = static_cast<int>(parts.second);
  civil.tm_isdst = -1;
  return (is_utc ? timegm(&civil) : mktime(&civil)) * kNsPerSecond;
}

std::optional<int64_t> calendar_moment(std::string_view text, int64_t begin_ns, Zone zone) {
  bool is_utc = zone == Zone::utc;
  if (text.ends_with('Z')) {
    is_utc = true;
    text.remove_suffix(1);
  }
  CalendarParts parts;
  const size_t between = text.find_first_of("T ");
  if (between != std::string_view::npos) {
    if (!read_date(text.substr(0, between), parts) || !read_clock(text.substr(between + 1), parts))
      return std::nullopt;
    return moment_of(parts, is_utc);
  }
  if (read_date(text, parts)) return moment_of(parts, is_utc);
  const std::string day = format_time(begin_ns, is_utc ? Zone::utc : Zone::local, true).substr(0, 10);
  if (!read_date(day, parts) || !read_clock(text, parts)) return std::nullopt;
  return moment_of(parts, is_utc);
}

}  // namespace

Result<int64_t> parse_moment(std::string_view text, int64_t begin_ns, int64_t end_ns, Zone zone) {
  text = trim(text);
  const bool is_from_end = text.starts_with('-');
  const bool is_from_begin = text.starts_with('+');
  if (const Result<int64_t> span = parse_duration(is_from_end || is_from_begin ? text.substr(1) : text);
      span.ok()) {
    return is_from_end ? end_ns - *span : begin_ns + *span;
  }
  if (const auto moment = calendar_moment(text, begin_ns, zone)) return *moment;
  return Error{fmt::format("reading the time '{}'", printable(text)), "it is none",
               "write 2026-06-05 12:30, 12:30:05, 10m (after the start) or -10m (before the end)", 0};
}

}  // namespace memlog
