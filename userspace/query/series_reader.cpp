// SPDX-License-Identifier: Apache-2.0
#include "query/series_reader.h"

#include <algorithm>
#include <optional>

#include "query/thinning.h"

namespace memlog {
namespace {

constexpr int64_t kEarliestNs = INT64_MIN + 1;  // INT64_MIN would be NULL
constexpr int64_t kBreakSteps = 3;              // a distance of more than so many steps is a break

}  // namespace

int64_t cell_width_ns(const Timeline& window, int64_t points) {
  return std::max<int64_t>(1, (window.end_ns - window.begin_ns) / points);
}

Status SampleGaps::load(Database& database, const Timeline& timeline) {
  return database.each(
      "SELECT started_ns, ended_ns, process_id FROM gap WHERE run_id = ?1 AND started_ns <= ?3 AND "
      "ended_ns >= ?2 AND kind IN ('missed_ticks', 'queue_overflow', 'storage', 'suspend', 'unreadable') "
      "ORDER BY ended_ns - started_ns DESC LIMIT 2000",
      {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns)},
      [&](const Statement& row) {
        const int64_t begin_ns = row.integer(0).value_or(0);
        gaps_.push_back({begin_ns, row.integer(1).value_or(0), begin_ns, row.integer(2)});
      });
}

std::function<bool(int64_t, int64_t)> SampleGaps::question(int64_t process_id, int64_t least_ns) const {
  std::vector<Gap> gaps;
  for (const Gap& gap : gaps_) {
    const bool is_ours = gap.process_id.value_or(process_id) == process_id;
    if (is_ours && gap.end_ns - gap.begin_ns > least_ns) gaps.push_back(gap);
  }
  if (gaps.empty()) return {};
  std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.end_ns < b.end_ns; });
  for (size_t i = gaps.size() - 1; i-- > 0;)
    gaps[i].earliest_begin_ns = std::min(gaps[i].earliest_begin_ns, gaps[i + 1].earliest_begin_ns);
  return [gaps = std::move(gaps)](int64_t after_ns, int64_t before_ns) {
    const auto ends_later = std::upper_bound(gaps.begin(), gaps.end(), after_ns,
                                             [](int64_t time, const Gap& gap) { return time < gap.end_ns; });
    return ends_later != gaps.end() && ends_later->earliest_begin_ns < before_ns;
  };
}

Result<SeriesReader> SeriesReader::prepare(Database& database, const RollupTable& table,
                                           std::vector<std::string> columns, const Timeline& window,
                                           const SampleGaps& gaps) {
  Result<SpanReader> spans = SpanReader::prepare(database, table, columns);
  if (!spans) return spans.error();
  return SeriesReader(*std::move(spans), std::move(columns), window, gaps);
}

int64_t SeriesReader::break_ns(int64_t step_ns, int64_t cell) const {
  const int64_t step = std::max(window_->interval_ns, step_ns);
  if (step <= 0) return INT64_MAX;
  return std::max(step > INT64_MAX / kBreakSteps ? INT64_MAX : kBreakSteps * step, cell);
}

Result<SeriesReader::Reading> SeriesReader::read(int64_t key, const Options& options) {
  const int64_t from_ns = window_->begin_ns;
  const int64_t to_ns = window_->end_ns;
  const Result<int> top = spans_.top_level(key);
  if (!top) return top.error();
  Reading reading;
  Status status = spans_.read(key, *top, from_ns, to_ns, INT64_MAX,
                              [&](const Span& span) { reading.sample_count += span.sample_count; });
  if (!status) return status.error();
  const Result<int64_t> step_ns = spans_.typical_step_ns(key);
  if (!step_ns) return step_ns.error();
  const int64_t most_spans = options.points * options.spans_a_point;
  int level = 0;
  while (level < *top && reading.sample_count / rollup_samples(level) > most_spans) ++level;
  ThinningGrid grid;
  grid.begin_ns = from_ns;
  grid.cell_ns = reading.sample_count <= options.points ? 0 : cell_width_ns(*window_, options.points);
  grid.break_ns = break_ns(*step_ns, grid.cell_ns);
  grid.is_gap_between = gaps_->question(options.gap_process_id, grid.cell_ns);
  std::vector<std::string> names = columns_;
  names.insert(names.end(), options.derived.begin(), options.derived.end());
  Thinner thinner(names, grid);
  status = spans_.read(key, level, from_ns, to_ns, grid.break_ns, [&](Span span) {
    if (options.derive) options.derive(span);
    thinner.add(span);
  });
  if (!status) return status.error();
  reading.series = thinner.take();
  if (grid.cell_ns > 0) reading.resolution_ns = std::max(grid.cell_ns, thinner.longest_point_ns());
  status = find_peaks(key, *top, reading.series);
  if (!status) return status.error();
  return reading;
}

Result<std::vector<TimelineSeries>> SeriesReader::peaks(int64_t key) {
  const Result<int> top = spans_.top_level(key);
  if (!top) return top.error();
  std::vector<TimelineSeries> series;
  series.reserve(columns_.size());
  for (const std::string& column : columns_) series.push_back({column, {}, {}, 0});
  if (const Status status = find_peaks(key, *top, series); !status) return status.error();
  return series;
}

Status SeriesReader::find_peaks(int64_t key, int top, std::vector<TimelineSeries>& series) {
  std::vector<std::optional<Span>> largest(columns_.size());
  Status status = spans_.read(key, top, kEarliestNs, INT64_MAX, INT64_MAX, [&](const Span& span) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!span.measures[i].is_known) continue;
      if (!largest[i] || span.measures[i].max > largest[i]->measures[i].max) largest[i] = span;
    }
  });
  if (!status) return status;
  for (TimelineSeries& one : series) {
    const auto found = std::find(columns_.begin(), columns_.end(), one.name);
    const auto index = static_cast<size_t>(found - columns_.begin());
    if (found == columns_.end() || !largest[index]) continue;
    one.peak = largest[index]->measures[index].max;
    const Result<int64_t> peak_ns = spans_.find_peak(key, *largest[index], index);
    if (!peak_ns) return peak_ns.error();
    one.peak_ns = *peak_ns;
  }
  return Ok{};
}

}  // namespace memlog
