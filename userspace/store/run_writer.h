// SPDX-License-Identifier: Apache-2.0
// RunWriter: the write connection of one recording.
//
// One write() is one transaction that begins when its records are all in hand, so the write lock is held for
// milliseconds and several recorders share a file. synchronous=FULL: what write() returned from survives
// power loss. Used by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "model/records.h"

namespace memlog {

class RunWriter {
 public:
  virtual ~RunWriter() = default;

  // Opens or makes the database at `path` and stores the run's row.
  static Result<std::unique_ptr<RunWriter>> begin(const std::string& path, const RunStart& run);

  virtual int64_t run_id() const = 0;
  // All or nothing. On an error the same records may be handed in again.
  virtual Status write(std::span<const Record> records) = 0;
  // Stores the run's end, its peak and the state "ended", and checkpoints the WAL.
  virtual Status end(const RunEnd& end) = 0;
  // Marks the run as incomplete: events were lost.
  virtual Status mark_incomplete() = 0;
};

}  // namespace memlog
