// SPDX-License-Identifier: Apache-2.0
// Runs whose recorder died (kill -9, power loss): found by asking whether the recorder still lives.
#pragma once

#include <string>

#include "base/result.h"
#include "store/database.h"

namespace memlog {

// Names one process of one boot for good; stored with its run. Process ids and start times mean something
// inside one pid namespace only, hence pid_namespace (the inode number of /proc/PID/ns/pid).
struct RecorderIdentity {
  std::string boot_id;
  int64_t pid = 0;
  int64_t start_ticks = 0;  // /proc/PID/stat field 22
  int64_t pid_namespace = 0;
};
Result<RecorderIdentity> this_process_identity();

// false only where the recorder is known to be gone: another boot, or no such process in our own pid
// namespace. A process that cannot be judged from here (another namespace, hidepid) counts as alive.
bool recorder_may_live(const RecorderIdentity& recorder);

// The latest time at which the run stored anything; NULL: there is no such run.
Result<Nullable> last_stored_ns(Database& database, int64_t run_id);

// Every run that is 'running' without a recorder becomes 'interrupted'; its end is its last stored time, and
// its running processes end 'unseen'. One transaction, and none where there is nothing to do. The number of
// runs.
Result<int> mark_interrupted_runs(Database& database);

// A read-only connection, after marking interrupted runs and bringing an older file up to date where the file
// may be written.
Result<Database> open_for_reading(const std::string& path);

}  // namespace memlog
