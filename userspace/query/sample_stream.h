// SPDX-License-Identifier: Apache-2.0
// SampleStream: every sample of a run by time, across its processes, in memory that grows with the processes
// that are alive at once and not with the samples.
//
// One cursor a living process, merged by time; those of one instant in the order of processes(). The caller
// holds a read transaction, so that all cursors see one state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace memlog {

class SampleStream {
 public:
  struct Process {
    int64_t id = 0;
    int64_t pid = 0;
    std::string name;
    Nullable parent_process_id;
    Nullable first_ns;  // of its first sample in the window; NULL: it has none
  };

  // Times of samples, both ends included.
  struct Window {
    int64_t from_ns = INT64_MIN + 1;  // INT64_MIN would be NULL
    int64_t to_ns = INT64_MAX;
  };

  // `columns` of process_sample. `database` outlives the stream.
  static Result<SampleStream> open(Database& database, int64_t run_id,
                                   const std::vector<std::string>& columns) {
    return open(database, run_id, columns, Window());
  }
  static Result<SampleStream> open(Database& database, int64_t run_id,
                                   const std::vector<std::string>& columns, const Window& window);

  // By their first samples; those without samples come last.
  const std::vector<Process>& processes() const { return processes_; }

  // false: the end.
  Result<bool> next();
  // Of the sample that next() came to.
  size_t process() const { return current_->process; }  // index into processes()
  int64_t time_ns() const { return current_->time_ns; }
  Nullable value(size_t column) const { return current_->samples.integer(static_cast<int>(column) + 1); }

 private:
  struct Cursor {
    int64_t time_ns = 0;
    size_t process = 0;
    Statement samples;
  };
  struct Later {
    bool operator()(const std::unique_ptr<Cursor>& a, const std::unique_ptr<Cursor>& b) const {
      return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->process > b->process;
    }
  };

  SampleStream() = default;
  Result<bool> step(Cursor& cursor) const;
  Status begin_processes();
  void put(std::unique_ptr<Cursor> cursor);
  std::unique_ptr<Cursor> take();

  Database* database_ = nullptr;
  std::string sql_;
  Window window_;
  std::vector<Process> processes_;
  size_t next_process_ = 0;  // whose cursor is not open yet
  std::unique_ptr<Cursor> current_;
  std::vector<std::unique_ptr<Cursor>> heap_;
  std::vector<Statement> spare_;
};

}  // namespace memlog
