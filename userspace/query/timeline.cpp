// SPDX-License-Identifier: Apache-2.0
#include "query/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "query/runs.h"
#include "query/spans.h"
#include "query/thinning.h"
#include "query/timeline_events.h"
#include "query/timeline_others.h"

namespace memlog {
namespace {

constexpr int64_t kEarliestNs = INT64_MIN + 1;  // INT64_MIN would be NULL
constexpr size_t kMostCgroups = 8;
constexpr size_t kMostSummed = 1000;
constexpr int64_t kMostPoints = 100'000;
constexpr int64_t kBreakSteps = 3;  // a distance of more than so many steps is a break
// A span is read a few times finer than it is drawn, so that cells end where spans do.
constexpr int64_t kSpansAPoint = 4;
constexpr size_t kManyProcesses = 2;  // beyond them spans are read half as fine

std::optional<std::string> optional_text(const Statement& row, int column) {
  const std::optional<std::string_view> text = row.text(column);
  if (!text) return std::nullopt;
  return std::string(*text);
}

EndReason end_reason_from(std::string_view stored) {
  for (const EndReason reason :
       {EndReason::running, EndReason::exited, EndReason::signaled, EndReason::oom_killed}) {
    if (stored == word(reason)) return reason;
  }
  return EndReason::unseen;
}

PeakSource peak_source_from(std::string_view stored) {
  if (stored == word(PeakSource::kernel)) return PeakSource::kernel;
  return stored.empty() ? PeakSource::none : PeakSource::sampled;
}

std::string ending_of(const Run& run) {
  switch (run.state) {
    case RunState::running:
      return "still running";
    case RunState::interrupted:
      return "interrupted";
    case RunState::ended:
      break;
  }
  return run.end_reason ? "ended: " + *run.end_reason : "ended";
}

// The gaps in which samples are missing, answering "is one between these two samples?" in log time.
class SampleGaps {
 public:
  struct Gap {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t earliest_begin_ns;  // of this gap and those that end later
    Nullable process_id;
  };

  Status load(Database& database, const Timeline& timeline) {
    const Status status = database.each(
        "SELECT started_ns, ended_ns, process_id FROM gap WHERE run_id = ?1 AND started_ns <= ?3 AND "
        "ended_ns >= ?2 AND kind IN ('missed_ticks', 'queue_overflow', 'storage', 'suspend', 'unreadable') "
        "ORDER BY ended_ns - started_ns DESC LIMIT 2000",
        {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns)},
        [&](const Statement& row) {
          const int64_t begin_ns = row.integer(0).value_or(0);
          gaps_.push_back({begin_ns, row.integer(1).value_or(0), begin_ns, row.integer(2)});
        });
    return status;
  }

  // Those of all processes and of `process_id` that are longer than `least_ns`.
  std::function<bool(int64_t, int64_t)> question(int64_t process_id, int64_t least_ns) const {
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
      const auto ends_later = std::upper_bound(
          gaps.begin(), gaps.end(), after_ns, [](int64_t time, const Gap& gap) { return time < gap.end_ns; });
      return ends_later != gaps.end() && ends_later->earliest_begin_ns < before_ns;
    };
  }

 private:
  std::vector<Gap> gaps_;
};

class TimelineReader {
 public:
  TimelineReader(Database& database, const TimelineRequest& request)
      : database_(database), request_(request) {
    request_.points = std::clamp<int64_t>(request_.points, 1, kMostPoints);
  }

  Result<Timeline> read(int64_t run_id);

 private:
  Status choose_metrics();
  Status read_run(int64_t run_id);
  Status choose_processes();
  bool is_wanted(const TimelineProcess& process, const std::string& comm) const;
  Status read_processes();
  Status read_others();
  Status read_host();
  Status read_cgroups();
  // The series of one key, its peaks over the whole run included; `sample_count` of the window.
  Status read_series(SpanReader& reader, int64_t key, int64_t gap_process_id,
                     const std::vector<std::string>& columns, std::vector<TimelineSeries>& series,
                     int64_t& sample_count);
  Status find_peaks(SpanReader& reader, int64_t key, int top, const std::vector<std::string>& columns,
                    std::vector<TimelineSeries>& series) const;
  int64_t cell_ns() const {
    return std::max<int64_t>(1, (timeline_.end_ns - timeline_.begin_ns) / request_.points);
  }
  int64_t break_ns(int64_t step_ns, int64_t cell) const;

