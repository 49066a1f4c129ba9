// SPDX-License-Identifier: Apache-2.0
// The recipe that `memlog trace` and `memlog run` share.
#pragma once

#include "cli/commands.h"
#include "collect/launcher.h"
#include "collect/target.h"

namespace memlog {

// The target that the options describe; usage errors are FatalErrors with status 2, a dead --pid exits 1.
Target target_from(const RecordOptions& options, bool children_by_default);

struct RecordingOutcome {
  int64_t run_id = 0;
  std::optional<int> launched_status;  // as wait(2) gives it
};

// Records until the end. `command` is empty, or is launched once everything is attached.
RecordingOutcome record(const RecordOptions& options, const Target& target);

}  // namespace memlog
