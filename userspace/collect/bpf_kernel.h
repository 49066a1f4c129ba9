// SPDX-License-Identifier: Apache-2.0
// What the running kernel offers to BPF programs, and what a refusal means in words.
#pragma once

#include <string>

#include "base/result.h"

namespace memlog {

// Which form of a tracepoint's arguments this kernel has. Decided from its BTF: stable kernels have the new
// form of mark_victim too, and the program for the wrong form loads without an error and reads nonsense.
struct TracepointForms {
  bool exit_has_group_dead = false;  // sched_process_exit(task, group_dead), not (task)
  bool oom_has_task = false;         // mark_victim(task, uid), not (int pid)
  bool has_oom = false;              // mark_victim exists at all
};

// The error says whether the kernel has no BTF or which tracepoint is missing.
Result<TracepointForms> read_tracepoint_forms();

// The Error for a failed open, load or attach. `code` is libbpf's negative answer. `last_warning` is libbpf's
// own last line and `verifier_log` what the kernel's verifier wrote; both may be empty. Only the log's tail
// is kept: the verdict stands at its end.
Error bpf_error(std::string doing, int code, const std::string& last_warning,
                const std::string& verifier_log);

}  // namespace memlog
