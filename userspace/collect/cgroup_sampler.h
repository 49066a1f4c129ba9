// SPDX-License-Identifier: Apache-2.0
// CgroupSampler: one memory cgroup's readings, v1 or v2, through kept file descriptors.
//
// A kept descriptor is bound to its cgroup: after rmdir it answers ENODEV, also where a new cgroup has the
// path. v1's tightest limit is memory.stat's hierarchical_memory_limit, in which the kernel has taken the
// minimum over all ancestors, those that a container does not see included. v2 has no such number: memory.max
// of each visible ancestor is read.
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "collect/cgroup_mount.h"
#include "model/records.h"

namespace memlog {

class CgroupSampler {
 public:
  CgroupSampler(const CgroupMount& mount, std::string path);
  // Sets current, peak, tightest limit of all ancestors and oom_kill count (v2: memory.events.local); NULL
  // where the kernel has no such file or no limit is set; key and time_ns are the caller's. false: the cgroup
  // is gone (or the mount does not show it), and all is NULL.
  bool sample(CgroupSample& sample);
  const std::string& path() const { return path_; }

 private:
  int version_;
  std::string path_;
  std::string directory_;  // empty: not shown by the mount
  bool is_gone_ = false;
  OwnedFd current_;
  OwnedFd peak_;
  OwnedFd oom_;                  // memory.oom_control, memory.events.local
  std::vector<OwnedFd> limits_;  // v1: memory.stat; v2: memory.max, the cgroup's own first
};

}  // namespace memlog
