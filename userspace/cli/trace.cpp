// SPDX-License-Identifier: Apache-2.0
#include "cli/recording.h"

namespace memlog {

int run_trace(const RecordOptions& options) {
  if (options.names.empty() && options.pids.empty() && options.match.empty() && options.cgroup.empty() &&
      options.devices.empty()) {
    throw FatalError(
        {"reading the arguments", "nothing to trace is named",
         "say which processes: --name worker, --pid 123, --match 'python.*train' or --cgroup PATH"},
        FatalError::kBadUsage);
  }
  record(options, target_from(options, /*children_by_default=*/false));
  return 0;
}

}  // namespace memlog
