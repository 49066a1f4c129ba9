// SPDX-License-Identifier: Apache-2.0
// Who a process is: the facts that do not change from tick to tick, read from /proc/PID.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/nullable.h"

namespace memlog {

struct ProcessFacts {
  pid_t pid = 0;
  int64_t start_ticks = 0;  // stat field 22: (boot id, pid, start_ticks) is the identity
  pid_t parent_pid = 0;
  char state = '?';
  int64_t threads = 0;  // the leader included, even when it has exited
  bool is_kernel_thread = false;
  std::string comm;                // 15 bytes at most
  std::optional<std::string> exe;  // readlink of exe; NULL: not ours to read, or a kernel thread
  std::optional<std::string>
      cmdline;                       // arguments joined by spaces; NULL: unreadable, zombie or kernel thread
  std::optional<std::string> argv0;  // the first argument
  std::optional<std::string> memory_cgroup;  // path in the hierarchy of the memory controller
  Nullable uid;                              // real uid
  Nullable namespace_pid;                    // innermost NSpid
};

// Fields of /proc/PID/stat. comm is cut at the LAST ')' of the text: it may itself hold ") R 1 (".
struct StatFields {
  std::string_view comm;
  char state = '?';
  pid_t parent_pid = 0;
  int64_t flags = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t cpu_ticks = 0;  // utime + stime
  int64_t threads = 0;
  int64_t start_ticks = 0;
};
Result<StatFields> parse_stat(std::string_view text);

// The path behind the memory controller in /proc/PID/cgroup: the v1 line that names "memory", else the v2
// line ("0::").
std::optional<std::string> parse_memory_cgroup(std::string_view text);

// `comm`, or the longer name it was cut from: the basename of exe or argv[0] where comm has 15 bytes and is
// its prefix.
std::string full_name(std::string_view comm, std::optional<std::string_view> exe,
                      std::optional<std::string_view> argv0);

// Everything above for one process. `proc` is the root of a proc file system ("/proc").
Result<ProcessFacts> read_process_facts(const std::string& proc, pid_t pid);

// The comm alone: one small read.
Result<std::string> read_comm(const std::string& proc, pid_t pid);

// All process ids under `proc`, ascending.
Result<std::vector<pid_t>> list_pids(const std::string& proc);

}  // namespace memlog
