// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include "cli/recording.h"

namespace memlog {

int run_run(const RecordOptions& options) {
  if (options.command.empty()) {
    throw FatalError(
        {"reading the arguments", "no command is given", "write it after --: memlog run -- make -j8"},
        FatalError::kBadUsage);
  }
  const RecordingOutcome outcome = record(options, target_from(options, /*children_by_default=*/true));
  if (!outcome.launched_status) return FatalError::kOwnFailure;
  const int status = *outcome.launched_status;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace memlog
