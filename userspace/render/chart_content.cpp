// SPDX-License-Identifier: Apache-2.0
#include "render/chart_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "render/curves.h"
#include "render/device_content.h"

namespace memlog {
namespace {

// A reference line is drawn where it is at most this many times the data's peak, else it is said in words.
constexpr double kNear = 1.7;

constexpr std::array<std::string_view, 9> kStorySeries = {"rss_bytes",   "anon_bytes",    "file_bytes",
                                                          "shmem_bytes", "swap_bytes",    "hugetlb_bytes",
                                                          "oom_score",   "current_bytes", "limit_bytes"};

// The kernel's high-water mark where it is clearly above every sample.
void add_unsampled_peak(Panel& panel, const TimelineProcess& process, Curve& curve) {
  if (!process.peak_rss_bytes.has_value()) return;
  const int64_t true_peak = process.peak_rss_bytes.value();
  const int64_t sampled = curve.peak.value_or(0);
  if (true_peak <= sampled + sampled / 50) return;
  curve.value = format_bytes(true_peak);
  const int64_t last_ns = curve.points.empty() ? process.first_seen_ns : curve.points.back().end_ns;
  panel.unsampled_peaks.push_back({process.ended_ns.value_or(last_ns), true_peak, curve.colour});
}

// The named processes' curves of one series, then one curve for the sum of all others.
void add_processes(Panel& panel, const Timeline& timeline, std::string_view name,
                   const ContentOptions& options, bool sum_the_rest) {
  const Style& style = style_of(options.theme);
  const size_t most = std::min(options.named_processes, style.series.size());
  // One more name costs no more room than "1 other".
  const size_t named =
      timeline.processes.size() == most + 1 && timeline.other_count == 0 && most < style.series.size()
          ? most + 1
          : most;
  std::vector<const TimelineSeries*> rest;
  int64_t rest_count = timeline.other_count;
  size_t rank = 0;
  for (const TimelineProcess& process : timeline.processes) {
    const size_t own_rank = rank++;
    const TimelineSeries* series = find_series(process.series, name);
    if (own_rank >= named) {
      ++rest_count;
      if (series != nullptr) rest.push_back(series);
      continue;
    }
    const bool is_rss = name == "rss_bytes";
    if (series == nullptr && !(is_rss && process.peak_rss_bytes.has_value())) continue;
    Curve curve = curve_of(CurveKind::line, process_label(process), style.series[own_rank],
                           series != nullptr ? *series : TimelineSeries{});
    say_peak(curve, panel.unit);
    if (is_rss) add_unsampled_peak(panel, process, curve);
    panel.curves.push_back(std::move(curve));
  }
  if (const TimelineSeries* series = find_series(timeline.others, name)) rest.push_back(series);
  if (!sum_the_rest || rest.empty()) return;
  Curve sum = sum_curve(fmt::format("{} others, summed", rest_count), style.others,
                        sum_series(rest, timeline.begin_ns, timeline.end_ns));
  say_peak(sum, panel.unit);
  panel.curves.push_back(std::move(sum));
}

int64_t least_of(const TimelineSeries& series) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const TimelinePoint& point : series.points) least = std::min(least, point.min);
  return least;
}

void add_reference(Panel& panel, const TimelineSeries& series, const std::string& label, Colour colour,
                   double data_top) {
  if (series.points.empty()) return;
  const int64_t least = least_of(series);
  if (data_top > 0 && static_cast<double>(least) <= data_top * kNear) {
    Curve curve = curve_of(CurveKind::reference, label, colour, series);
    curve.value = format_bytes(least);
    panel.curves.push_back(std::move(curve));
  } else {
    panel.remarks.push_back(fmt::format("{} {}", label, format_bytes(least)));
  }
}

void add_limits(Panel& panel, const Timeline& timeline, const Style& style) {
  const double data_top = top_of(panel);
  const TimelineCgroup* tightest = nullptr;
  for (const TimelineCgroup& cgroup : timeline.cgroups) {
    const TimelineSeries* limit = find_series(cgroup.series, "limit_bytes");
    if (limit == nullptr || limit->points.empty()) continue;
    if (tightest == nullptr || least_of(*limit) < least_of(*find_series(tightest->series, "limit_bytes"))) {
      tightest = &cgroup;
    }
  }
  if (tightest != nullptr) {
    add_reference(panel, *find_series(tightest->series, "limit_bytes"),
                  "limit of " + printable(tightest->path), style.alarm, data_top);
  }
  if (const TimelineSeries* available = find_series(timeline.host_series, "mem_available_bytes")) {
    add_reference(panel, *available, "least host memory available", style.available, data_top);
    if (!panel.curves.empty() && panel.curves.back().label.starts_with("least host")) {
      panel.curves.back().label = "host memory available";
      panel.curves.back().value = "least " + panel.curves.back().value;
    }
  }
}

