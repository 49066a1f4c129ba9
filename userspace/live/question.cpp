// SPDX-License-Identifier: Apache-2.0
#include "live/question.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr double kMostMs = 9.0e12;  // the year 2255
constexpr int64_t kMostPoints = 2000;
constexpr int64_t kMostProcesses = 200;
constexpr size_t kMostWords = 64;

Error bad_value(const char* name, const std::string& text, const char* reason) {
  return {fmt::format("reading {}={}", name, printable(text.substr(0, 60))), reason, "", 0};
}

std::vector<std::string> words_of(const httplib::Request& request, const char* name) {
  std::vector<std::string> words;
  const std::string text = request.get_param_value(name);
  for (const std::string_view word : split(text, ',')) {
    if (!trim(word).empty() && words.size() < kMostWords) words.emplace_back(trim(word));
  }
  return words;
}

}  // namespace

Result<std::optional<int64_t>> time_of(const httplib::Request& request, const char* name) {
  const std::string text = request.get_param_value(name);
  if (text.empty()) return std::optional<int64_t>();
  double ms = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (code != std::errc() || end != text.data() + text.size() || !(ms >= 0 && ms <= kMostMs))
    return bad_value(name, text, "that is no time in milliseconds since 1970");
  const double whole = std::floor(ms);
  return std::optional<int64_t>(static_cast<int64_t>(whole) * kNsPerMs +
                                static_cast<int64_t>((ms - whole) * static_cast<double>(kNsPerMs)));
}

Result<int64_t> count_of(const httplib::Request& request, const char* name, int64_t least, int64_t most,
                         int64_t other) {
  const std::string text = request.get_param_value(name);
  if (text.empty()) return other;
  const std::optional<int64_t> count = parse_int(text);
  if (!count || *count < least || *count > most)
    return bad_value(name, text, "that is no number in its bounds");
  return *count;
}

Result<TimelineRequest> timeline_request(const httplib::Request& request, int64_t points, int64_t processes) {
  TimelineRequest wanted;
  for (const auto& [name, target] :
       {std::pair{"since_ms", &wanted.since_ns}, {"until_ms", &wanted.until_ns}}) {
    const Result<std::optional<int64_t>> time = time_of(request, name);
    if (!time) return time.error();
    *target = *time;
  }
  const Result<int64_t> most_points = count_of(request, "points", 1, kMostPoints, points);
  if (!most_points) return most_points.error();
  const Result<int64_t> most_processes = count_of(request, "processes", 1, kMostProcesses, processes);
  if (!most_processes) return most_processes.error();
  wanted.points = *most_points;
  wanted.processes = static_cast<size_t>(*most_processes);
  wanted.metrics = words_of(request, "metrics");
  wanted.only = words_of(request, "only");
  return wanted;
}

Theme theme_of(const httplib::Request& request) {
  return request.get_param_value("theme") == "dark" ? Theme::dark : Theme::light;
}

}  // namespace memlog
