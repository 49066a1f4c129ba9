// SPDX-License-Identifier: Apache-2.0
#include "store/import_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/repair.h"
#include "store/run_tables.h"

namespace memlog {
namespace {

constexpr int64_t kPartNs = 50 * kNsPerMs;   // a transaction is held about so long
constexpr int64_t kPauseNs = 15 * kNsPerMs;  // longer than a waiting writer sleeps between two tries
constexpr int64_t kAskNs = kNsPerSecond;     // how often it is asked whether there is a recorder
constexpr int64_t kRowsAPart = 20'000;       // of a removal

Result<bool> has_recorder(Database& database) {
  bool found = false;
  const Status status = database.each(
      "SELECT boot_id, recorder_pid, recorder_start_ticks, recorder_pid_ns FROM run WHERE state = 'running'",
      {}, [&](const Statement& row) {
        found = found || recorder_may_live({row.text_or(0), row.integer(1).value_or(0),
                                            row.integer(2).value_or(0), row.integer(3).value_or(0)});
      });
  if (!status) return status.error();
  return found;
}

Result<std::vector<int64_t>> ids_of(Database& database, const char* table, int64_t run_id) {
  std::vector<int64_t> ids;
  const Status status =
      database.each(fmt::format("SELECT id FROM {} WHERE run_id = ?", table), {Nullable(run_id)},
                    [&](const Statement& row) { ids.push_back(row.integer(0).value_or(0)); });
  if (!status) return status.error();
  return ids;
}

// Runs `sql` in a transaction of its own.
Status run_alone(Database& database, const std::string& sql, const std::vector<SqlValue>& values) {
  Result<Transaction> transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  const Status status = database.each(sql, values, [](const Statement&) {});
  return status ? transaction->commit() : status;
}

// By parts of some thousand rows where the key is in the order of time.
Status remove_rows(Database& database, const RunTable& table, int64_t parent) {
  const std::string of_parent = fmt::format("FROM {} WHERE {} = ?1", table.name, table.parent_column);
  while (table.is_time_ordered) {
    const Result<Nullable> until =
        database.integer(fmt::format("SELECT time_ns {} ORDER BY time_ns LIMIT 1 OFFSET ?2", of_parent),
                         {Nullable(parent), Nullable(kRowsAPart)});
    if (!until) return until.error();
    if (!until->has_value()) break;
    const Status status =
        run_alone(database, fmt::format("DELETE {} AND time_ns < ?2", of_parent), {Nullable(parent), *until});
    if (!status) return status;
    usleep(kPauseNs / kNsPerUs);
  }
  return run_alone(database, "DELETE " + of_parent, {Nullable(parent)});
}

struct RunParts {
  std::vector<int64_t> processes, cgroups, devices;
};

Result<RunParts> parts_of(Database& database, int64_t run_id) {
  RunParts parts;
  for (const auto& [ids, table] :
       {std::pair{&parts.processes, "process"}, {&parts.cgroups, "cgroup"}, {&parts.devices, "device"}}) {
    Result<std::vector<int64_t>> found = ids_of(database, table, run_id);
    if (!found) return found.error();
    *ids = *std::move(found);
  }
  return parts;
}

template <typename Tables>
Status remove_all(Database& database, const Tables& tables, int64_t run_id, const RunParts& parts) {
  // Those that are pointed to go last.
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    const std::vector<int64_t> run = {run_id};
    const std::vector<int64_t>& parents = table->parent == RunPart::process  ? parts.processes
                                          : table->parent == RunPart::cgroup ? parts.cgroups
                                          : table->parent == RunPart::device ? parts.devices
                                                                             : run;
    for (const int64_t parent : parents) {
      if (const Status status = remove_rows(database, *table, parent); !status) return status;
    }
  }
  return Ok{};
}

Status remove_import(Database& database, int64_t run_id) {
  if (const Status status = database.execute("PRAGMA foreign_keys = OFF"); !status) return status;
  const Result<RunParts> parts = parts_of(database, run_id);
  if (!parts) return parts.error();
  const RunTable samples{"process_sample", RunPart::process, "process_id", "time_ns", false, true};
  for (const int64_t process : parts->processes) {
    if (const Status status = remove_rows(database, samples, process); !status) return status;
  }
  Status status = remove_all(database, kRunRollupTables, run_id, *parts);
  if (status) status = remove_all(database, kRunTables, run_id, *parts);
  if (status) status = run_alone(database, "DELETE FROM process WHERE run_id = ?", {Nullable(run_id)});
  if (status)
    status = run_alone(database, "DELETE FROM unfinished_import WHERE run_id = ?", {Nullable(run_id)});
  return status;
}

}  // namespace

