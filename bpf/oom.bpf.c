// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The OOM killer's choice of a victim, of any process on the host: the kill of a stranger is part of the
// story too.
// clang-format off
#include "vmlinux/vmlinux.h"  // first: libbpf's headers need its types
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/maps.h"
// clang-format on

enum { kMaxCgroupDepth = 32 };

static __always_inline void clear_facts(struct BpfOomEvent* event) {
  event->total_vm_pages = BPF_UNKNOWN;
  event->anon_pages = BPF_UNKNOWN;
  event->file_pages = BPF_UNKNOWN;
  event->shmem_pages = BPF_UNKNOWN;
  event->swap_pages = BPF_UNKNOWN;
  event->page_table_bytes = BPF_UNKNOWN;
  event->limit_cgroup_id = 0;
  event->limit_pages = BPF_UNKNOWN;
  event->usage_pages = BPF_UNKNOWN;
  event->oom_score_adj = 0;
  event->reserved = 0;
}

// The memory cgroup whose limit was hit is the topmost one above the victim that holds the OOM lock; NULL:
// none does.
static __always_inline struct mem_cgroup* find_limit(struct cgroup_subsys_state* css) {
  struct mem_cgroup* limit = 0;
  for (int depth = 0; depth < kMaxCgroupDepth && css; depth++) {
    struct mem_cgroup* memcg = (void*)css - bpf_core_field_offset(struct mem_cgroup, css);
    if (has_oom_lock(memcg)) limit = memcg;
    css = BPF_CORE_READ(css, parent);
  }
  return limit;
}

static __always_inline void fill_limit(struct BpfOomEvent* event, struct task_struct* victim) {
  struct mem_cgroup* memcg = find_limit(memory_css_of(victim));
  if (!memcg) return;
  event->limit_cgroup_id = css_cgroup_id(__builtin_preserve_access_index(&memcg->css));
  event->usage_pages = BPF_CORE_READ(memcg, memory.usage.counter);
  event->limit_pages = BPF_CORE_READ(memcg, memory.max);
}

// `victim` is a thread of the process, not always its leader. Its own mm may be gone: oom_mm stays.
static __always_inline void fill_victim(struct BpfOomEvent* event, struct task_struct* victim) {
  fill_header(&event->header, kBpfOomVictim, victim);
  read_comm(event->header.comm, BPF_CORE_READ(victim, group_leader)->comm);
  event->victim_tid = BPF_CORE_READ(victim, pid);
  fill_limit(event, victim);
  struct mm_struct* mm = BPF_CORE_READ(victim, signal, oom_mm);
  if (!mm) mm = BPF_CORE_READ(victim, mm);
  if (!mm) return;
  // hiwater_rss and maxrss are stale at this point: only the counters tell.
  event->anon_pages = READ_RSS_COUNTER(mm, kAnonPages);
  event->file_pages = READ_RSS_COUNTER(mm, kFilePages);
  event->shmem_pages = READ_RSS_COUNTER(mm, kShmemPages);
  event->swap_pages = READ_RSS_COUNTER(mm, kSwapEntries);
  event->page_table_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
  event->total_vm_pages = BPF_CORE_READ(mm, total_vm);
  event->oom_score_adj = BPF_CORE_READ(victim, signal, oom_score_adj);
}

static __always_inline struct BpfOomEvent* begin_event(void) {
  struct BpfOomEvent* event = reserve_event(sizeof *event);
  if (!event) return 0;
  __builtin_memset(&event->header, 0, sizeof event->header);
  clear_facts(event);
  event->trigger_tgid = bpf_get_current_pid_tgid() >> 32;
  bpf_get_current_comm(event->trigger_comm, kBpfCommBytes);
  return event;
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_task, struct task_struct* victim) {
  struct BpfOomEvent* event = begin_event();
  if (!event) return 0;
  fill_victim(event, victim);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

// The older form names a thread by its id. Where that is the running one, which asked for the memory, all is
// known.
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_pid, int victim_tid) {
  struct BpfOomEvent* event = begin_event();
  if (!event) return 0;
  if ((__s32)bpf_get_current_pid_tgid() == victim_tid) {
    fill_victim(event, (struct task_struct*)bpf_get_current_task());
  } else {
    event->header.kind = kBpfOomVictim;
    event->header.boot_ns = bpf_ktime_get_boot_ns();
    event->victim_tid = victim_tid;
  }
  bpf_ringbuf_submit(event, 0);
  return 0;
}
