// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel's types as far as memlog's BPF programs read them; written by hand, so that a build needs no
// kernel BTF.
//
// Layout here means nothing: preserve_access_index makes libbpf relocate every access to the running kernel's
// layout. The rule that a test holds against the kernel's BTF: what a plain struct declares exists in every
// kernel since 5.8. A field or type that some kernel lacks is declared in a flavour (name___flavour; libbpf
// drops the suffix) and may be read only behind the exists-guards of bpf/kernel_compat.h.
#ifndef MEMLOG_VMLINUX_H
#define MEMLOG_VMLINUX_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned int uid_t;
enum { false = 0, true = 1 };

// From the BPF system call's interface (stable numbers).
enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
  BPF_ANY = 0,
  BPF_NOEXIST = 1,
  BPF_EXIST = 2,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;
typedef struct {
  __s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t;

typedef struct {
  uid_t val;
} kuid_t;

struct cred {
  kuid_t uid;
};

// Memory of one address space. Counts are pages unless named bytes.
struct mm_struct {
  atomic_long_t pgtables_bytes;
  unsigned long hiwater_rss;
  unsigned long total_vm;
  unsigned long arg_start;
  unsigned long arg_end;
};

struct mm_rss_stat___plain {
  atomic_long_t count[4];
};
struct mm_struct___plain {
  struct mm_rss_stat___plain rss_stat;
};

struct percpu_counter___smp {
  __s64 count;
  __s32* counters;
};
struct mm_struct___percpu {
  struct percpu_counter___smp rss_stat[4];
};

struct signal_struct {
  atomic_t live;
  int group_exit_code;
  unsigned int flags;
  unsigned long maxrss;
  short oom_score_adj;
  struct mm_struct* oom_mm;
};

struct css_set;

struct task_struct {
  struct mm_struct* mm;
  int exit_code;
  pid_t pid;
  pid_t tgid;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  __u64 start_boottime;
  const struct cred* real_cred;
  char comm[16];
  struct signal_struct* signal;
};
struct task_struct___cgroups {
  struct css_set* cgroups;
};
struct task_struct___in_execve {
  unsigned int in_execve : 1;
};

enum cgroup_subsys_id___memory { memory_cgrp_id___memory = 0 };

struct kernfs_node {
  __u64 id;
};
struct cgroup {
  struct kernfs_node* kn;
};
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};
struct css_set {
  struct cgroup_subsys_state* subsys[1];
};

struct page_counter {
  atomic_long_t usage;
  unsigned long max;
};
struct mem_cgroup {
  struct cgroup_subsys_state css;
  struct page_counter memory;
};
struct mem_cgroup___oom_lock {
  bool oom_lock;
};

struct linux_binprm {
  const char* filename;
};

// An array map. Of a per-CPU one, pptrs[i] is element i's address before a CPU's offset is added.
struct bpf_array {
  void* pptrs[1];
};

#pragma clang attribute pop

#endif
