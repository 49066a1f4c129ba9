// SPDX-License-Identifier: Apache-2.0
// The memory lines of /proc/PID/status.
#pragma once

#include <string_view>

#include "model/nullable.h"

namespace memlog {

// NULL where the text has no such line: a zombie, a kernel thread and a leader that has exited have no Vm*
// line at all. The counts are exact where the kernel's are (statm and status sum the per-CPU counters).
struct StatusFields {
  Nullable rss_bytes;  // VmRSS = anon + file + shmem; hugetlb pages are in none of them
  Nullable anon_bytes;
  Nullable file_bytes;
  Nullable shmem_bytes;
  Nullable swap_bytes;
  Nullable hugetlb_bytes;
  Nullable hwm_bytes;
  Nullable data_bytes;
  Nullable page_table_bytes;
  Nullable threads;  // of the whole group; counts a leader that has exited until the group has ended
};

// Any text gives a value. A last line without its newline may be cut and is not taken. One pass, which ends
// at the "Threads:" line, the last that is needed.
StatusFields parse_status(std::string_view text);

}  // namespace memlog
