// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every difference between kernels (5.8 and later) that the programs must know, each with where it came from.
//
// Differences in the arguments of tracepoints cannot be bridged here, as the verifier checks them at load:
// both forms of such a program are shipped and user space loads the one that the kernel's BTF calls for,
// never its version.
// - sched_process_exit: (task); from 6.16 (task, bool group_dead), and moved in front of exit_mm(), so that
// mm
//   is still there.
// - oom:mark_victim: (int pid); from 6.9 (task, uid) by 72ba14deb40a, which went into 5.4, 5.15, 6.1 and 6.6
//   stable as well.
#ifndef MEMLOG_BPF_KERNEL_COMPAT_H
#define MEMLOG_BPF_KERNEL_COMPAT_H

// RSS counters, in pages. Up to 6.1 mm->rss_stat is a struct of atomics (with SPLIT_RSS_COUNTING up to 63
// more pages in each thread); from 6.2 (f1a7941243c1) an array of per-CPU counters, whose `count` alone is
// off by up to max(32, 2 x CPUs) pages a CPU: the CPUs' parts are added here too. Index constants, not a
// variable: a variable index is not relocated. The numbering has been the same since 4.5 (eca56ff906bd).
// The guard asks for the field: a type that is missing makes libbpf look through the modules' BTF, which
// takes CAP_SYS_ADMIN.
enum { kFilePages = 0, kAnonPages = 1, kSwapEntries = 2, kShmemPages = 3 };

// How far a CPU's copy of any per-CPU variable lies from the variable's own address is the same for all of
// them. This map tells it: its element's address on a CPU less the element's own. (A per-CPU ksym would tell
// it too, but kernels without CONFIG_KALLSYMS_ALL have none.)
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} per_cpu_anchor __weak SEC(".maps");

// Set by user space before loading: the verifier then walks the loop below no further than this machine
// needs.
const volatile int possible_cpus __weak = 1;
enum { kMaxCpus = 1024 };  // the verifier's limit on jumps

// A pointer as a number. The verifier lets no pointer be reckoned with: it takes the way over the stack,
// unseen.
static __always_inline __u64 address_of(const void* pointer) {
  __u64 address = 0;
  bpf_probe_read_kernel(&address, sizeof address, &pointer);
  return address;
}

static __noinline __s64 sum_percpu_counter(struct percpu_counter___smp* counter) {
  __s64 sum = BPF_CORE_READ(counter, count);
  if (!bpf_core_field_exists(counter->counters))
    return sum;  // without CONFIG_SMP the counter is `count` alone
  __u64 parts = (__u64)BPF_CORE_READ(counter, counters);
  __u64 anchor = (__u64)BPF_CORE_READ((struct bpf_array*)address_of(&per_cpu_anchor), pptrs[0]);
  __u32 slot = 0;
  for (int cpu = 0; cpu < kMaxCpus && cpu < possible_cpus; cpu++) {
    void* on_cpu = bpf_map_lookup_percpu_elem(&per_cpu_anchor, &slot, cpu);  // since 5.19
    if (!on_cpu) break;
    __u64 offset = address_of(on_cpu) - anchor;
    __s32 part = 0;  // and still 0 where the read fails
    bpf_probe_read_kernel(&part, sizeof part, (const void*)(parts + offset));
    sum += part;
  }
  return sum;
}

#define READ_RSS_COUNTER(mm, index)                                                               \
  ({                                                                                              \
    __s64 pages_;                                                                                 \
    if (bpf_core_field_exists(((struct mm_struct___plain*)(mm))->rss_stat.count))                 \
      pages_ = BPF_CORE_READ((struct mm_struct___plain*)(mm), rss_stat.count[index].counter);     \
    else                                                                                          \
      pages_ = sum_percpu_counter(                                                                \
          __builtin_preserve_access_index(&((struct mm_struct___percpu*)(mm))->rss_stat[index])); \
    pages_ < 0 ? 0 : pages_; /* the parts are read one after another */                           \
  })

// Whether the task is in the middle of an exec, whose own renaming says nothing that the exec's event does not.
static __always_inline bool is_in_execve(struct task_struct* task) {
  struct task_struct___in_execve* in_exec = (void*)task;
  return bpf_core_field_exists(in_exec->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(in_exec, in_execve);
}

// The memory cgroup's state of a task; NULL without CONFIG_CGROUPS or CONFIG_MEMCG. The number of the
// controller depends on the configuration. On cgroup v2 it is the nearest ancestor's that has the controller.
static __always_inline struct cgroup_subsys_state* memory_css_of(struct task_struct* task) {
  struct task_struct___cgroups* with_cgroups = (void*)task;
  struct cgroup_subsys_state* css = (void*)0;
  if (!bpf_core_field_exists(with_cgroups->cgroups) ||
      !bpf_core_enum_value_exists(enum cgroup_subsys_id___memory, memory_cgrp_id___memory))
    return css;
  struct css_set* set = BPF_CORE_READ(with_cgroups, cgroups);
  if (!set) return css;
  struct cgroup_subsys_state** all = __builtin_preserve_access_index(&set->subsys[0]);
  bpf_probe_read_kernel(&css, sizeof css,
                        all + bpf_core_enum_value(enum cgroup_subsys_id___memory, memory_cgrp_id___memory));
  return css;
}

// The inode number of the cgroup's directory; 0 without one.
static __always_inline __u64 css_cgroup_id(struct cgroup_subsys_state* css) {
  return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

// oom_lock is set in the whole subtree of the memory cgroup that ran into its limit. From 6.11 (e93d4166b40a)
// it exists only with CONFIG_MEMCG_V1.
static __always_inline bool has_oom_lock(struct mem_cgroup* memcg) {
  struct mem_cgroup___oom_lock* with_lock = (void*)memcg;
  return bpf_core_field_exists(with_lock->oom_lock) && BPF_CORE_READ(with_lock, oom_lock);
}

#endif
