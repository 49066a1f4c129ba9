// SPDX-License-Identifier: Apache-2.0
#include "render/timeline_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/text.h"
#include "render/chart_content.h"
#include "render/thin_points.h"

namespace memlog {
namespace {

constexpr size_t kMostText = 160;  // bytes of a name, path or event's words
constexpr size_t kMostCgroups = 20;

std::string milliseconds(int64_t time_ns) {
  const int64_t us = time_ns / 1000;
  if (us % 1000 == 0) return fmt::format("{}", us / 1000);
  return fmt::format("{:.3f}", static_cast<double>(us) / 1000);
}

std::string nullable(Nullable value) { return value.has_value() ? fmt::format("{}", value.value()) : "null"; }

// How many points the series of a run get: the budget shared out by what each is worth.
class Shares {
 public:
  Shares(const Timeline& timeline, const JsonBudget& budget) : budget_(budget) {
    const size_t processes = std::min(timeline.processes.size(), budget.processes);
    for (size_t rank = 0; rank < processes; ++rank) {
      for (const TimelineSeries& series : timeline.processes[rank].series) {
        if (is_kept(timeline, rank, series)) total_ += worth(rank, series.name);
      }
    }
    total_ += 8;  // rest and totals
    total_ += 2 * static_cast<double>(timeline.host_series.size() + timeline.cgroups.size());
    total_ += static_cast<double>(timeline.devices.size() + 4 * timeline.device_totals.size());
  }

  // The page shows parts of RSS for a single process only, and swap and huge pages as totals.
  static bool is_kept(const Timeline& timeline, size_t rank, const TimelineSeries& series) {
    const bool is_part =
        series.name == "anon_bytes" || series.name == "file_bytes" || series.name == "shmem_bytes";
    if (is_part) return timeline.processes.size() == 1 && timeline.other_count == 0;
    if (series.name == "swap_bytes" || series.name == "hugetlb_bytes") return false;
    return rank < kNamedInPages || series.name == "rss_bytes";
  }
  static double worth(size_t rank, const std::string& name) {
    if (rank >= kNamedInPages) return 1;
    return name == "rss_bytes" ? 8 : 2;
  }
  size_t most(double worth) const {
    const double share = static_cast<double>(budget_.points) * worth / std::max(total_, 1.0);
    return std::clamp<size_t>(static_cast<size_t>(share), 8, budget_.points_a_series);
  }

 private:
  JsonBudget budget_;
  double total_ = 0;
};

class Writer {
 public:
  explicit Writer(int64_t begin_ns) : begin_ns_(begin_ns) {}

  void raw(std::string_view text) { out_ += text; }
  void field(const char* name, std::string_view json) {
    if (out_.back() != '{') out_ += ',';
    fmt::format_to(std::back_inserter(out_), "\"{}\":{}", name, json);
  }
  void text(const char* name, std::string_view value) {
    field(name, json_string(value.substr(0, kMostText)));
  }
  void open(const char* name, char bracket) {
    if (out_.back() != '{') out_ += ',';
    fmt::format_to(std::back_inserter(out_), "\"{}\":{}", name, bracket);
  }
  void item() {
    if (out_.back() != '[') out_ += ',';
  }
  void close(char bracket) { out_ += bracket; }

  void series(const TimelineSeries& series, size_t most) {
    const std::vector<TimelinePoint> points = thin_points(series.points, most);
    item();
    out_ += '{';
    text("name", series.name);
    Nullable peak = series.peak;
    for (const TimelinePoint& point : points) peak = max_known(peak, point.max);
    field("peak", nullable(peak));
    if (series.peak_ns != 0) field("peak_ms", milliseconds(series.peak_ns));
    columns(points);
    out_ += '}';
  }

  std::string take() { return std::move(out_); }

 private:
  template <typename Function>
  void column(const char* name, const std::vector<TimelinePoint>& points, Function value) {
    open(name, '[');
    for (size_t at = 0; at < points.size(); ++at) {
      if (at > 0) out_ += ',';
      fmt::format_to(std::back_inserter(out_), "{}", value(at));
    }
    out_ += ']';
  }
  static int64_t span_us(const TimelinePoint& point) { return (point.end_ns - point.begin_ns) / 1000; }

