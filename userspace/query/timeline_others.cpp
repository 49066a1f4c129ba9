// SPDX-License-Identifier: Apache-2.0
#include "query/timeline_others.h"

#include <algorithm>

namespace memlog {
namespace {

constexpr int64_t kMostSpans = 20'000;  // of all of them together
constexpr int64_t kLeastSpans = 8;      // of each

// From `time_ns` on the process has these values; none is known after its end.
struct Change {
  int64_t time_ns = 0;
  size_t process = 0;
  std::array<Nullable, kRollupMostColumns> values;
};

int level_for(int64_t sample_count, int64_t most_spans) {
  int level = 0;
  while (sample_count / rollup_samples(level) > most_spans) ++level;
  return level;
}

Status read_changes(SpanReader& reader, size_t index, const OtherProcess& process, int64_t most_spans,
                    int64_t from_ns, int64_t until_ns, std::vector<Change>& changes) {
  const Result<int> top = reader.top_level(process.id);
  if (!top) return top.error();
  const int level = std::min(*top, level_for(process.sample_count, most_spans));
  bool is_first = true;
  int64_t end_ns = 0;
  const auto add = [&](int64_t time_ns, const Span& span, int64_t SpanMeasure::* part) {
    Change& change = changes.emplace_back(Change{time_ns, index, {}});
    for (size_t i = 0; i < kRollupMostColumns; ++i)
      if (span.measures[i].is_known) change.values[i] = span.measures[i].*part;
  };
  Status status = reader.read(process.id, level, from_ns, until_ns, INT64_MAX, [&](const Span& span) {
    // One that was there before the window has its first known value from the window's begin.
    const bool was_there = is_first && process.first_seen_ns < from_ns;
    add(was_there ? from_ns : span.begin_ns, span, &SpanMeasure::mean);
    if (span.sample_count > 1) add(span.end_ns, span, &SpanMeasure::last);
    is_first = false;
    end_ns = span.end_ns;
  });
  if (!status) return status;
  if (!is_first && process.ended_ns.has_value() && process.ended_ns.value() <= until_ns)
    changes.push_back({std::max(end_ns + 1, process.ended_ns.value()), index, {}});
  return Ok{};
}

// Adds up the changes that are sorted by time.
class Sum {
 public:
  Sum(size_t process_count, size_t column_count) : current_(process_count), column_count_(column_count) {}

  void apply(const Change& change) {
    for (size_t i = 0; i < column_count_; ++i) {
      Nullable& current = current_[change.process][i];
      totals_[i] += change.values[i].value_or(0) - current.value_or(0);
      known_[i] += static_cast<int>(change.values[i].has_value()) - static_cast<int>(current.has_value());
      current = change.values[i];
    }
  }
  Span at(int64_t time_ns) const {
    Span span;
    span.begin_ns = span.end_ns = time_ns;
    for (size_t i = 0; i < column_count_; ++i) {
      const int64_t total = totals_[i];
      span.measures[i] = {known_[i] > 0, total, total, total, total};
    }
    return span;
  }

 private:
  std::vector<std::array<Nullable, kRollupMostColumns>> current_;
  size_t column_count_;
  std::array<int64_t, kRollupMostColumns> totals_{};
  std::array<int64_t, kRollupMostColumns> known_{};
};

}  // namespace

Result<std::vector<TimelineSeries>> sum_others(SpanReader& reader, const std::vector<std::string>& columns,
                                               const std::vector<OtherProcess>& processes,
                                               const ThinningGrid& grid, int64_t until_ns) {
  std::vector<Change> changes;
  const int64_t most_spans =
      std::max(kLeastSpans, kMostSpans / std::max<int64_t>(1, static_cast<int64_t>(processes.size())));
  for (size_t i = 0; i < processes.size(); ++i) {
    const Status status = read_changes(reader, i, processes[i], most_spans, grid.begin_ns, until_ns, changes);
    if (!status) return status.error();
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; });
  Thinner thinner(columns, grid);
  Sum sum(processes.size(), columns.size());
  for (size_t i = 0; i < changes.size(); ++i) {
    sum.apply(changes[i]);
    if (i + 1 == changes.size() || changes[i + 1].time_ns != changes[i].time_ns)
      thinner.add(sum.at(changes[i].time_ns));
  }
  std::vector<TimelineSeries> series = thinner.take();
  for (TimelineSeries& one : series) {
    for (const TimelinePoint& point : one.points) {
      if (one.peak.has_value() && point.max <= one.peak.value()) continue;
      one.peak = point.max;
      one.peak_ns = point.begin_ns;
    }
  }
  return series;
}

}  // namespace memlog
