// SPDX-License-Identifier: Apache-2.0
// Which runs there are, and which one the user means.
//
// All questions go through a read connection and leave no transaction open, so that no reader ever holds the
// WAL back. A run that is stored as running but has no recorder any more is answered as interrupted, its end
// its last stored time, whether or not the file could be repaired.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/records.h"
#include "store/database.h"

namespace memlog {

struct Run {
  int64_t id = 0;
  std::optional<std::string> label;
  std::string host;
  std::string kernel;
  std::string command;
  std::string target;
  int64_t interval_ns = 0;
  int64_t started_ns = 0;
  Nullable ended_ns;         // NULL: running
  int64_t last_seen_ns = 0;  // ended_ns, or the latest stored time
  RunState state = RunState::running;
  std::optional<std::string> end_reason;
  std::string event_source;
  bool is_incomplete = false;
  std::string memlog_version;
  Nullable peak_rss_bytes;
  int64_t process_count = 0;
  int64_t oom_kill_count = 0;
  int64_t gap_count = 0;

  int64_t duration_ns() const { return last_seen_ns - started_ns; }
};

// Newest first; at most `limit` (0: all).
Result<std::vector<Run>> list_runs(Database& database, int64_t limit);

Result<Run> get_run(Database& database, int64_t run_id);

// A label must not be empty, 'last', or a number: those name a run already.
Status check_label(std::string_view label);

// The id of the run that `text` names: an id, a label (the newest run of that label) or "last". The error
// names what there is that looks like it.
Result<int64_t> find_run(Database& database, std::string_view text);

}  // namespace memlog
