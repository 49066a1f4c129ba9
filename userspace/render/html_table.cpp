// SPDX-License-Identifier: Apache-2.0
#include "render/html_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "render/html.h"

namespace memlog {
namespace {

constexpr size_t kMostEvents = 300;
constexpr size_t kMostCommand = 160;  // bytes

// Cut at a character's start.
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string how_ended(const TimelineProcess& process) {
  switch (process.end_reason) {
    case EndReason::running:
      return "running";
    case EndReason::exited:
      return process.exit_status.has_value() ? fmt::format("exit status {}", process.exit_status.value())
                                             : "exited";
    case EndReason::signaled:
      return process.exit_signal.has_value() ? fmt::format("killed by signal {}", process.exit_signal.value())
                                             : "killed";
    case EndReason::oom_killed:
      return "killed for memory (OOM)";
    case EndReason::unseen:
      return "end not seen";
  }
  return "";
}

bool ended_badly(const TimelineProcess& process) {
  return process.end_reason == EndReason::oom_killed || process.exit_status.value_or(0) != 0 ||
         process.exit_signal.value_or(0) != 0;
}

// Most runs have no devices: then the column is not there.
bool has_devices(const Timeline& timeline) {
  return std::any_of(timeline.processes.begin(), timeline.processes.end(),
                     [](const TimelineProcess& process) { return process.peak_device_bytes.has_value(); });
}

std::string device_cell(const TimelineProcess& process) {
  if (!process.peak_device_bytes.has_value()) return "<td class=\"number\" data-value=\"\"></td>";
  const int64_t bytes = process.peak_device_bytes.value();
  return fmt::format(
      "<td class=\"number\" data-value=\"{}\" title=\"{} bytes, the most at one sample\">{}</td>", bytes,
      bytes, format_bytes(bytes));
}

std::string row_html(const TimelineProcess& process, size_t rank, bool with_devices, Zone zone) {
  const int64_t end_ns = process.ended_ns.value_or(0);
  std::string row =
      fmt::format("<tr data-rank=\"{}\"><td>{}</td>", rank, html_text(shortened(process.name, kMostCommand)));
  const std::string pid = process.pid > 0 ? fmt::format("{}", process.pid) : "";
  row += fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", pid, pid);
  row += process.peak_rss_bytes.has_value()
             ? fmt::format("<td class=\"number\" data-value=\"{}\" title=\"{} bytes, {}\">{}</td>",
                           process.peak_rss_bytes.value(), process.peak_rss_bytes.value(),
                           process.peak_source == PeakSource::kernel ? "the kernel's high-water mark"
                                                                     : "largest sample",
                           format_bytes(process.peak_rss_bytes.value()))
             : std::string("<td class=\"number\" data-value=\"\">unknown</td>");
  if (with_devices) row += device_cell(process);
  row += fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", process.first_seen_ns / 1000000,
                     format_time(process.first_seen_ns, zone, true));
  row += end_ns != 0 ? fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>",
                                   (end_ns - process.first_seen_ns) / 1000000,
                                   format_duration(end_ns - process.first_seen_ns))
                     : std::string("<td class=\"number\" data-value=\"\"></td>");
  row += fmt::format("<td class=\"{}\">{}</td>", ended_badly(process) ? "bad" : "", how_ended(process));
  row += fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", process.sample_count,
                     process.sample_count);
  return row + "<td class=\"command\">" + html_text(shortened(process.cmdline.value_or(""), kMostCommand)) +
         "</td></tr>\n";
}

struct Happening {
  int64_t time_ns = 0;
  std::string kind;
  std::string text;
  bool is_bad = false;
};

std::vector<Happening> happenings(const Timeline& timeline) {
  std::vector<Happening> all;
  for (const TimelineEvent& event : timeline.events) {
    if (event.kind == EventKind::fork || event.kind == EventKind::rename) continue;
    all.push_back({event.time_ns, word(event.kind), event.text, event.kind == EventKind::oom_kill});
  }
  for (const TimelineGap& gap : timeline.gaps) {
    all.push_back({gap.begin_ns, "gap",
                   fmt::format("{} for {}", gap.text, format_duration(gap.end_ns - gap.begin_ns)), false});
  }
  std::stable_sort(all.begin(), all.end(), [](const Happening& left, const Happening& right) {
    return left.time_ns < right.time_ns;
  });
  return all;
}

}  // namespace

std::string processes_html(const Timeline& timeline, size_t index, size_t most_bytes, Zone zone) {
  const int64_t count = static_cast<int64_t>(timeline.processes.size()) + timeline.other_count;
  if (count == 0) return "";
  const bool with_devices = has_devices(timeline);
  std::string html = fmt::format(
      "<details open><summary>{} process{}</summary>\n<div class=\"scroll\"><table class=\"processes\" "
      "id=\"processes-{}\">\n"
      "<thead><tr><th>Name</th><th class=\"number\">PID</th><th class=\"number\">Peak RSS</th>{}<th "
      "class=\"number\">First seen</th>"
      "<th class=\"number\">Lasted</th><th>Ended</th><th "
      "class=\"number\">Samples</th><th>Command</th></tr></thead>\n<tbody>\n",
      count, count == 1 ? "" : "es", index, with_devices ? "<th class=\"number\">Peak device DRAM</th>" : "");
  size_t rows = 0;
  while (rows < timeline.processes.size() && html.size() < most_bytes) {
    html += row_html(timeline.processes[rows], rows, with_devices, zone);
    ++rows;
  }
  html += "</tbody></table></div>\n";
  if (count > static_cast<int64_t>(rows)) {
    html +=
        fmt::format("<p class=\"facts\">and {} more, smaller ones</p>\n", count - static_cast<int64_t>(rows));
  }
  return html + "</details>\n";
}

std::string events_html(const Timeline& timeline, size_t most_bytes, Zone zone) {
  const std::vector<Happening> all = happenings(timeline);
  if (all.empty()) return "";
  std::string html = fmt::format(
      "<details><summary>What happened ({})</summary>\n<div "
      "class=\"scroll\"><table>\n<thead><tr><th>Time</th><th>Kind</th>"
      "<th>What</th></tr></thead>\n<tbody>\n",
      all.size());
  size_t shown = 0;
  for (; shown < std::min(all.size(), kMostEvents) && html.size() < most_bytes; ++shown) {
    const Happening& one = all[shown];
    html += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>\n",
                        format_time(one.time_ns, zone, true, 3), one.is_bad ? "bad" : "", one.kind,
                        html_text(shortened(one.text, 2 * kMostCommand)));
  }
  html += "</tbody></table></div>\n";
  if (all.size() > shown) html += fmt::format("<p class=\"facts\">and {} more</p>\n", all.size() - shown);
  return html + "</details>\n";
}

}  // namespace memlog
