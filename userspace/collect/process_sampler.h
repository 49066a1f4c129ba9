// SPDX-License-Identifier: Apache-2.0
// ProcessSampler: one process's memory, read again and again through kept file descriptors.
//
// A kept descriptor is proof against pid reuse (a reaped process answers ESRCH, never a stranger's numbers)
// and costs a third of open+read+close. Where the process's leader thread has exited while others live, its
// status has no memory lines: the sampler then reads through a live thread, and looks for another one when
// that ends. No smaps file is opened unless PSS was asked for.
//
// Read at each sample: status, oom_score, oom_score_adj. Faults and CPU time come from stat, which walks all
// threads (107 µs for 2000 of them): it is read within 0.1 % of the time, and between its reads these fields
// are NULL. The process's CPU clock walks them as well, is bound to a pid rather than to a process, and would
// leave the faults to stat anyway. PSS: smaps_rollup holds the target's mmap lock (9-38 ms for 2 GiB): 1 % of
// the time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"
#include "collect/process_status.h"
#include "collect/read_budget.h"
#include "model/records.h"

namespace memlog {

enum class SampleOutcome : uint8_t {
  sampled,     // what could be read is set
  no_memory,   // a zombie or kernel thread: has no address space; memory fields and threads are NULL, the
               // others are what the kernel still says
  unreadable,  // permission denied or another error: all NULL
  gone,        // reaped: nothing more will come
};

// Not thread-safe; different samplers may be used by different threads.
class ProcessSampler {
 public:
  struct Options {
    bool pss = false;        // read smaps_rollup within its time budget
    bool keep_files = true;  // false: open and close at each sample (descriptor limit reached)
    Nullable start_ticks =
        {};  // the process that is meant (stat field 22); NULL: the one that has the pid now
  };

  static constexpr int kKeptFiles = 4;  // descriptors of one sampler, 5 while its leader is dead

  // Binds to the process that has the pid now. Never fails: sample() tells.
  ProcessSampler(std::string proc, pid_t pid, Options options);

  // Fills every field of `sample` that could be read (key and time_ns are the caller's); others become NULL.
  // `now_ns` is boot time and drives the budgets of the costly files. Allocates nothing where files are kept
  // and all goes well.
  SampleOutcome sample(int64_t now_ns, ProcessSample& sample);
  // errno behind the last `unreadable`.
  int last_error() const { return last_error_; }
  bool keeps_files() const { return options_.keep_files; }

 private:
  int open_files();
  int check_identity(int process_fd);
  void close_files();
  SampleOutcome sample_memory(ProcessSample& sample);
  bool read_live_thread(StatusFields& fields);
  bool find_live_thread(StatusFields& fields);
  bool is_still_bound() const;
  void sample_stat(int64_t now_ns, ProcessSample& sample);
  void sample_pss(int64_t now_ns, ProcessSample& sample);

  std::string proc_;
  pid_t pid_ = 0;
  Options options_;
  OwnedFd status_;
  OwnedFd oom_score_;
  OwnedFd oom_score_adj_;
  OwnedFd stat_;
  OwnedFd thread_status_;  // of a live thread, while the leader is dead
  pid_t thread_ = 0;
  bool is_gone_ = false;
  int last_error_ = 0;
  int64_t ns_per_tick_ = 0;
  ReadBudget stat_budget_{0.001};
  ReadBudget pss_budget_{0.01};
};

}  // namespace memlog
