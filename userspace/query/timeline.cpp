// SPDX-License-Identifier: Apache-2.0
#include "query/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "query/runs.h"
#include "query/series_reader.h"
#include "query/stored_words.h"
#include "query/thinning.h"
#include "query/timeline_devices.h"
#include "query/timeline_events.h"
#include "query/timeline_others.h"

namespace memlog {
namespace {

constexpr size_t kMostCgroups = 8;
constexpr size_t kMostSummed = 1000;
constexpr int64_t kMostPoints = 100'000;
constexpr size_t kManyProcesses = 2;  // beyond them spans are read half as fine

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
  SeriesReader::Options options(int64_t gap_process_id = 0) const;
  // The series of one key; the samples that were read.
  Result<int64_t> read_series(SeriesReader& reader, int64_t key, int64_t gap_process_id,
                              std::vector<TimelineSeries>& series);

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
  if (status) status = add_devices(database_, timeline_, gaps_, request_.points);
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
      "exit_signal, peak_rss_bytes, peak_source, sample_count, peak_device_bytes FROM process WHERE run_id = "
      "?1 AND "
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
        process.peak_device_bytes = row.integer(14);
        timeline_.processes.push_back(std::move(process));
      });
  if (!status || !timeline_.processes.empty() || request_.only.empty() || request_.processes == 0)
    return status;
  return Error{fmt::format("reading run {}", timeline_.run_id),
               fmt::format("no process of it is called {}",
                           printable(fmt::format("{}", fmt::join(request_.only, " or ")))),
               fmt::format("memlog show {} lists them", timeline_.run_id), 0};
}

SeriesReader::Options TimelineReader::options(int64_t gap_process_id) const {
  SeriesReader::Options options;
  options.points = request_.points;
  if (timeline_.processes.size() > kManyProcesses) options.spans_a_point /= 2;
  options.gap_process_id = gap_process_id;
  return options;
}

Result<int64_t> TimelineReader::read_series(SeriesReader& reader, int64_t key, int64_t gap_process_id,
                                            std::vector<TimelineSeries>& series) {
  Result<SeriesReader::Reading> reading = reader.read(key, options(gap_process_id));
  if (!reading) return reading.error();
  series = std::move(reading->series);
  timeline_.resolution_ns = std::max(timeline_.resolution_ns, reading->resolution_ns);
  return reading->sample_count;
}

Status TimelineReader::read_processes() {
  Result<SeriesReader> reader =
      SeriesReader::prepare(database_, process_rollup_table(), request_.metrics, timeline_, gaps_);
  if (!reader) return reader.error();
  for (TimelineProcess& process : timeline_.processes) {
    if (process.sample_count == 0) continue;
    const Result<int64_t> count = read_series(*reader, process.id, process.id, process.series);
    if (!count) return count.error();
    timeline_.sample_count += *count;
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
  grid.cell_ns = count <= request_.points ? 0 : cell_width_ns(timeline_, request_.points);
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
  Result<SeriesReader> reader = SeriesReader::prepare(database_, table, table.columns, timeline_, gaps_);
  if (!reader) return reader.error();
  const Result<int64_t> count = read_series(*reader, timeline_.run_id, 0, timeline_.host_series);
  if (!count) return count.error();
  return Ok{};
}

Status TimelineReader::read_cgroups() {
  const RollupTable table = cgroup_rollup_table();
  Result<SeriesReader> reader = SeriesReader::prepare(database_, table, table.columns, timeline_, gaps_);
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
    const Result<int64_t> samples = read_series(*reader, ids[i], 0, timeline_.cgroups[i].series);
    if (!samples) return samples.error();
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
