// SPDX-License-Identifier: Apache-2.0
#include "collect/bpf_kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

namespace memlog {
namespace {

constexpr const char* kKernelBtf = "/sys/kernel/btf/vmlinux";
constexpr const char* kPrivilegeHint =
    "run it with sudo, or allow it once: sudo setcap cap_bpf,cap_perfmon+ep \"$(command -v memlog)\"";
constexpr size_t kLogTailBytes = 600;
// Numbers of <linux/capability.h>; its own names hide behind macros, and older copies lack the last two.
constexpr int kCapSysAdmin = 21;
constexpr int kCapPerfmon = 38;
constexpr int kCapBpf = 39;

// Prototype of a tracepoint: its first argument's kind and how many there are, the hidden `void *` not
// counted.
struct Prototype {
  int arguments = 0;
  bool first_is_pointer = false;
};

std::optional<Prototype> find_prototype(const btf* types, const std::string& tracepoint) {
  const int id = btf__find_by_name_kind(types, ("btf_trace_" + tracepoint).c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* pointer = btf__type_by_id(types, btf__type_by_id(types, static_cast<uint32_t>(id))->type);
  if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
  const btf_type* function = btf__type_by_id(types, pointer->type);
  if (function == nullptr || !btf_is_func_proto(function) || btf_vlen(function) < 2) return std::nullopt;
  const btf_type* first = btf__type_by_id(types, btf_params(function)[1].type);
  return Prototype{btf_vlen(function) - 1, first != nullptr && btf_is_ptr(first)};
}

// Whether the thread may use the capability in the first user namespace's eyes or only in its own cannot be
// told from here: where both are held and the kernel still refuses, the hint names the other causes.
bool has_capability(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  return (sets[capability / 32].effective >> (capability % 32)) & 1U;
}

bool may_load_programs() {
  return has_capability(kCapSysAdmin) || (has_capability(kCapBpf) && has_capability(kCapPerfmon));
}

std::string_view last_part(std::string_view text, size_t limit) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() <= limit) return text;
  text.remove_prefix(text.size() - limit);
  const size_t line = text.find('\n');
  return line == std::string_view::npos ? text : text.substr(line + 1);
}

}  // namespace

Result<TracepointForms> read_tracepoint_forms() {
  const std::string doing = "looking for the kernel's tracepoints";
  if (access(kKernelBtf, R_OK) != 0) {
    return Error{
        doing, fmt::format("this kernel has no type information ({} is missing)", kKernelBtf),
        "a kernel built with CONFIG_DEBUG_INFO_BTF=y has it, as those of all current distributions are",
        ENOENT};
  }
  const std::unique_ptr<btf, decltype(&btf__free)> types(btf__parse(kKernelBtf, nullptr), btf__free);
  if (!types) {
    Error error = errno_error(doing, errno);
    error.reason = fmt::format("cannot use {}: {}", kKernelBtf, error.reason);
    return error;
  }
  for (const char* needed :
       {"sched_process_exec", "sched_process_fork", "task_rename", "sched_process_exit"}) {
    if (!find_prototype(types.get(), needed))
      return Error{doing, fmt::format("this kernel has no tracepoint {}", needed),
                   "Linux 5.8 or later has it", 0};
  }
  const std::optional<Prototype> oom = find_prototype(types.get(), "mark_victim");
  TracepointForms forms;
  forms.exit_has_group_dead = find_prototype(types.get(), "sched_process_exit")->arguments >= 2;
  forms.has_oom = oom.has_value();
  forms.oom_has_task = oom && oom->first_is_pointer;
  return forms;
}

Error bpf_error(std::string doing, int code, const std::string& last_warning,
                const std::string& verifier_log) {
  Error error = errno_error(std::move(doing), -code);
  if (code == -EPERM) {
    error.reason = may_load_programs() ? "the kernel refuses BPF programs although the capabilities are there"
                                       : "not permitted: CAP_BPF and CAP_PERFMON are needed";
    error.hint =
        may_load_programs()
            ? "a user namespace, kernel lockdown or a seccomp filter does this: run it on the host itself"
            : kPrivilegeHint;
    return error;
  }
  if (const std::string_view log = last_part(verifier_log, kLogTailBytes); !log.empty()) {
    error.reason += fmt::format("; the kernel's verifier says: {}", log);
  } else if (const std::string_view warning = last_part(last_warning, kLogTailBytes); !warning.empty()) {
    error.reason += fmt::format(" ({})", warning);
  }
  if (!verifier_log.empty() || code == -EINVAL)
    error.hint =
        "memlog does not know this kernel: please report the lines above with the output of uname -a";
  return error;
}

}  // namespace memlog