  void columns(const std::vector<TimelinePoint>& points) {
    const auto us = [&](size_t at) { return (points[at].begin_ns - begin_ns_) / 1000; };
    column("t", points, [&](size_t at) { return at == 0 ? us(0) : us(at) - us(at - 1); });
    column("v", points,
           [&](size_t at) { return at == 0 ? points[0].mean : points[at].mean - points[at - 1].mean; });
    if (points.empty()) return;
    const int64_t span = span_us(points.front());
    const bool same =
        std::all_of(points.begin(), points.end(), [&](const auto& one) { return span_us(one) == span; });
    if (!same) column("d", points, [&](size_t at) { return span_us(points[at]); });
    if (same && span != 0) field("d", fmt::format("{}", span));
    if (std::any_of(points.begin(), points.end(), [](const auto& one) { return one.min != one.mean; })) {
      column("lo", points, [&](size_t at) { return points[at].mean - points[at].min; });
    }
    if (std::any_of(points.begin(), points.end(), [](const auto& one) { return one.max != one.mean; })) {
      column("hi", points, [&](size_t at) { return points[at].max - points[at].mean; });
    }
    std::string breaks;
    for (size_t at = 1; at < points.size(); ++at) {
      if (points[at].follows_a_break) breaks += fmt::format("{}{}", breaks.empty() ? "" : ",", at);
    }
    if (!breaks.empty()) field("breaks", '[' + breaks + ']');
  }