  Database& database_;
  TimelineRequest request_;
  Timeline timeline_;
  SampleGaps gaps_;
  std::vector<OtherProcess> others_;
};

Result<Timeline> TimelineReader::read(int64_t run_id) {
  const Result<Transaction> snapshot = Transaction::begin_reading(database_);
  if (!snapshot) return snapshot.error();
  Status status = choose_metrics();
  if (status) status = read_run(run_id);
  if (status) status = gaps_.load(database_, timeline_);
  if (status) status = choose_processes();
  if (status) status = read_processes();
  if (status) status = read_others();
  if (status) status = read_host();
  if (status) status = read_cgroups();
  if (status) status = add_events(database_, timeline_);
  if (status) status = add_gaps(database_, timeline_);
  if (!status) return status.error();
  return std::move(timeline_);
}

Status TimelineReader::choose_metrics() {
  const std::vector<std::string> kept = process_rollup_table().columns;
  if (request_.metrics.empty()) request_.metrics = kept;
  for (const std::string& metric : request_.metrics) {
    if (std::find(kept.begin(), kept.end(), metric) != kept.end()) continue;
    return Error{fmt::format("drawing '{}'", printable(metric)), "there is no such measure",
                 fmt::format("there are {}", fmt::join(kept, ", ")), 0};
  }
  return Ok{};
}

Status TimelineReader::read_run(int64_t run_id) {
  const Result<Run> run = get_run(database_, run_id);
  if (!run) return run.error();
  timeline_.run_id = run_id;
  timeline_.title = run->label ? *run->label : run->target;
  timeline_.host = run->host;
  timeline_.target = run->target;
  timeline_.source = fmt::format("run {}", run_id);
  timeline_.ending = ending_of(*run);
  timeline_.event_source = run->event_source;
  timeline_.interval_ns = run->interval_ns;
  timeline_.is_incomplete = run->is_incomplete;
  timeline_.begin_ns = request_.since_ns.value_or(run->started_ns);
  timeline_.end_ns = request_.until_ns.value_or(std::max(run->started_ns, run->last_seen_ns));
  if (timeline_.begin_ns > timeline_.end_ns)
    return Error{fmt::format("reading run {}", run_id), "the window that was asked for is empty",
                 fmt::format("the run lasted from {} to {} UTC", format_utc(run->started_ns),
                             format_utc(run->last_seen_ns)),
                 0};
  return Ok{};
}

bool TimelineReader::is_wanted(const TimelineProcess& process, const std::string& comm) const {
  if (request_.only.empty()) return true;
  return std::any_of(request_.only.begin(), request_.only.end(), [&](const std::string& wanted) {
    return wanted == process.name || wanted == comm || parse_int(wanted) == process.pid;
  });
}

