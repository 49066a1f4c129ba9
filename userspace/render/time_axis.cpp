// SPDX-License-Identifier: Apache-2.0
#include "render/time_axis.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "base/clock.h"

namespace memlog {
namespace {

constexpr int64_t kMinute = 60 * kNsPerSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

constexpr std::array<int64_t, 42> kSteps = {kNsPerUs,
                                            2 * kNsPerUs,
                                            5 * kNsPerUs,
                                            10 * kNsPerUs,
                                            20 * kNsPerUs,
                                            50 * kNsPerUs,
                                            100 * kNsPerUs,
                                            200 * kNsPerUs,
                                            500 * kNsPerUs,
                                            kNsPerMs,
                                            2 * kNsPerMs,
                                            5 * kNsPerMs,
                                            10 * kNsPerMs,
                                            20 * kNsPerMs,
                                            50 * kNsPerMs,
                                            100 * kNsPerMs,
                                            200 * kNsPerMs,
                                            500 * kNsPerMs,
                                            kNsPerSecond,
                                            2 * kNsPerSecond,
                                            5 * kNsPerSecond,
                                            10 * kNsPerSecond,
                                            15 * kNsPerSecond,
                                            30 * kNsPerSecond,
                                            kMinute,
                                            2 * kMinute,
                                            5 * kMinute,
                                            10 * kMinute,
                                            15 * kMinute,
                                            30 * kMinute,
                                            kHour,
                                            2 * kHour,
                                            3 * kHour,
                                            6 * kHour,
                                            12 * kHour,
                                            kDay,
                                            2 * kDay,
                                            5 * kDay,
                                            10 * kDay,
                                            20 * kDay,
                                            50 * kDay,
                                            100 * kDay};

int64_t floor_div(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

int64_t step_for(int64_t span_ns, int most) {
  for (const int64_t step : kSteps) {
    if (span_ns / step < most) return step;
  }
  int64_t step = 200 * kDay;
  while (span_ns / step >= most) step *= 2;
  return step;
}

std::tm civil(int64_t time_ns, Zone zone) {
  const time_t seconds = floor_div(time_ns, kNsPerSecond);
  std::tm parts{};
  if (zone == Zone::utc) {
    gmtime_r(&seconds, &parts);
  } else {
    localtime_r(&seconds, &parts);
  }
  return parts;
}

std::string date_of(const std::tm& parts) {
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string tick_label(int64_t time_ns, int64_t step, Zone zone) {
  const std::tm parts = civil(time_ns, zone);
  if (step >= kDay) return date_of(parts);
  std::string minutes = fmt::format("{:02}:{:02}", parts.tm_hour, parts.tm_min);
  if (step >= kMinute) return minutes;
  std::string seconds = fmt::format("{}:{:02}", minutes, parts.tm_sec);
  if (step >= kNsPerSecond) return seconds;
  const int64_t fraction = time_ns - floor_div(time_ns, kNsPerSecond) * kNsPerSecond;
  if (step >= kNsPerMs) return fmt::format("{}.{:03}", seconds, fraction / kNsPerMs);
  return fmt::format("{}.{:06}", seconds, fraction / kNsPerUs);
}

std::string elapsed_label(int64_t time_ns, int64_t step) {
  if (time_ns == 0) return "0";
  if (step < kNsPerMs) return fmt::format("{} us", time_ns / kNsPerUs);
  if (step < kNsPerSecond) return fmt::format("{:.3g} s", static_cast<double>(time_ns) / kNsPerSecond);
  if (time_ns % kDay == 0) return fmt::format("{} d", time_ns / kDay);
  if (time_ns % kHour == 0) return fmt::format("{} h", time_ns / kHour);
  if (time_ns > kHour) return fmt::format("{}:{:02} h", time_ns / kHour, time_ns / kMinute % 60);
  if (time_ns % kMinute == 0) return fmt::format("{} min", time_ns / kMinute);
  if (time_ns > kMinute) return fmt::format("{}:{:02} min", time_ns / kMinute, time_ns / kNsPerSecond % 60);
  return fmt::format("{} s", time_ns / kNsPerSecond);
}

}  // namespace

std::vector<TimeTick> time_ticks(int64_t begin_ns, int64_t end_ns, int most, Zone zone) {
  std::vector<TimeTick> ticks;
  if (end_ns <= begin_ns || most < 1) return ticks;
  const int64_t step = step_for(end_ns - begin_ns, most);
  const int64_t offset = zone_offset_s(begin_ns, zone) * kNsPerSecond;
  std::string last_date;
  for (int64_t index = floor_div(begin_ns + offset - 1, step) + 1;; ++index) {
    const int64_t time_ns = index * step - offset;
    if (time_ns > end_ns) break;
    const std::string date = date_of(civil(time_ns, zone));
    TimeTick tick{time_ns, tick_label(time_ns, step, zone), ""};
    if (step < kDay && date != last_date) tick.date = date;
    last_date = date;
    ticks.push_back(std::move(tick));
  }
  return ticks;
}

std::vector<TimeTick> elapsed_ticks(int64_t end_ns, int most) {
  std::vector<TimeTick> ticks;
  if (end_ns <= 0 || most < 1) return ticks;
  const int64_t step = step_for(end_ns, most);
  for (int64_t time_ns = 0; time_ns <= end_ns; time_ns += step) {
    ticks.push_back({time_ns, elapsed_label(time_ns, step), ""});
  }
  return ticks;
}

int64_t zone_offset_s(int64_t time_ns, Zone zone) { return civil(time_ns, zone).tm_gmtoff; }

std::string zone_name(int64_t time_ns, Zone zone) {
  if (zone == Zone::utc) return "UTC";
  const std::tm parts = civil(time_ns, zone);
  const long minutes = std::abs(parts.tm_gmtoff) / 60;
  return fmt::format("{} (UTC{}{:02}:{:02})", parts.tm_zone, parts.tm_gmtoff < 0 ? '-' : '+', minutes / 60,
                     minutes % 60);
}

std::string format_time(int64_t time_ns, Zone zone, bool with_date, int decimals) {
  const std::tm parts = civil(time_ns, zone);
  std::string text = with_date ? date_of(parts) + ' ' : std::string();
  text += fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
  if (decimals <= 0) return text;
  const int64_t fraction = time_ns - floor_div(time_ns, kNsPerSecond) * kNsPerSecond;
  return text + fmt::format(".{:03}", fraction / kNsPerMs).substr(0, 1 + static_cast<size_t>(decimals));
}

}  // namespace memlog
