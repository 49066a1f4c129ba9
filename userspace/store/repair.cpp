// SPDX-License-Identifier: Apache-2.0
#include "store/repair.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

struct StatOfProcess {
  char state = '?';
  int64_t start_ticks = 0;
};

// The name in stat may hold anything, ")" too: what follows the last ")" is fields 3, 4, ...
std::optional<StatOfProcess> read_stat(const std::string& process) {
  const Result<std::string> text = read_small_file("/proc/" + process + "/stat");
  if (!text) return std::nullopt;
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return std::nullopt;
  const std::vector<std::string_view> fields = split(std::string_view(*text).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
  const std::optional<int64_t> start_ticks = parse_int(fields[19]);
  if (!start_ticks) return std::nullopt;
  return StatOfProcess{fields[0][0], *start_ticks};
}

Result<std::string> read_boot_id() {
  const Result<std::string> text = read_small_file("/proc/sys/kernel/random/boot_id");
  if (!text) return text.error();
  return std::string(trim(*text));
}

constexpr const char* kLastTimeSql = R"(
SELECT max(time_ns) FROM (
  SELECT started_ns AS time_ns FROM run WHERE id = ?1
  UNION ALL SELECT (SELECT max(time_ns) FROM process_sample WHERE process_id = process.id)
    FROM process WHERE run_id = ?1
  UNION ALL SELECT max(first_seen_ns) FROM process WHERE run_id = ?1
  UNION ALL SELECT max(ended_ns) FROM process WHERE run_id = ?1
  UNION ALL SELECT max(time_ns) FROM host_sample WHERE run_id = ?1
  UNION ALL SELECT (SELECT max(time_ns) FROM cgroup_sample WHERE cgroup_id = cgroup.id) FROM cgroup WHERE run_id = ?1
  UNION ALL SELECT max(time_ns) FROM event WHERE run_id = ?1
  UNION ALL SELECT max(time_ns) FROM oom_kill WHERE run_id = ?1
))";

Result<std::vector<int64_t>> find_orphaned_runs(Database& database) {
  std::vector<int64_t> orphaned;
  const Status status = database.each(
      "SELECT id, boot_id, recorder_pid, recorder_start_ticks, recorder_pid_ns FROM run WHERE state = "
      "'running'",
      {}, [&](const Statement& row) {
        const RecorderIdentity recorder{row.text_or(1), row.integer(2).value_or(0),
                                        row.integer(3).value_or(0), row.integer(4).value_or(0)};
        if (!recorder_may_live(recorder)) orphaned.push_back(row.integer(0).value_or(0));
      });
  if (!status) return status.error();
  return orphaned;
}

Status mark_interrupted(Database& database, int64_t run_id) {
  const Result<Nullable> last_ns = last_stored_ns(database, run_id);
  if (!last_ns) return last_ns.error();
  Status status =
      database.each("UPDATE run SET state = 'interrupted', ended_ns = ?2 WHERE id = ?1 AND state = 'running'",
                    {Nullable(run_id), *last_ns}, [](const Statement&) {});
  if (!status) return status;
  // A run that its recorder closed in this very moment keeps its processes as they are.
  return database.each(
      "UPDATE process SET end_reason = 'unseen' WHERE run_id = ?1 AND end_reason = 'running' "
      "AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND state = 'interrupted')",
      {Nullable(run_id)}, [](const Statement&) {});
}

}  // namespace

Result<RecorderIdentity> this_process_identity() {
  RecorderIdentity identity;
  Result<std::string> boot_id = read_boot_id();
  if (!boot_id) return boot_id.error();
  identity.boot_id = *std::move(boot_id);
  identity.pid = getpid();
  const std::optional<StatOfProcess> stat_of_self = read_stat("self");
  if (!stat_of_self) return Error{"reading /proc/self/stat", "not what a kernel writes", ""};
  identity.start_ticks = stat_of_self->start_ticks;
  struct stat status{};
  if (stat("/proc/self/ns/pid", &status) != 0) return errno_error("reading /proc/self/ns/pid", errno);
  identity.pid_namespace = static_cast<int64_t>(status.st_ino);
  return identity;
}

bool recorder_may_live(const RecorderIdentity& recorder) {
  const Result<RecorderIdentity> self = this_process_identity();
  if (!self) return true;
  if (recorder.boot_id != self->boot_id) return false;
  if (recorder.pid_namespace != self->pid_namespace) return true;
  if (recorder.pid <= 0) return false;
  if (const std::optional<StatOfProcess> found = read_stat(std::to_string(recorder.pid)))
    return found->start_ticks == recorder.start_ticks && found->state != 'Z' && found->state != 'X';
  // With hidepid another user's process is not in /proc, yet a signal finds it.
  return kill(static_cast<pid_t>(recorder.pid), 0) == 0 || errno == EPERM;
}

Result<Nullable> last_stored_ns(Database& database, int64_t run_id) {
  return database.integer(kLastTimeSql, {Nullable(run_id)});
}

Result<int> mark_interrupted_runs(Database& database) {
  const Result<std::vector<int64_t>> orphaned = find_orphaned_runs(database);
  if (!orphaned) return orphaned.error();
  if (orphaned->empty()) return 0;
  Result<Transaction> transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  for (const int64_t run_id : *orphaned) {
    if (const Status status = mark_interrupted(database, run_id); !status) return status.error();
  }
  if (const Status status = transaction->commit(); !status) return status.error();
  return static_cast<int>(orphaned->size());
}

Result<Database> open_for_reading(const std::string& path) {
  Result<Database> database = Database::open(path, Database::Mode::read);
  bool wants_repair = false;
  if (!database) {
    wants_repair = database.error().code == Database::kOlderSchema;
  } else {
    const Result<std::vector<int64_t>> orphaned = find_orphaned_runs(*database);
    wants_repair = orphaned && !orphaned->empty();
  }
  if (!wants_repair || access(path.c_str(), W_OK) != 0) return database;
  // Repairing is a service: where it fails, the reader works out the same answers by itself.
  {
    Result<Database> writable = Database::open(path, Database::Mode::write);
    if (writable) static_cast<void>(mark_interrupted_runs(*writable));
  }
  return database ? std::move(database) : Database::open(path, Database::Mode::read);
}

}  // namespace memlog
