// SPDX-License-Identifier: Apache-2.0
// A run as a Timeline: what a picture of it shows. Reads roll-ups and, at the edges, samples: some thousands
// of rows whatever the run's length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/timeline.h"
#include "store/database.h"

namespace memlog {

struct TimelineRequest {
  std::optional<int64_t> since_ns;   // wall-clock ns; unset: the run's start
  std::optional<int64_t> until_ns;   // unset: the run's end
  int64_t points = 1200;             // about how many spans a series may have
  size_t processes = 8;              // how many are named; the others are summed
  std::vector<std::string> only;     // names (or comms) and pids; empty: all
  std::vector<std::string> metrics;  // columns of process_sample; empty: all that roll-ups keep
};

// One consistent snapshot, let go before the return. An error where there is no such run, a metric is not
// kept in roll-ups, the window is empty, or no process is called as `only` says.
Result<Timeline> read_timeline(Database& database, int64_t run_id, const TimelineRequest& request);

}  // namespace memlog