  int64_t begin_ns_;
  std::string out_ = "{";
};

void write_processes(Writer& writer, const Timeline& timeline, const Shares& shares,
                     const JsonBudget& budget) {
  writer.open("processes", '[');
  for (size_t rank = 0; rank < std::min(timeline.processes.size(), budget.processes); ++rank) {
    const TimelineProcess& process = timeline.processes[rank];
    writer.item();
    writer.raw("{");
    writer.field("id", fmt::format("{}", process.id));
    writer.field("pid", fmt::format("{}", process.pid));
    writer.text("name", process.name);
    if (process.ended_ns) writer.field("ended_ms", milliseconds(*process.ended_ns));
    writer.field("end", fmt::format("\"{}\"", word(process.end_reason)));
    writer.field("status", nullable(process.exit_status));
    writer.field("signal", nullable(process.exit_signal));
    writer.field("peak", nullable(process.peak_rss_bytes));
    writer.field("peak_source", fmt::format("\"{}\"", word(process.peak_source)));
    writer.open("series", '[');
    for (const TimelineSeries& series : process.series) {
      if (!Shares::is_kept(timeline, rank, series)) continue;
      writer.series(series, shares.most(Shares::worth(rank, series.name)));
    }
    writer.raw("]}");
  }
  writer.close(']');
}

TimelineSeries summed(const Timeline& timeline, std::string_view name, size_t first_rank) {
  std::vector<const TimelineSeries*> all;
  for (size_t rank = first_rank; rank < timeline.processes.size(); ++rank) {
    if (const TimelineSeries* series = find_series(timeline.processes[rank].series, name))
      all.push_back(series);
  }
  if (const TimelineSeries* series = find_series(timeline.others, name)) all.push_back(series);
  if (all.size() == 1) {
    TimelineSeries one = *all.front();
    one.name = name;
    return one;
  }
  TimelineSeries sum;
  sum.name = name;
  if (!all.empty()) sum.points = sum_series(all, timeline.begin_ns, timeline.end_ns);
  return sum;
}

void write_sums(Writer& writer, const Timeline& timeline, const Shares& shares) {
  const size_t named = std::min(kNamedInPages, timeline.processes.size());
  writer.open("rest", '[');
  const TimelineSeries rest = summed(timeline, "rss_bytes", named);
  if (!rest.points.empty()) writer.series(rest, shares.most(4));
  writer.close(']');
  const int64_t count = static_cast<int64_t>(timeline.processes.size() - named) + timeline.other_count;
  writer.field("rest_count", fmt::format("{}", count));
  writer.field("other_count", fmt::format("{}", timeline.other_count));
  writer.open("totals", '[');
  for (const char* name : {"swap_bytes", "hugetlb_bytes"}) {
    const TimelineSeries total = summed(timeline, name, 0);
    const bool is_used = std::any_of(total.points.begin(), total.points.end(),
                                     [](const TimelinePoint& point) { return point.max > 0; });
    if (is_used) writer.series(total, shares.most(4));
  }
  writer.close(']');
}

void write_surroundings(Writer& writer, const Timeline& timeline, const Shares& shares) {
  writer.open("host_series", '[');
  if (const TimelineSeries* series = find_series(timeline.host_series, "mem_available_bytes")) {
    writer.series(*series, shares.most(2));
  }
  writer.close(']');
  writer.open("cgroups", '[');
  for (const TimelineCgroup& cgroup :
       std::span(timeline.cgroups).first(std::min(timeline.cgroups.size(), kMostCgroups))) {
    const TimelineSeries* limit = find_series(cgroup.series, "limit_bytes");
    if (limit == nullptr || limit->points.empty()) continue;
    writer.item();
    writer.raw("{");
    writer.text("path", cgroup.path);
    writer.open("series", '[');
    writer.series(*limit, std::min<size_t>(shares.most(2), 200));
    writer.raw("]}");
  }
  writer.close(']');
  writer.open("devices", '[');
  for (const TimelineDevice& device : timeline.devices) {
    writer.item();
    writer.raw("{");
    writer.text("name", device.name);
    writer.open("series", '[');
    for (const TimelineSeries& series : device.series) {
      if (series.name == "dram_bytes") writer.series(series, shares.most(1));
    }
    writer.raw("]}");
  }
  writer.close(']');
  writer.open("device_totals", '[');
  for (const TimelineSeries& series : timeline.device_totals) writer.series(series, shares.most(4));
  writer.close(']');
  writer.field("device_count", fmt::format("{}", timeline.device_count));
  writer.text("device_spread", timeline.device_spread);
}

int rank_of(EventKind kind) {
  switch (kind) {
    case EventKind::oom_kill:
      return 0;
    case EventKind::mark:
    case EventKind::clock_step:
    case EventKind::note:
      return 1;
    case EventKind::exit:
      return 2;
    default:
      return 3;
  }
}

void write_events(Writer& writer, const Timeline& timeline, const JsonBudget& budget) {
  std::vector<const TimelineEvent*> events;
  events.reserve(timeline.events.size());
  for (const TimelineEvent& event : timeline.events) events.push_back(&event);
  if (events.size() > budget.events) {
    std::stable_sort(events.begin(), events.end(), [](const TimelineEvent* left, const TimelineEvent* right) {
      return rank_of(left->kind) < rank_of(right->kind);
    });
    events.resize(budget.events);
    std::stable_sort(events.begin(), events.end(), [](const TimelineEvent* left, const TimelineEvent* right) {
      return left->time_ns < right->time_ns;
    });
  }
  writer.open("events", '[');
  for (const TimelineEvent* event : events) {
    writer.item();
    writer.raw("{");
    writer.field("ms", milliseconds(event->time_ns));
    writer.field("kind", fmt::format("\"{}\"", word(event->kind)));
    writer.field("process", fmt::format("{}", event->process_id));
    writer.text("text", event->text);
    writer.close('}');
  }
  writer.close(']');
  writer.field("events_left_out", fmt::format("{}", timeline.events.size() - events.size()));
}

void write_gaps(Writer& writer, const Timeline& timeline, const JsonBudget& budget) {
  std::vector<const TimelineGap*> gaps;
  gaps.reserve(timeline.gaps.size());
  for (const TimelineGap& gap : timeline.gaps) gaps.push_back(&gap);
  if (gaps.size() > budget.gaps) {  // the longest are what can be seen
    std::stable_sort(gaps.begin(), gaps.end(), [](const TimelineGap* left, const TimelineGap* right) {
      return left->end_ns - left->begin_ns > right->end_ns - right->begin_ns;
    });
    gaps.resize(budget.gaps);
  }
  writer.open("gaps", '[');
  for (const TimelineGap* gap : gaps) {
    writer.item();
    writer.raw("{");
    writer.field("begin_ms", milliseconds(gap->begin_ns));
    writer.field("end_ms", milliseconds(gap->end_ns));
    writer.field("kind", fmt::format("\"{}\"", word(gap->kind)));
    writer.text("text", gap->text);
    writer.close('}');
  }
  writer.close(']');
}

}  // namespace

std::string timeline_json(const Timeline& timeline, const JsonBudget& budget) {
  const Shares shares(timeline, budget);
  Writer writer(timeline.begin_ns);
  writer.text("title", timeline.title);
  writer.text("host", timeline.host);
  writer.text("target", timeline.target);
  writer.text("source", timeline.source);
  writer.text("ending", timeline.ending);
  writer.field("begin_ms", milliseconds(timeline.begin_ns));
  writer.field("end_ms", milliseconds(timeline.end_ns));
  writer.field("interval_ms", milliseconds(timeline.interval_ns));
  writer.field("resolution_ms", milliseconds(timeline.resolution_ns));
  writer.field("sample_count", fmt::format("{}", timeline.sample_count));
  write_processes(writer, timeline, shares, budget);
  write_sums(writer, timeline, shares);
  write_surroundings(writer, timeline, shares);
  write_events(writer, timeline, budget);
  write_gaps(writer, timeline, budget);
  writer.close('}');
  return writer.take();
}

std::string series_json(const TimelineSeries& series, int64_t begin_ns) {
  Writer writer(begin_ns);
  writer.series(series, series.points.size());
  return writer.take().substr(2);  // without the bracket that a writer begins with, and the comma
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&' || byte == 0x7f) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", byte);
    } else {
      json += c;
    }
  }
  return json + '"';
}

}  // namespace memlog
