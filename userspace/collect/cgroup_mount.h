// SPDX-License-Identifier: Apache-2.0
// Where the memory controller's hierarchy is mounted, and finding cgroups in it: by path, by id, by argument.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memlog {

// The mounted hierarchy that has the memory controller.
struct CgroupMount {
  std::string directory;  // "/sys/fs/cgroup/memory"
  std::string root;       // path inside the hierarchy that `directory` shows ("/" but in a container)
  int version = 2;
};
// From the text of /proc/self/mountinfo; v1 with the memory option wins over v2, a mount of the whole
// hierarchy over one of a part. nullopt: no memory cgroups here.
std::optional<CgroupMount> parse_cgroup_mount(std::string_view mountinfo);
// The same from /proc/self/mountinfo itself. `proc` is the root of a proc file system.
std::optional<CgroupMount> read_cgroup_mount(const std::string& proc);
// The directory of the cgroup `path` (as in /proc/PID/cgroup) under the mount; nullopt where the mount does
// not show it, or it is no absolute path without "..".
std::optional<std::string> cgroup_directory(const CgroupMount& mount, std::string_view path);
// The cgroup path of a directory given by the user: a path under the mount, or already a cgroup path (with or
// without its leading '/'). The cgroup exists.
Result<std::string> cgroup_path_from_argument(const CgroupMount& mount, std::string_view argument);
// The path whose directory has this inode number (the kernel's cgroup id). By file handle where the process
// may (root), else by a walk of at most kCgroupsWalked directories.
Result<std::string> cgroup_path_from_id(const CgroupMount& mount, uint64_t id);
// Pids in the cgroup and all its descendants, ascending, each once. Descendants that vanish meanwhile are
// passed over.
Result<std::vector<pid_t>> list_cgroup_pids(const CgroupMount& mount, std::string_view path);

inline constexpr size_t kCgroupsWalked = 65536;

}  // namespace memlog
