// SPDX-License-Identifier: Apache-2.0
// ProcessSampler: one process's memory, read again and again through kept file descriptors.
//
// A kept descriptor is proof against pid reuse (a reaped process answers ESRCH, never a stranger's numbers)
// and costs a third of open+read+close. Where the process's leader thread has exited while others live, its
// files read zeros: the sampler then reads through a live thread. No smaps file is opened unless PSS was
// asked for.
#pragma once

#include <string>

#include "base/owned_fd.h"
#include "collect/read_budget.h"
#include "model/records.h"

namespace memlog {

enum class SampleOutcome : uint8_t {
  sampled,    // what could be read is set
  no_memory,  // a zombie or kernel thread: has no address space; memory fields are NULL, oom_score may be set
  unreadable,  // permission denied or another error: all NULL
  gone,        // reaped: nothing more will come
};

class ProcessSampler {
 public:
  struct Options {
    bool pss = false;        // read smaps_rollup within its time budget
    bool keep_files = true;  // false: open and close at each sample (descriptor limit reached)
  };

  ProcessSampler(std::string proc, pid_t pid, Options options);

  // Fills every field of `sample` that could be read (key and time_ns are the caller's); others become NULL.
  // `now_ns` is boot time and drives the budgets of the costly files (stat walks all threads; smaps_rollup
  // stalls the target).
  SampleOutcome sample(int64_t now_ns, ProcessSample& sample);
  bool keeps_files() const { return options_.keep_files; }

 private:
  std::string proc_;
  pid_t pid_ = 0;
  Options options_;
};

}  // namespace memlog
