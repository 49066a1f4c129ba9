// SPDX-License-Identifier: Apache-2.0
// What a dashboard shows of a run at this moment, and what has become new since it last looked.
//
// One row a process, the latest sample of each, how fast it grows and how far it is from the limit that it
// would hit first. Cheap enough to be asked each second: some index seeks a process, whatever the run's length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/timeline.h"
#include "query/runs.h"
#include "store/database.h"

namespace memlog {

struct LiveProcess {
  int64_t id = 0;
  Nullable parent_process_id;
  int64_t pid = 0;
  std::string name;
  std::optional<std::string> cmdline;
  std::optional<std::string> cgroup;
  int64_t first_seen_ns = 0;
  Nullable ended_ns;
  Nullable exit_status;
  Nullable exit_signal;
  EndReason end_reason = EndReason::running;
  Nullable peak_rss_bytes;
  ProcessSample last;  // the latest sample that knew the RSS; all NULL where there is none
  // Least-squares slope of the resident set over the latest samples; unset: it has ended or is too young.
  std::optional<double> growth_bytes_per_s;
  // What is left of the memory that it shares with others, the least of its cgroup's limit and the host's
  // available memory, and whose that is ("/jobs/small", "host").
  Nullable room_bytes;
  std::string room_of;

  // At the present growth; unset: it does not grow, or nothing limits it.
  std::optional<double> seconds_to_limit() const;
};

struct LiveCgroup {
  std::string path;
  Nullable current_bytes;
  Nullable limit_bytes;
};

struct LiveTable {
  Run run;
  std::vector<LiveProcess> processes;  // the running ones first, the largest peak first
  int64_t running_count = 0;
  std::vector<LiveCgroup> cgroups;  // their latest samples
  Nullable mem_total_bytes;         // the host's latest sample
  Nullable mem_available_bytes;
  int64_t late_count = 0;  // gaps by what they mean: ticks that came late or were missed,
  int64_t lost_count = 0;  // and events or records that were lost
};

// At most `most` processes. One consistent snapshot, let go before the return unless the caller holds one.
Result<LiveTable> read_live_table(Database& database, int64_t run_id, size_t most);

// How far a reader has got. Rows of one tick may be stored by two commits, hence a time for each process.
struct LiveCursor {
  int64_t time_ns = 0;  // samples up to here are known of processes that are not in `seen_ns`
  int64_t event_id = 0;
  int64_t kill_id = 0;
  int64_t gap_id = 0;
  std::unordered_map<int64_t, int64_t> seen_ns;
};

struct LiveUpdate {
  LiveTable table;
  // Only what is new: the resident sets of processes with new samples, events and gaps.
  Timeline tail;
  bool is_too_much = false;  // so much is new that the whole timeline should be asked for instead
};

// Moves `cursor` to what the answer holds. A cursor without a time begins at what is stored now.
Result<LiveUpdate> read_live_update(Database& database, int64_t run_id, size_t most, LiveCursor& cursor);

}  // namespace memlog