Panel memory_panel(const Timeline& timeline, const ContentOptions& options) {
  const Style& style = style_of(options.theme);
  Panel panel{.title = "Resident memory (RSS)",
              .remarks = {},
              .unit = Unit::bytes,
              .weight = 4,
              .least_top = 0,
              .curves = {},
              .unsampled_peaks = {}};
  const bool is_single = timeline.processes.size() == 1 && timeline.other_count == 0;
  const TimelineSeries* rss =
      is_single ? find_series(timeline.processes.front().series, "rss_bytes") : nullptr;
  if (rss != nullptr) {
    const std::vector<TimelineSeries>& series = timeline.processes.front().series;
    add_stack(panel, *rss,
              {{find_series(series, "anon_bytes"), "anonymous", style.anon},
               {find_series(series, "file_bytes"), "file", style.file},
               {find_series(series, "shmem_bytes"), "shared memory", style.shmem}});
  }
  if (!panel.curves.empty()) {
    Curve total = curve_of(CurveKind::line, process_label(timeline.processes.front()), style.text, *rss);
    say_peak(total, Unit::bytes);
    add_unsampled_peak(panel, timeline.processes.front(), total);
    panel.curves.push_back(std::move(total));
  } else {
    add_processes(panel, timeline, "rss_bytes", options, /*sum_the_rest=*/true);
  }
  add_limits(panel, timeline, style);
  return panel;
}

// The sum of one series over all processes, where it is ever above 0 (or was asked for by name).
void add_total(Panel& panel, const Timeline& timeline, std::string_view name, const std::string& label,
               Colour colour, bool even_if_zero) {
  std::vector<const TimelineSeries*> all;
  for (const TimelineProcess& process : timeline.processes) {
    if (const TimelineSeries* series = find_series(process.series, name)) all.push_back(series);
  }
  if (const TimelineSeries* series = find_series(timeline.others, name)) all.push_back(series);
  if (all.empty()) return;
  Curve curve = all.size() == 1
                    ? curve_of(CurveKind::line, label, colour, *all.front())
                    : sum_curve(label, colour, sum_series(all, timeline.begin_ns, timeline.end_ns));
  if (!even_if_zero && curve.peak.value_or(0) <= 0) return;
  say_peak(curve, panel.unit);
  panel.curves.push_back(std::move(curve));
}

Panel swap_panel(const Timeline& timeline, const ContentOptions& options) {
  const Style& style = style_of(options.theme);
  const bool asked = !options.metrics.empty();
  Panel panel{.title = "Swap",
              .remarks = {},
              .unit = Unit::bytes,
              .weight = 1.2,
              .least_top = 0,
              .curves = {},
              .unsampled_peaks = {}};
  const bool several = timeline.processes.size() + static_cast<size_t>(timeline.other_count) > 1;
  if (wants(options, "swap_bytes")) {
    add_total(panel, timeline, "swap_bytes", several ? "swap, all processes" : "swap", style.swap, asked);
  }
  const size_t before = panel.curves.size();
  if (wants(options, "hugetlb_bytes")) {
    add_total(panel, timeline, "hugetlb_bytes", several ? "huge pages, all processes" : "huge pages",
              style.hugetlb, asked);
  }
  if (panel.curves.size() > before) panel.title = before == 0 ? "Huge pages" : "Swap and huge pages";
  return panel;
}

Panel oom_panel(const Timeline& timeline, const ContentOptions& options) {
  Panel panel{.title = "oom_score (the kernel kills the highest first)",
              .remarks = {},
              .unit = Unit::count,
              .weight = 1.2,
              .least_top = 10,
              .curves = {},
              .unsampled_peaks = {}};
  add_processes(panel, timeline, "oom_score", options, /*sum_the_rest=*/false);
  if (top_of(panel) > 250) panel.least_top = 1000;
  return panel;
}

bool is_story(std::string_view name) {
  return std::find(kStorySeries.begin(), kStorySeries.end(), name) != kStorySeries.end();
}

}  // namespace

bool wants(const ContentOptions& options, std::string_view name) {
  if (options.metrics.empty()) return true;
  return std::find(options.metrics.begin(), options.metrics.end(), name) != options.metrics.end();
}

const TimelineSeries* find_series(const std::vector<TimelineSeries>& series, std::string_view name) {
  for (const TimelineSeries& one : series) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::string process_label(const TimelineProcess& process) {
  const std::string name = process.name.empty() ? "(no name)" : printable(process.name);
  return process.pid > 0 ? fmt::format("{} ({})", name, process.pid) : name;
}

std::vector<Panel> chart_panels(const Timeline& timeline, const ContentOptions& options) {
  std::vector<Panel> panels;
  const auto keep = [&](Panel panel) {
    if (!panel.curves.empty() || !panel.unsampled_peaks.empty()) panels.push_back(std::move(panel));
  };
  if (wants(options, "rss_bytes")) panels.push_back(memory_panel(timeline, options));
  keep(swap_panel(timeline, options));
  if (wants(options, "oom_score")) keep(oom_panel(timeline, options));
  if (wants(options, "dram_bytes")) {
    for (Panel& panel : device_panels(timeline, options.theme)) keep(std::move(panel));
  }
  for (const std::string& metric : options.metrics) {
    if (is_story(metric) && metric != "anon_bytes" && metric != "file_bytes" && metric != "shmem_bytes")
      continue;
    if (metric == "dram_bytes") continue;
    Panel panel{.title = metric,
                .remarks = {},
                .unit = unit_of(metric),
                .weight = 1.6,
                .least_top = 0,
                .curves = {},
                .unsampled_peaks = {}};
    add_processes(panel, timeline, metric, options, /*sum_the_rest=*/true);
    keep(std::move(panel));
  }
  return panels;
}

}  // namespace memlog
