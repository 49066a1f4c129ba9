// SPDX-License-Identifier: Apache-2.0
// Memory cgroups, v1 and v2: where the memory controller's hierarchy is mounted, and one cgroup's readings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "model/records.h"

namespace memlog {

// The mounted hierarchy that has the memory controller.
struct CgroupMount {
  std::string directory;  // "/sys/fs/cgroup/memory"
  std::string root;       // path inside the hierarchy that `directory` shows ("/" but in a container)
  int version = 2;
};
// From the text of /proc/self/mountinfo; v1 with the memory option wins over v2. nullopt: no memory cgroups
// here.
std::optional<CgroupMount> parse_cgroup_mount(std::string_view mountinfo);
// The directory of the cgroup `path` (as in /proc/PID/cgroup) under the mount; nullopt where the mount does
// not show it.
std::optional<std::string> cgroup_directory(const CgroupMount& mount, std::string_view path);
// The cgroup path of a directory given by the user: a path under the mount, or already a cgroup path.
Result<std::string> cgroup_path_from_argument(const CgroupMount& mount, std::string_view argument);
// The path whose directory has this inode number (the kernel's cgroup id).
Result<std::string> cgroup_path_from_id(const CgroupMount& mount, uint64_t id);
// Pids in the cgroup and all its descendants.
Result<std::vector<pid_t>> list_cgroup_pids(const CgroupMount& mount, std::string_view path);

class CgroupSampler {
 public:
  CgroupSampler(const CgroupMount& mount, std::string path);
  // Sets current, peak, tightest limit of all ancestors and oom_kill count (v2: memory.events.local); NULL
  // where the kernel has no such file or no limit is set. false: the cgroup is gone.
  bool sample(CgroupSample& sample);
  const std::string& path() const { return path_; }

 private:
  CgroupMount mount_;
  std::string path_;
};

}  // namespace memlog
