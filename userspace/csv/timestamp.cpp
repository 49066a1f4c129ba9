// SPDX-License-Identifier: Apache-2.0
#include "csv/timestamp.h"

#include <fmt/format.h>

#include <chrono>

#include "base/clock.h"

namespace memlog {
namespace {

constexpr int64_t kSecondsADay = 86'400;

// Takes `count` digits off the front of `text`.
std::optional<int64_t> take_digits(std::string_view& text, size_t count) {
  if (text.size() < count) return std::nullopt;
  int64_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> take_date_days(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *year < 1970 || *year >= 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<int64_t> take_clock_seconds(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *second > 59) return std::nullopt;
  return (*hour * 60 + *minute) * 60 + *second;
}

std::optional<int64_t> take_fraction_ns(std::string_view& text) {
  if (!take(text, '.')) return 0;
  int64_t fraction_ns = 0;
  int64_t digit_ns = kNsPerSecond / 10;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    fraction_ns += (text[digits] - '0') * digit_ns;
    digit_ns /= 10;
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  text.remove_prefix(digits);
  return fraction_ns;
}

std::optional<int64_t> take_offset_seconds(std::string_view& text) {
  if (text.empty() || take(text, 'Z')) return 0;
  const bool is_west = text.front() == '-';
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23) return std::nullopt;
  take(text, ':');
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const int64_t seconds = (*hours * 60 + *minutes) * 60;
  return is_west ? -seconds : seconds;
}

}  // namespace

std::optional<int64_t> parse_timestamp(std::string_view text) {
  const auto days = take_date_days(text);
  if (!days || (!take(text, 'T') && !take(text, ' '))) return std::nullopt;
  const auto seconds = take_clock_seconds(text);
  if (!seconds) return std::nullopt;
  const auto fraction_ns = take_fraction_ns(text);
  if (!fraction_ns) return std::nullopt;
  const auto offset = take_offset_seconds(text);
  if (!offset || !text.empty()) return std::nullopt;
  const int64_t time_ns = (*days * kSecondsADay + *seconds - *offset) * kNsPerSecond + *fraction_ns;
  if (time_ns < 0) return std::nullopt;
  return time_ns;
}

void TimestampWriter::append(std::string& out, int64_t time_ns) {
  const int64_t second = time_ns / kNsPerSecond;
  if (second != second_) {
    second_ = second;
    const std::chrono::sys_days day{std::chrono::days(second / kSecondsADay)};
    const std::chrono::year_month_day date{day};
    const int64_t clock = second % kSecondsADay;
    text_ = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock / 3600,
                        clock / 60 % 60, clock % 60);
  }
  out += text_;
  int64_t microseconds = time_ns % kNsPerSecond / kNsPerUs;
  if (microseconds > 0) {
    std::string_view digits = ".000000";
    const size_t start = out.size();
    out += digits;
    for (size_t i = digits.size() - 1; microseconds > 0; --i, microseconds /= 10)
      out[start + i] = static_cast<char>('0' + microseconds % 10);
  }
  out += "+00:00";
}

}  // namespace memlog
