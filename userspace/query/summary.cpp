// SPDX-License-Identifier: Apache-2.0
#include "query/summary.h"

#include <array>

#include "query/stored_words.h"

namespace memlog {
namespace {

constexpr const char* kProcessSql = R"(
SELECT process.id, parent_process_id, pid, parent_pid, comm, name, exe, cmdline, cgroup, uid, first_seen_ns,
  first_seen_by, start_time_ns, ended_ns, exit_status, exit_signal, core_dumped, end_reason, peak_rss_bytes,
  peak_source, sample_count, last.time_ns, last.rss_bytes, last.swap_bytes, last.oom_score, last.oom_score_adj,
  last.threads, peak_device_bytes,
  iif(peak_device_bytes IS NULL, NULL, (SELECT sum(dram_bytes) FROM device_process_sample AS held
    WHERE held.process_id = process.id AND held.time_ns = (
      SELECT max(time_ns) FROM device_process_sample WHERE process_id = process.id)))
FROM process
LEFT JOIN process_sample AS last ON last.process_id = process.id AND last.time_ns = (
  SELECT time_ns FROM process_sample WHERE process_id = process.id AND rss_bytes IS NOT NULL
  ORDER BY time_ns DESC LIMIT 1)
WHERE run_id = ?
ORDER BY first_seen_ns, process.id)";

ProcessSummary process_from(const Statement& row) {
  ProcessSummary process;
  process.id = row.integer(0).value_or(0);
  process.parent_process_id = row.integer(1);
  process.pid = row.integer(2).value_or(0);
  process.parent_pid = row.integer(3);
  process.comm = row.text_or(4);
  process.name = row.text_or(5);
  process.exe = optional_text(row, 6);
  process.cmdline = optional_text(row, 7);
  process.cgroup = optional_text(row, 8);
  process.uid = row.integer(9);
  process.first_seen_ns = row.integer(10).value_or(0);
  process.first_seen_by = row.text_or(11);
  process.start_time_ns = row.integer(12);
  process.ended_ns = row.integer(13);
  process.exit_status = row.integer(14);
  process.exit_signal = row.integer(15);
  process.core_dumped = row.integer(16);
  process.end_reason = end_reason_from(row.text_or(17));
  process.peak_rss_bytes = row.integer(18);
  process.peak_source = peak_source_from(row.text_or(19));
  process.sample_count = row.integer(20).value_or(0);
  process.last.time_ns = row.integer(21).value_or(0);
  process.last.rss_bytes = row.integer(22);
  process.last.swap_bytes = row.integer(23);
  process.last.oom_score = row.integer(24);
  process.last.oom_score_adj = row.integer(25);
  process.last.threads = row.integer(26);
  process.peak_device_bytes = row.integer(27);
  process.last_device_bytes = row.integer(28);
  return process;
}

Status ask_processes(Database& database, RunSummary& summary) {
  Status status = database.each(kProcessSql, {Nullable(summary.run.id)}, [&](const Statement& row) {
    summary.processes.push_back(process_from(row));
  });
  if (summary.run.state != RunState::interrupted) return status;
  for (ProcessSummary& process : summary.processes) {
    if (process.end_reason == EndReason::running) process.end_reason = EndReason::unseen;
  }
  return status;
}

Status ask_oom_kills(Database& database, RunSummary& summary) {
  return database.each(
      "SELECT time_ns, process_id, pid, comm, anon_bytes, file_bytes, shmem_bytes, swap_bytes, "
      "oom_score_adj, "
      "trigger_pid, trigger_comm, constraint_kind, limit_cgroup, limit_bytes, usage_bytes "
      "FROM oom_kill WHERE run_id = ? ORDER BY time_ns, id",
      {Nullable(summary.run.id)}, [&](const Statement& row) {
        summary.oom_kills.push_back({row.integer(0).value_or(0), row.integer(1), row.integer(2).value_or(0),
                                     optional_text(row, 3), row.integer(4), row.integer(5), row.integer(6),
                                     row.integer(7), row.integer(8), row.integer(9), optional_text(row, 10),
                                     optional_text(row, 11), optional_text(row, 12), row.integer(13),
                                     row.integer(14)});
      });
}

Status ask_cgroups(Database& database, RunSummary& summary) {
  return database.each(
      "SELECT path, version, nullif(max(coalesce(max(peak_bytes), -1), coalesce(max(current_bytes), -1)), "
      "-1) AS peak, "
      "(SELECT current_bytes FROM cgroup_sample WHERE cgroup_id = cgroup.id AND current_bytes IS NOT NULL "
      "ORDER BY time_ns DESC LIMIT 1), min(limit_bytes), max(oom_kill_count) - min(oom_kill_count) "
      "FROM cgroup LEFT JOIN cgroup_sample ON cgroup_id = cgroup.id WHERE run_id = ? "
      "GROUP BY cgroup.id ORDER BY peak DESC NULLS LAST, path",
      {Nullable(summary.run.id)}, [&](const Statement& row) {
        summary.cgroups.push_back({row.text_or(0), row.integer(1).value_or(2), row.integer(2), row.integer(3),
                                   row.integer(4), row.integer(5)});
      });
}

Status ask_gaps(Database& database, RunSummary& summary) {
  return database.each(
      // Several processes may have a gap at one time: what overlaps counts once.
      "SELECT kind, count(*), sum(max(0, ended_ns - max(started_ns, coalesce(reached_ns, started_ns)))), "
      "max(ended_ns - started_ns), min(started_ns), max(ended_ns), sum(lost_count), "
      "(SELECT detail FROM gap AS latest WHERE latest.run_id = ?1 AND latest.kind = span.kind "
      "AND detail IS NOT NULL ORDER BY latest.rowid DESC LIMIT 1) "
      "FROM (SELECT *, max(ended_ns) OVER (PARTITION BY kind ORDER BY started_ns "
      "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ns FROM gap WHERE run_id = ?1) AS span "
      "GROUP BY kind ORDER BY kind",
      {Nullable(summary.run.id)}, [&](const Statement& row) {
        summary.gaps.push_back({row.text_or(0), row.integer(1).value_or(0), row.integer(2).value_or(0),
                                row.integer(3).value_or(0), row.integer(4).value_or(0),
                                row.integer(5).value_or(0), row.integer(6), optional_text(row, 7)});
      });
}

Status ask_notes(Database& database, RunSummary& summary) {
  return database.each(
      "SELECT time_ns, kind, coalesce(detail ->> '$.text', detail) FROM event "
      "WHERE run_id = ? AND kind IN ('note', 'mark', 'clock_step') ORDER BY time_ns, id LIMIT ?",
      {Nullable(summary.run.id), Nullable(RunSummary::kMostNotes)}, [&](const Statement& row) {
        summary.notes.push_back({row.integer(0).value_or(0), row.text_or(1), row.text_or(2)});
      });
}

Status ask_host(Database& database, RunSummary& summary) {
  HostExtremes& host = summary.host;
  Status status = database.each(
      "SELECT count(*), max(mem_total_bytes), max(swap_total_bytes), max(swap_total_bytes - "
      "swap_free_bytes), "
      "max(psi_some_ns) - min(psi_some_ns), max(psi_full_ns) - min(psi_full_ns) FROM host_sample WHERE "
      "run_id = ?",
      {Nullable(summary.run.id)}, [&](const Statement& row) {
        host.sample_count = row.integer(0).value_or(0);
        host.mem_total_bytes = row.integer(1);
        host.swap_total_bytes = row.integer(2);
        host.most_swap_used_bytes = row.integer(3);
        host.psi_some_ns = row.integer(4);
        host.psi_full_ns = row.integer(5);
      });
  if (!status) return status;
  return database.each(
      "SELECT mem_available_bytes, time_ns FROM host_sample WHERE run_id = ? AND mem_available_bytes IS NOT "
      "NULL "
      "ORDER BY mem_available_bytes, time_ns LIMIT 1",
      {Nullable(summary.run.id)}, [&](const Statement& row) {
        host.least_available_bytes = row.integer(0);
        host.least_available_at_ns = row.integer(1);
      });
}

Status ask_devices(Database& database, RunSummary& summary) {
  Result<std::vector<DeviceSummary>> devices = device_summaries(database, summary.run.id);
  if (!devices) return devices.error();
  summary.devices = *std::move(devices);
  if (summary.devices.empty()) return Ok{};
  Result<std::optional<std::string>> spread = device_spread(database, summary.run.id, summary.devices);
  if (!spread) return spread.error();
  summary.device_spread = *std::move(spread);
  return Ok{};
}

}  // namespace

Nullable ProcessSummary::duration_ns() const {
  const int64_t start_ns = start_time_ns.value_or(first_seen_ns);
  if (ended_ns.has_value()) return ended_ns.value() - start_ns;
  if (last.time_ns != 0) return last.time_ns - start_ns;
  return {};
}

Result<RunSummary> run_summary(Database& database, int64_t run_id) {
  const Result<Transaction> snapshot = Transaction::begin_reading(database);
  if (!snapshot) return snapshot.error();
  Result<Run> run = get_run(database, run_id);
  if (!run) return run.error();
  RunSummary summary;
  summary.run = *std::move(run);
  for (const auto ask :
       std::array{ask_processes, ask_oom_kills, ask_cgroups, ask_gaps, ask_notes, ask_host, ask_devices}) {
    if (const Status status = ask(database, summary); !status) return status.error();
  }
  return summary;
}

}  // namespace memlog