Status RunRow::insert(Database& database) const {
  std::string names = "id";
  std::string marks = "?";
  std::vector<SqlValue> bound = {Nullable(id)};
  for (const auto& [column, value] : values) {
    names += ", " + column;
    marks += ", ?";
    if (const std::string* text = std::get_if<std::string>(&value)) {
      bound.emplace_back(std::string_view(*text));
    } else {
      bound.emplace_back(std::get<Nullable>(value));
    }
  }
  return database.each(fmt::format("INSERT INTO run ({}) VALUES ({})", names, marks), bound,
                       [](const Statement&) {});
}

Result<ImportSession> ImportSession::begin(Database& database) {
  // The rows of a run come before the run's own.
  if (const Status status = database.execute("PRAGMA foreign_keys = OFF"); !status) return status.error();
  ImportSession session(database);
  if (const Status status = session.begin_part(); !status) return status.error();
  return session;
}

ImportSession::~ImportSession() {
  if (is_published_ || run_ids_.empty()) return;
  transaction_.reset();
  // Where it fails, the next import does it.
  for (const int64_t run_id : run_ids_) static_cast<void>(remove_import(*database_, run_id));
}

Status ImportSession::begin_part() {
  Result<Transaction> transaction = Transaction::begin(*database_);
  if (!transaction) return transaction.error();
  transaction_.emplace(*std::move(transaction));
  part_began_ns_ = boot_now_ns();
  return Ok{};
}

Result<int64_t> ImportSession::reserve_run() {
  const Result<RecorderIdentity> self = this_process_identity();
  if (!self) return self.error();
  // AUTOINCREMENT gives no id twice.
  Status status = database_->execute(
      "INSERT INTO run (host, boot_id, kernel, command, target, interval_ns, started_ns, event_source, uid, "
      "page_size_bytes, cpu_count, memlog_version, recorder_pid, recorder_start_ticks, recorder_pid_ns) "
      "VALUES ('', '', '', '', '', 0, 0, 'import', 0, 0, 0, '', 0, 0, 0)");
  if (!status) return status.error();
  const int64_t id = database_->last_insert_id();
  status = database_->each("DELETE FROM run WHERE id = ?", {Nullable(id)}, [](const Statement&) {});
  if (!status) return status.error();
  Result<Statement> insert = database_->prepare(
      "INSERT INTO unfinished_import (run_id, boot_id, importer_pid, importer_start_ticks, importer_pid_ns) "
      "VALUES (?, ?, ?, ?, ?)");
  if (!insert) return insert.error();
  status = insert->run(id, self->boot_id, self->pid, self->start_ticks, self->pid_namespace);
  if (!status) return status.error();
  run_ids_.push_back(id);
  return id;
}

bool ImportSession::is_due() { return boot_now_ns() - part_began_ns_ >= kPartNs; }

Status ImportSession::give_way() {
  const int64_t now_ns = boot_now_ns();
  if (asked_ns_ == 0 || now_ns - asked_ns_ >= kAskNs) {
    const Result<bool> found = has_recorder(*database_);
    if (!found) return found.error();
    has_recorder_ = *found;
    asked_ns_ = now_ns;
  }
  if (has_recorder_) usleep(kPauseNs / kNsPerUs);
  return Ok{};
}

Status ImportSession::commit_part() {
  Status status = transaction_->commit();
  if (status) status = give_way();
  return status ? begin_part() : status;
}

Status ImportSession::publish(const std::vector<RunRow>& rows) {
  if (const Status status = commit_part(); !status) return status;
  for (const RunRow& row : rows) {
    if (const Status status = row.insert(*database_); !status) return status;
  }
  for (const int64_t run_id : run_ids_) {
    const Status status = database_->each("DELETE FROM unfinished_import WHERE run_id = ?",
                                          {Nullable(run_id)}, [](const Statement&) {});
    if (!status) return status;
  }
  Status status = transaction_->commit();
  is_published_ = status.ok();
  return status;
}

Status remove_broken_imports(Database& database) {
  std::vector<int64_t> broken;
  Status status = database.each(
      "SELECT run_id, boot_id, importer_pid, importer_start_ticks, importer_pid_ns FROM unfinished_import",
      {}, [&](const Statement& row) {
        if (!recorder_may_live({row.text_or(1), row.integer(2).value_or(0), row.integer(3).value_or(0),
                                row.integer(4).value_or(0)}))
          broken.push_back(row.integer(0).value_or(0));
      });
  if (!status) return status;
  for (const int64_t run_id : broken) {
    if (const Status removed = remove_import(database, run_id); !removed) return removed;
  }
  return Ok{};
}

}  // namespace memlog
