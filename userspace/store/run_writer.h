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
#include "store/database_file.h"

namespace memlog {

class RunWriter {
 public:
  virtual ~RunWriter() = default;

  // Opens or makes the database at `path`, marks runs whose recorder died as interrupted, and stores the
  // run's row.
  static Result<std::unique_ptr<RunWriter>> begin(const std::string& path, const RunStart& run);

  virtual int64_t run_id() const = 0;
  // All or nothing. On an error (its code is an errno: ENOSPC, EBUSY, EIO, ...) nothing is stored and the
  // same records may be handed in again. A process's or cgroup's start comes before the records that carry
  // its key, and keys are not used again. A sample with an unknown key is left out; an event, gap or OOM kill
  // is then stored without its process. The facts of a process that has ended are forgotten some thousands of
  // ends later.
  virtual Status write(std::span<const Record> records) = 0;
  // Stores the run's end and the state "ended", and checkpoints the WAL.
  virtual Status end(const RunEnd& end) = 0;
  // Takes the run's row back: it has begun nothing.
  virtual Status discard() = 0;
  // Whether the database is still what its path names, and where not, the rescue of a deleted one: a copy of all that
  // is stored, at `path` or beside it under the first free name, which is returned.
  virtual FilePlace place() const = 0;
  virtual Result<std::string> rescue() = 0;
  // Marks the run as incomplete: events were lost.
  virtual Status mark_incomplete() = 0;
};

}  // namespace memlog
