// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a process's life, whatever the source that carried it here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "model/nullable.h"

namespace memlog {

enum class KernelEventKind : uint8_t { exec, fork, rename, exit, oom_victim };

// At the end of a process's last thread.
struct ExitFacts {
  int wait_status = 0;         // as wait(2) gives it: use WIFEXITED and its kin
  Nullable peak_rss_bytes;     // high-water mark of this image, from the kernel; NULL where it cannot be told
                               // apart from that of an earlier image of the same process
  bool is_oom_victim = false;  // signal->oom_mm was set
};

// At the moment the OOM killer chose a victim. Byte counts are the victim's own.
struct OomFacts {
  pid_t victim_tid = 0;
  Nullable total_vm_bytes;
  Nullable anon_bytes;
  Nullable file_bytes;
  Nullable shmem_bytes;
  Nullable swap_bytes;
  Nullable page_table_bytes;
  Nullable oom_score_adj;
  pid_t trigger_pid = 0;  // the process whose allocation could not be met
  std::string_view trigger_comm;
  uint64_t limit_cgroup_id = 0;  // the memory cgroup whose limit was hit; 0 = unknown or none (a global OOM)
  Nullable limit_bytes;
  Nullable usage_bytes;
};

// Views are valid during the sink's call only. Names are not NUL-terminated and may hold any byte but NUL.
struct KernelEvent {
  KernelEventKind kind = KernelEventKind::exec;
  int64_t boot_ns = 0;        // CLOCK_BOOTTIME, taken in the kernel
  pid_t pid = 0;              // the process (tgid); fork: the child
  pid_t parent_pid = 0;       // fork: the forking process; else the real parent
  int64_t start_boot_ns = 0;  // CLOCK_BOOTTIME at which the process's leader was made
  uint32_t uid = 0;
  uint64_t cgroup_id = 0;      // memory cgroup (kernfs id = inode number of its directory); 0 = unknown
  std::string_view comm;       // after the event (rename: the new name)
  std::string_view old_comm;   // exec that makes a process a target: the name before it; empty: not known
  std::string_view exe;        // exec: the file name that was executed, cut at 255 bytes
  std::string_view arguments;  // exec: argv, NUL-separated, cut at kArgumentBytes
  ExitFacts exit;              // kind == exit
  OomFacts oom;                // kind == oom_victim
};

}  // namespace memlog
