// SPDX-License-Identifier: Apache-2.0
#include "store/run_writer.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <unordered_map>

#include "base/text.h"
#include "model/columns.h"
#include "store/database.h"
#include "store/device_rows.h"
#include "store/repair.h"
#include "store/rollup.h"
#include "store/row_ids.h"
#include "store/sample_rows.h"

namespace memlog {
namespace {

using OptionalText = std::optional<std::string>;

OptionalText clean(const OptionalText& text) {
  if (!text) return std::nullopt;
  return valid_utf8(*text);
}

OptionalText word_or_null(const char* word) {
  if (*word == '\0') return std::nullopt;
  return word;
}

struct Sql {
  Statement insert_process;
  Statement set_parent;
  Statement insert_name;
  Statement insert_changed_name;
  Statement set_image;
  Statement end_process;
  Statement add_samples;
  Statement insert_process_sample;
  Statement insert_host_sample;
  Statement insert_cgroup;
  Statement insert_cgroup_sample;
  Statement insert_event;
  Statement insert_oom_kill;
  Statement insert_gap;
  Statement insert_clock;
  Statement raise_run_peak;
  Statement set_incomplete;
  Statement end_run;
};

constexpr const char* kInsertRun =
    "INSERT INTO run (label, host, boot_id, kernel, command, target, interval_ns, started_ns, event_source, "
    "uid, "
    "page_size_bytes, cpu_count, memlog_version, recorder_pid, recorder_start_ticks, recorder_pid_ns) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

Result<Sql> prepare_all(Database& database) {
  Sql sql;
  const std::array<std::pair<Statement*, std::string>, 18> texts = {{
      {&sql.insert_process,
       "INSERT INTO process (run_id, pid, start_time_ns, start_ticks, parent_pid, parent_process_id, comm, "
       "name, exe, "
       "cmdline, cgroup, uid, namespace_pid, first_seen_ns, first_seen_by) "
       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&sql.set_parent, "UPDATE process SET parent_process_id = ?2 WHERE id = ?1"},
      {&sql.insert_name, "INSERT INTO process_name (process_id, time_ns, comm) VALUES (?, ?, ?)"},
      {&sql.insert_changed_name,
       "INSERT INTO process_name (process_id, time_ns, comm) "
       "SELECT id, ?2, ?3 FROM process WHERE id = ?1 AND comm <> ?3"},
      {&sql.set_image,
       "UPDATE process SET comm = ?2, name = ?3, exe = coalesce(?4, exe), cmdline = coalesce(?5, cmdline), "
       "cgroup = coalesce(?6, cgroup) WHERE id = ?1"},
      // The larger peak is the true one; of two equal ones the kernel's word counts.
      {&sql.end_process,
       "UPDATE process SET ended_ns = ?2, end_reason = ?3, exit_status = ?4, exit_signal = ?5, core_dumped = "
       "?6, "
       "peak_source = iif(?7 IS NULL OR ?7 < peak_rss_bytes, peak_source, ?8), "
       "peak_rss_bytes = iif(?7 IS NULL OR ?7 < peak_rss_bytes, peak_rss_bytes, ?7) WHERE id = ?1"},
      {&sql.add_samples,
       "UPDATE process SET sample_count = sample_count + ?2, "
       "peak_source = iif(?3 IS NULL OR ?3 <= peak_rss_bytes, peak_source, 'sampled'), "
       "peak_rss_bytes = iif(?3 IS NULL OR ?3 <= peak_rss_bytes, peak_rss_bytes, ?3) WHERE id = ?1"},
      {&sql.insert_process_sample, insert_sample_sql("process_sample", "process_id", kProcessColumns)},
      {&sql.insert_host_sample, insert_sample_sql("host_sample", "run_id", kHostColumns)},
      {&sql.insert_cgroup,
       "INSERT INTO cgroup (run_id, path, version) VALUES (?, ?, ?) "
       "ON CONFLICT (run_id, path) DO UPDATE SET version = excluded.version RETURNING id"},
      {&sql.insert_cgroup_sample, insert_sample_sql("cgroup_sample", "cgroup_id", kCgroupColumns)},
      // A detail that is not JSON is kept as text rather than lost with its whole transaction.
      {&sql.insert_event,
       "INSERT INTO event (run_id, time_ns, kind, process_id, detail) VALUES (?1, ?2, ?3, ?4, "
       "iif(json_valid(?5), ?5, json_object('text', ?5)))"},
      {&sql.insert_oom_kill,
       "INSERT INTO oom_kill (run_id, time_ns, process_id, pid, tid, comm, cmdline, uid, total_vm_bytes, "
       "anon_bytes, "
       "file_bytes, shmem_bytes, swap_bytes, page_table_bytes, oom_score_adj, trigger_pid, trigger_comm, "
       "constraint_kind, cgroup, limit_cgroup, limit_bytes, usage_bytes, evidence) "
       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
       "?21, ?22, "
       "iif(json_valid(?23), ?23, json_object('text', ?23)))"},
      {&sql.insert_gap,
       "INSERT INTO gap (run_id, started_ns, ended_ns, kind, process_id, lost_count, detail) "
       "VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&sql.insert_clock, "INSERT OR REPLACE INTO clock (run_id, boot_ns, wall_ns) VALUES (?, ?, ?)"},
      {&sql.raise_run_peak,
       "UPDATE run SET peak_rss_bytes = max(coalesce(peak_rss_bytes, ?2), ?2) WHERE id = ?1"},
      {&sql.set_incomplete, "UPDATE run SET incomplete = 1 WHERE id = ?"},
      {&sql.end_run, "UPDATE run SET state = 'ended', ended_ns = ?2, end_reason = ?3 WHERE id = ?1"},
  }};
  for (const auto& [statement, text] : texts) {
    Result<Statement> prepared = database.prepare(text);
    if (!prepared) return prepared.error();
    *statement = *std::move(prepared);
  }
  return sql;
}

class SqliteRunWriter final : public RunWriter {
 public:
  explicit SqliteRunWriter(Database database) : database_(std::move(database)) {}

  Status start(const RunStart& run);
  int64_t run_id() const override { return run_id_; }
  Status write(std::span<const Record> records) override;
  Status end(const RunEnd& end) override;
  Status discard() override;
  FilePlace place() const override { return database_.place(); }
  Result<std::string> rescue() override;
  Status mark_incomplete() override { return sql_.set_incomplete.run(run_id_); }

 private:
  // What a batch adds to a process's row.
  struct SampleTotals {
    int64_t count = 0;
    Nullable peak_bytes;
  };
  struct LateParent {
    int64_t child_id;
    ProcessKey parent_key;
  };

  Status store(const ProcessStart& record);
  Status store(const ProcessImage& record);
  Status store(const ProcessEnd& record);
  Status store(const ProcessSample& record);
  Status store(const HostSample& record);
  Status store(const CgroupStart& record);
  Status store(const CgroupSample& record);
  Status store(const Event& record);
  Status store(const OomKill& record);
  Status store(const Gap& record);
  Status store(const ClockReading& record);
  Status store(const DeviceStart& record) { return devices_.store(record); }
  Status store(const DeviceSample& record) { return devices_.store(record); }
  Status store(const DeviceChipSample& record) { return devices_.store(record); }
  Status store(const DeviceProcessSample& record) {
    return devices_.store(record, processes_.find(record.process_key));
  }
  Status store(const DeviceUserChange& record) { return devices_.store(record); }
  Status store(const DeviceTotal& record) { return devices_.store(record); }
  Status store_all(std::span<const Record> records);
  Status store_totals();
  Status store_late_parents();

  Database database_;
  Sql sql_;
  int64_t run_id_ = 0;
  RowIds processes_;
  RowIds cgroups_;
  RollupWriters rollups_;
  DeviceRows devices_;
  // Of the batch under way.
  std::unordered_map<int64_t, SampleTotals> totals_;
  std::vector<LateParent> late_parents_;
  Nullable batch_peak_bytes_;
};

Status SqliteRunWriter::start(const RunStart& run) {
  Result<Sql> sql = prepare_all(database_);
  if (!sql) return sql.error();
  sql_ = *std::move(sql);
  if (const Status status = rollups_.prepare(database_); !status) return status;
  Result<Statement> insert = database_.prepare(kInsertRun);
  if (!insert) return insert.error();
  Status status = insert->run(
      clean(run.label), valid_utf8(run.host), run.boot_id, valid_utf8(run.kernel), valid_utf8(run.command),
      valid_utf8(run.target), run.interval_ns, run.started_ns, run.event_source, run.uid, run.page_size_bytes,
      run.cpu_count, MEMLOG_VERSION, run.recorder_pid, run.recorder_start_ticks, run.recorder_pid_ns);
  if (!status) return status;
  run_id_ = database_.last_insert_id();
  return devices_.prepare(database_, run_id_, rollups_);
}

Status SqliteRunWriter::write(std::span<const Record> records) {
  if (records.empty()) return Ok{};
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) return transaction.error();
  Status status = store_all(records);
  if (status) status = transaction->commit();
  if (status) {
    processes_.commit();
    cgroups_.commit();
    devices_.commit();
    rollups_.commit();
  } else {
    processes_.roll_back();
    cgroups_.roll_back();
    devices_.roll_back();
    rollups_.roll_back();
  }
  return status;
}

Status SqliteRunWriter::store_all(std::span<const Record> records) {
  totals_.clear();
  late_parents_.clear();
  batch_peak_bytes_ = {};
  for (const Record& record : records) {
    const Status status = std::visit([&](const auto& value) { return store(value); }, record);
    if (!status) return status;
  }
  if (const Status status = store_totals(); !status) return status;
  if (const Status status = devices_.store_peaks(); !status) return status;
  return store_late_parents();
}

Status SqliteRunWriter::store_totals() {
  for (const auto& [id, total] : totals_) {
    if (const Status status = sql_.add_samples.run(id, total.count, total.peak_bytes); !status) return status;
  }
  if (!batch_peak_bytes_.has_value()) return Ok{};
  return sql_.raise_run_peak.run(run_id_, batch_peak_bytes_);
}

Status SqliteRunWriter::store_late_parents() {
  for (const LateParent& late : late_parents_) {
    const Nullable parent_id = processes_.find(late.parent_key);
    if (!parent_id.has_value()) continue;
    if (const Status status = sql_.set_parent.run(late.child_id, parent_id); !status) return status;
  }
  return Ok{};
}

Status SqliteRunWriter::store(const ProcessStart& record) {
  const std::string comm = valid_utf8(record.comm);
  const Nullable parent_id = processes_.find(record.parent_key);
  Status status = sql_.insert_process.run(
      run_id_, record.pid, record.start_time_ns, record.start_ticks, record.parent_pid, parent_id, comm,
      valid_utf8(record.name), clean(record.exe), clean(record.cmdline), clean(record.cgroup), record.uid,
      record.namespace_pid, record.first_seen_ns, word(record.first_seen_by));
  if (!status) return status;
  const int64_t id = database_.last_insert_id();
  processes_.add(record.key, id);
  if (record.parent_key != 0 && !parent_id.has_value()) late_parents_.push_back({id, record.parent_key});
  if (!record.old_comm.empty() && record.old_comm != record.comm) {
    status = sql_.insert_name.run(id, record.start_time_ns, valid_utf8(record.old_comm));
    if (!status) return status;
  }
  return sql_.insert_name.run(id, record.first_seen_ns, comm);
}

Status SqliteRunWriter::store(const ProcessImage& record) {
  const Nullable id = processes_.find(record.key);
  if (!id.has_value()) return Ok{};
  const std::string comm = valid_utf8(record.comm);
  Status status = sql_.insert_changed_name.run(id, record.time_ns, comm);
  if (!status) return status;
  return sql_.set_image.run(id, comm, valid_utf8(record.name), clean(record.exe), clean(record.cmdline),
                            clean(record.cgroup));
}

Status SqliteRunWriter::store(const ProcessEnd& record) {
  const Nullable id = processes_.find(record.key);
  if (!id.has_value()) return Ok{};
  processes_.mark_ended(record.key);
  rollups_.process.mark_ended(id.value());
  batch_peak_bytes_ = max_known(batch_peak_bytes_, record.peak_rss_bytes);
  return sql_.end_process.run(id, record.time_ns, word(record.reason), record.exit_status, record.exit_signal,
                              record.core_dumped, record.peak_rss_bytes,
                              word_or_null(word(record.peak_source)));
}

Status SqliteRunWriter::store(const ProcessSample& record) {
  const Nullable id = processes_.find(record.key);
  if (!id.has_value()) return Ok{};
  SampleTotals& totals = totals_[id.value()];
  ++totals.count;
  // The kernel's high-water mark lags behind the resident set until something is unmapped.
  totals.peak_bytes = max_known(totals.peak_bytes, max_known(record.rss_bytes, record.hwm_bytes));
  batch_peak_bytes_ = max_known(batch_peak_bytes_, totals.peak_bytes);
  const Status status = store_sample(sql_.insert_process_sample, id.value(), record, kProcessColumns);
  return status ? rollups_.process.add(id.value(), record, kProcessRollup) : status;
}

Status SqliteRunWriter::store(const HostSample& record) {
  const Status status = store_sample(sql_.insert_host_sample, run_id_, record, kHostColumns);
  return status ? rollups_.host.add(run_id_, record, kHostRollup) : status;
}

Status SqliteRunWriter::store(const CgroupStart& record) {
  Statement& insert = sql_.insert_cgroup;
  insert.bind(1, run_id_);
  insert.bind(2, valid_utf8(record.path));
  insert.bind(3, static_cast<int64_t>(record.version));
  const Result<bool> row = insert.step();
  if (!row) return row.error();
  const Nullable id = *row ? insert.integer(0) : Nullable();
  // A cgroup that was removed and made again is the same row.
  const Status status = insert.run();
  if (status && id.has_value()) cgroups_.add(record.key, id.value());
  return status;
}

Status SqliteRunWriter::store(const CgroupSample& record) {
  const Nullable id = cgroups_.find(record.key);
  if (!id.has_value()) return Ok{};
  const Status status = store_sample(sql_.insert_cgroup_sample, id.value(), record, kCgroupColumns);
  return status ? rollups_.cgroup.add(id.value(), record, kCgroupRollup) : status;
}

Status SqliteRunWriter::store(const Event& record) {
  return sql_.insert_event.run(run_id_, record.time_ns, word(record.kind), processes_.find(record.key),
                               valid_utf8(record.detail));
}

Status SqliteRunWriter::store(const OomKill& record) {
  return sql_.insert_oom_kill.run(
      run_id_, record.time_ns, processes_.find(record.key), record.pid, record.tid, clean(record.comm),
      clean(record.cmdline), record.uid, record.total_vm_bytes, record.anon_bytes, record.file_bytes,
      record.shmem_bytes, record.swap_bytes, record.page_table_bytes, record.oom_score_adj,
      record.trigger_pid, clean(record.trigger_comm), word_or_null(word(record.constraint)),
      clean(record.cgroup), clean(record.limit_cgroup), record.limit_bytes, record.usage_bytes,
      valid_utf8(record.evidence));
}

Status SqliteRunWriter::store(const Gap& record) {
  return sql_.insert_gap.run(run_id_, record.started_ns, record.ended_ns, word(record.kind),
                             processes_.find(record.key), record.lost_count,
                             word_or_null(valid_utf8(record.detail).c_str()));
}

Status SqliteRunWriter::store(const ClockReading& record) {
  return sql_.insert_clock.run(run_id_, record.boot_ns, record.wall_ns);
}

Status SqliteRunWriter::end(const RunEnd& end) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) return transaction.error();
  if (const Status status = rollups_.rebuild_disordered(); !status) return status;
  Status status = sql_.end_run.run(run_id_, end.time_ns, valid_utf8(end.reason));
  if (status) status = transaction->commit();
  if (status) database_.checkpoint();
  return status;
}

Status SqliteRunWriter::discard() {
  Result<Statement> remove = database_.prepare("DELETE FROM run WHERE id = ?");
  return remove ? remove->run(run_id_) : Status(remove.error());
}

Result<std::string> SqliteRunWriter::rescue() {
  constexpr int most_tries = 100;
  for (int tries = 1;; ++tries) {
    const std::string path = database_.path() + (tries == 1 ? "" : fmt::format(".rescued-{}", tries - 1));
    const Status copied = database_.copy_to(path);
    if (copied) return path;
    if (copied.error().code != EEXIST || tries == most_tries) return copied.error();
  }
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::begin(const std::string& path, const RunStart& run) {
  Result<Database> database = Database::open(path, Database::Mode::create);
  if (!database) return database.error();
  if (const Result<int> marked = mark_interrupted_runs(*database); !marked) return marked.error();
  auto writer = std::make_unique<SqliteRunWriter>(*std::move(database));
  if (const Status status = writer->start(run); !status) return status.error();
  return std::unique_ptr<RunWriter>(std::move(writer));
}

}  // namespace memlog