Status TimelineReader::choose_processes() {
  Status status = database_.each(
      "SELECT id, pid, parent_pid, name, comm, cmdline, first_seen_ns, ended_ns, end_reason, exit_status, "
      "exit_signal, peak_rss_bytes, peak_source, sample_count FROM process WHERE run_id = ?1 AND "
      "first_seen_ns "
      "<= ?3 AND coalesce(ended_ns, ?2) >= ?2 ORDER BY peak_rss_bytes DESC NULLS LAST, sample_count DESC, id",
      {Nullable(timeline_.run_id), Nullable(timeline_.begin_ns), Nullable(timeline_.end_ns)},
      [&](const Statement& row) {
        TimelineProcess process;
        process.id = row.integer(0).value_or(0);
        process.pid = row.integer(1).value_or(0);
        process.name = row.text_or(3);
        if (!is_wanted(process, row.text_or(4))) return;
        process.first_seen_ns = row.integer(6).value_or(0);
        const Nullable ended_ns = row.integer(7);
        process.sample_count = row.integer(13).value_or(0);
        if (timeline_.processes.size() >= request_.processes) {
          ++timeline_.other_count;
          if (process.sample_count > 0 && others_.size() < kMostSummed)
            others_.push_back({process.id, process.first_seen_ns, ended_ns, process.sample_count});
          return;
        }
        process.parent_pid = row.integer(2).value_or(0);
        process.cmdline = optional_text(row, 5);
        if (ended_ns.has_value()) process.ended_ns = ended_ns.value();
        process.end_reason = end_reason_from(row.text_or(8));
        process.exit_status = row.integer(9);
        process.exit_signal = row.integer(10);
        process.peak_rss_bytes = row.integer(11);
        process.peak_source = peak_source_from(row.text_or(12));
        timeline_.processes.push_back(std::move(process));
      });
  if (!status || !timeline_.processes.empty() || request_.only.empty() || request_.processes == 0)
    return status;
  return Error{fmt::format("reading run {}", timeline_.run_id),
               fmt::format("no process of it is called {}",
                           printable(fmt::format("{}", fmt::join(request_.only, " or ")))),
               fmt::format("memlog show {} lists them", timeline_.run_id), 0};
}

int64_t TimelineReader::break_ns(int64_t step_ns, int64_t cell) const {
  const int64_t step = std::max(timeline_.interval_ns, step_ns);
  if (step <= 0) return INT64_MAX;
  return std::max(step > INT64_MAX / kBreakSteps ? INT64_MAX : kBreakSteps * step, cell);
}

Status TimelineReader::read_processes() {
  Result<SpanReader> reader = SpanReader::prepare(database_, process_rollup_table(), request_.metrics);
  if (!reader) return reader.error();
  for (TimelineProcess& process : timeline_.processes) {
    if (process.sample_count == 0) continue;
    const Status status = read_series(*reader, process.id, process.id, request_.metrics, process.series,
                                      timeline_.sample_count);
    if (!status) return status;
  }
  return Ok{};
}

Status TimelineReader::read_series(SpanReader& reader, int64_t key, int64_t gap_process_id,
                                   const std::vector<std::string>& columns,
                                   std::vector<TimelineSeries>& series, int64_t& sample_count) {
  const int64_t from_ns = timeline_.begin_ns;
  const int64_t to_ns = timeline_.end_ns;
  const Result<int> top = reader.top_level(key);
  if (!top) return top.error();
  int64_t count = 0;
  Status status = reader.read(key, *top, from_ns, to_ns, INT64_MAX,
                              [&](const Span& span) { count += span.sample_count; });
  if (!status) return status;
  sample_count += count;
  const Result<int64_t> step_ns = reader.typical_step_ns(key);
  if (!step_ns) return step_ns.error();
  const bool is_many = timeline_.processes.size() > kManyProcesses;
  const int64_t most_spans = request_.points * (is_many ? kSpansAPoint / 2 : kSpansAPoint);
  int level = 0;
  while (level < *top && count / rollup_samples(level) > most_spans) ++level;
  ThinningGrid grid;
  grid.begin_ns = from_ns;
  grid.cell_ns = count <= request_.points ? 0 : cell_ns();
  grid.break_ns = break_ns(*step_ns, grid.cell_ns);
  grid.is_gap_between = gaps_.question(gap_process_id, grid.cell_ns);
  Thinner thinner(columns, grid);
  status =
      reader.read(key, level, from_ns, to_ns, grid.break_ns, [&](const Span& span) { thinner.add(span); });
  if (!status) return status;
  series = thinner.take();
  if (grid.cell_ns > 0)
    timeline_.resolution_ns = std::max({timeline_.resolution_ns, grid.cell_ns, thinner.longest_point_ns()});
  return find_peaks(reader, key, *top, columns, series);
}

