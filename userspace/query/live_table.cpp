// SPDX-License-Identifier: Apache-2.0
#include "query/live_table.h"

#include <algorithm>

#include "base/clock.h"
#include "query/stored_words.h"

namespace memlog {
namespace {

constexpr int64_t kGrowthPoints = 6;
constexpr int64_t kGrowthSteps = 30;  // intervals that the slope looks back
constexpr int64_t kLeastGrowthNs = 10 * kNsPerSecond;
constexpr int64_t kMostGrowthNs = 600 * kNsPerSecond;

constexpr const char* kTableSql = R"(
SELECT process.id, parent_process_id, pid, name, cmdline, cgroup, first_seen_ns, ended_ns, exit_status, exit_signal,
  end_reason, peak_rss_bytes, last.time_ns, last.rss_bytes, last.anon_bytes, last.file_bytes, last.shmem_bytes,
  last.swap_bytes, last.hugetlb_bytes, last.oom_score, last.threads
FROM (SELECT * FROM process WHERE run_id = ?1
  ORDER BY ?3 AND end_reason = 'running' DESC, peak_rss_bytes DESC NULLS LAST, id LIMIT ?2) AS process
LEFT JOIN process_sample AS last ON last.process_id = process.id AND last.time_ns = (
  SELECT time_ns FROM process_sample WHERE process_id = process.id AND rss_bytes IS NOT NULL
  ORDER BY time_ns DESC LIMIT 1)
ORDER BY ?3 AND end_reason = 'running' DESC, peak_rss_bytes DESC NULLS LAST, process.id)";

LiveProcess process_from(const Statement& row) {
  LiveProcess process;
  process.id = row.integer(0).value_or(0);
  process.parent_process_id = row.integer(1);
  process.pid = row.integer(2).value_or(0);
  process.name = row.text_or(3);
  process.cmdline = optional_text(row, 4);
  process.cgroup = optional_text(row, 5);
  process.first_seen_ns = row.integer(6).value_or(0);
  process.ended_ns = row.integer(7);
  process.exit_status = row.integer(8);
  process.exit_signal = row.integer(9);
  process.end_reason = end_reason_from(row.text_or(10));
  process.peak_rss_bytes = row.integer(11);
  process.last.time_ns = row.integer(12).value_or(0);
  process.last.rss_bytes = row.integer(13);
  process.last.anon_bytes = row.integer(14);
  process.last.file_bytes = row.integer(15);
  process.last.shmem_bytes = row.integer(16);
  process.last.swap_bytes = row.integer(17);
  process.last.hugetlb_bytes = row.integer(18);
  process.last.oom_score = row.integer(19);
  process.last.threads = row.integer(20);
  return process;
}

Status ask_processes(Database& database, size_t most, LiveTable& table) {
  Status status = database.each(kTableSql,
                                {Nullable(table.run.id), Nullable(static_cast<int64_t>(most)),
                                 Nullable(table.run.state == RunState::running ? 1 : 0)},
                                [&](const Statement& row) { table.processes.push_back(process_from(row)); });
  if (!status) return status;
  const Result<Nullable> running = database.integer(
      "SELECT count(*) FROM process WHERE run_id = ? AND end_reason = 'running'", {Nullable(table.run.id)});
  if (!running) return running.error();
  table.running_count = running->value_or(0);
  if (table.run.state == RunState::running) return Ok{};
  table.running_count = 0;
  for (LiveProcess& process : table.processes) {
    if (process.end_reason == EndReason::running) process.end_reason = EndReason::unseen;
  }
  return Ok{};
}

Status ask_surroundings(Database& database, LiveTable& table) {
  const std::vector<SqlValue> run = {Nullable(table.run.id)};
  Status status = database.each(
      "SELECT path, current_bytes, limit_bytes FROM cgroup JOIN cgroup_sample ON cgroup_id = cgroup.id AND "
      "time_ns = (SELECT max(time_ns) FROM cgroup_sample WHERE cgroup_id = cgroup.id) WHERE run_id = ? "
      "ORDER BY cgroup.id LIMIT 1000",
      run, [&](const Statement& row) {
        table.cgroups.push_back({row.text_or(0), row.integer(1), row.integer(2)});
      });
  if (!status) return status;
  status = database.each(
      "SELECT mem_total_bytes, mem_available_bytes FROM host_sample WHERE run_id = ? ORDER BY time_ns DESC "
      "LIMIT 1",
      run, [&](const Statement& row) {
        table.mem_total_bytes = row.integer(0);
        table.mem_available_bytes = row.integer(1);
      });
  if (!status) return status;
  return database.each(
      "SELECT coalesce(sum(kind IN ('late_tick', 'missed_ticks')), 0), coalesce(sum(CASE WHEN kind IN "
      "('event_loss', 'queue_overflow') THEN coalesce(lost_count, 1) ELSE 0 END), 0) FROM gap WHERE run_id = "
      "?",
      run, [&](const Statement& row) {
        table.late_count = row.integer(0).value_or(0);
        table.lost_count = row.integer(1).value_or(0);
      });
}

std::optional<double> slope_of(const std::vector<std::pair<int64_t, int64_t>>& points) {
  if (points.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& [time_ns, bytes] : points) {
    mean_x += static_cast<double>(time_ns - points.front().first) / 1e9 / count;
    mean_y += static_cast<double>(bytes) / count;
  }
  double together = 0;
  double spread = 0;
  for (const auto& [time_ns, bytes] : points) {
    const double x = static_cast<double>(time_ns - points.front().first) / 1e9 - mean_x;
    together += x * (static_cast<double>(bytes) - mean_y);
    spread += x * x;
  }
  if (spread <= 0) return std::nullopt;
  return together / spread;
}

Status ask_growth(Database& database, LiveTable& table) {
  Result<Statement> before = database.prepare(
      "SELECT time_ns, rss_bytes FROM process_sample WHERE process_id = ?1 AND time_ns <= ?2 AND rss_bytes "
      "IS NOT NULL ORDER BY time_ns DESC LIMIT 1");
  if (!before) return before.error();
  const int64_t span_ns = std::clamp(kGrowthSteps * table.run.interval_ns, kLeastGrowthNs, kMostGrowthNs);
  for (LiveProcess& process : table.processes) {
    if (process.end_reason != EndReason::running || !process.last.rss_bytes.has_value()) continue;
    std::vector<std::pair<int64_t, int64_t>> points;
    for (int64_t step = 0; step < kGrowthPoints; ++step) {
      const int64_t wanted_ns = process.last.time_ns - span_ns * step / (kGrowthPoints - 1);
      if (!points.empty() && points.back().first <= wanted_ns) continue;
      before->bind(1, process.id);
      before->bind(2, wanted_ns);
      const Result<bool> found = before->step();
      if (!found) return found.error();
      if (!*found) break;
      points.emplace_back(before->integer(0).value_or(0), before->integer(1).value_or(0));
      before->reset();
    }
    process.growth_bytes_per_s = slope_of(points);
  }
  return Ok{};
}

void find_room(LiveTable& table) {
  for (LiveProcess& process : table.processes) {
    if (process.end_reason != EndReason::running) continue;
    process.room_bytes = table.mem_available_bytes;
    process.room_of = table.mem_available_bytes.has_value() ? "host" : "";
    for (const LiveCgroup& cgroup : table.cgroups) {
      if (cgroup.path != process.cgroup || !cgroup.limit_bytes.has_value() ||
          !cgroup.current_bytes.has_value())
        continue;
      const int64_t room = std::max<int64_t>(0, cgroup.limit_bytes.value() - cgroup.current_bytes.value());
      if (process.room_bytes.has_value() && process.room_bytes.value() <= room) continue;
      process.room_bytes = room;
      process.room_of = cgroup.path;
    }
  }
}

}  // namespace

std::optional<double> LiveProcess::seconds_to_limit() const {
  constexpr double least_growth = 1024;  // below a KiB/s it stands still
  if (!growth_bytes_per_s || *growth_bytes_per_s < least_growth || !room_bytes.has_value())
    return std::nullopt;
  return static_cast<double>(room_bytes.value()) / *growth_bytes_per_s;
}

Result<LiveTable> read_live_table(Database& database, int64_t run_id, size_t most) {
  std::optional<Transaction> snapshot;
  if (!database.in_transaction()) {
    Result<Transaction> begun = Transaction::begin_reading(database);
    if (!begun) return begun.error();
    snapshot.emplace(std::move(*begun));
  }
  Result<Run> run = get_run(database, run_id);
  if (!run) return run.error();
  LiveTable table;
  table.run = *std::move(run);
  Status status = ask_processes(database, most, table);
  if (status) status = ask_surroundings(database, table);
  if (status) status = ask_growth(database, table);
  if (!status) return status.error();
  find_room(table);
  return table;
}

}  // namespace memlog