Status TimelineReader::find_peaks(SpanReader& reader, int64_t key, int top,
                                  const std::vector<std::string>& columns,
                                  std::vector<TimelineSeries>& series) const {
  std::vector<std::optional<Span>> largest(columns.size());
  Status status = reader.read(key, top, kEarliestNs, INT64_MAX, INT64_MAX, [&](const Span& span) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!span.measures[i].is_known) continue;
      if (!largest[i] || span.measures[i].max > largest[i]->measures[i].max) largest[i] = span;
    }
  });
  if (!status) return status;
  for (TimelineSeries& one : series) {
    const auto found = std::find(columns.begin(), columns.end(), one.name);
    const auto index = static_cast<size_t>(found - columns.begin());
    if (!largest[index]) continue;
    one.peak = largest[index]->measures[index].max;
    const Result<int64_t> peak_ns = reader.find_peak(key, *largest[index], index);
    if (!peak_ns) return peak_ns.error();
    one.peak_ns = *peak_ns;
  }
  return Ok{};
}

Status TimelineReader::read_others() {
  if (others_.empty()) return Ok{};
  Result<SpanReader> reader = SpanReader::prepare(database_, process_rollup_table(), request_.metrics);
  if (!reader) return reader.error();
  int64_t count = 0;
  for (const OtherProcess& other : others_) count += other.sample_count;
  timeline_.sample_count += count;
  ThinningGrid grid;
  grid.begin_ns = timeline_.begin_ns;
  grid.cell_ns = count <= request_.points ? 0 : cell_ns();
  if (grid.cell_ns > 0) timeline_.resolution_ns = std::max(timeline_.resolution_ns, grid.cell_ns);
  // What is known last of each process is added up, so a pause of one is no break of the sum.
  grid.break_ns = INT64_MAX;
  grid.is_gap_between = gaps_.question(0, grid.cell_ns);
  Result<std::vector<TimelineSeries>> series =
      sum_others(*reader, request_.metrics, others_, grid, timeline_.end_ns);
  if (!series) return series.error();
  timeline_.others = *std::move(series);
  const int64_t left_out = timeline_.other_count - static_cast<int64_t>(others_.size());
  if (left_out > 0)
    timeline_.notes.push_back(
        fmt::format("{} processes without samples or beyond the {} largest are not in the sum of the others",
                    left_out, kMostSummed));
  return Ok{};
}

Status TimelineReader::read_host() {
  const RollupTable table = host_rollup_table();
  Result<SpanReader> reader = SpanReader::prepare(database_, table, table.columns);
  if (!reader) return reader.error();
  int64_t ignored_count = 0;
  return read_series(*reader, timeline_.run_id, 0, table.columns, timeline_.host_series, ignored_count);
}

Status TimelineReader::read_cgroups() {
  const RollupTable table = cgroup_rollup_table();
  Result<SpanReader> reader = SpanReader::prepare(database_, table, table.columns);
  if (!reader) return reader.error();
  std::vector<int64_t> ids;
  size_t count = 0;
  Status status = database_.each("SELECT id, path FROM cgroup WHERE run_id = ? ORDER BY id",
                                 {Nullable(timeline_.run_id)}, [&](const Statement& row) {
                                   if (++count > kMostCgroups) return;
                                   ids.push_back(row.integer(0).value_or(0));
                                   timeline_.cgroups.push_back({row.text_or(1), {}});
                                 });
  for (size_t i = 0; status && i < ids.size(); ++i) {
    int64_t ignored_count = 0;
    status = read_series(*reader, ids[i], 0, table.columns, timeline_.cgroups[i].series, ignored_count);
  }
  if (count > kMostCgroups)
    timeline_.notes.push_back(fmt::format("{} further cgroups are not shown", count - kMostCgroups));
  return status;
}

}  // namespace

Result<Timeline> read_timeline(Database& database, int64_t run_id, const TimelineRequest& request) {
  return TimelineReader(database, request).read(run_id);
}

}  // namespace memlog
