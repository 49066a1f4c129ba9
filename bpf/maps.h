// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The maps that all programs share, and the two things done with them: emit an event, know a process.
// Weak, so that the linker makes one of each out of every file's copy.
#ifndef MEMLOG_BPF_MAPS_H
#define MEMLOG_BPF_MAPS_H

#include "bpf/events.h"
#include "bpf/kernel_compat.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 512 * 1024);  // bytes; user space may set another power of two before loading
} events __weak SEC(".maps");

// The ring buffer has no loss counter of its own. One slot: events that could not be delivered, per CPU.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} lost_events __weak SEC(".maps");

// Names whose processes become tracked.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMaxComms);
  __type(key, struct BpfComm);
  __type(value, __u8);
} comms __weak SEC(".maps");

// Processes of which every event is sent. Preallocated: an entry is made in the middle of a fork.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, kBpfMaxTracked);
  __type(key, __s32);
  __type(value, struct BpfTrackedProcess);
} tracked_processes __weak SEC(".maps");

static __always_inline void count_lost(void) {
  __u32 slot = 0;
  __u64* lost = bpf_map_lookup_elem(&lost_events, &slot);
  if (lost) *lost += 1;
}

// Room for one record, or NULL and one loss counted.
static __always_inline void* reserve_event(__u64 size) {
  void* event = bpf_ringbuf_reserve(&events, size, 0);
  if (!event) count_lost();
  return event;
}

// Everything but comm, of the process that `task` (any of its threads) belongs to.
static __always_inline void fill_header(struct BpfEventHeader* header, enum BpfEventKind kind,
                                        struct task_struct* task) {
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  header->kind = kind;
  header->tgid = BPF_CORE_READ(task, tgid);
  header->parent_tgid = BPF_CORE_READ(leader, real_parent, tgid);
  header->uid = BPF_CORE_READ(task, real_cred, uid.val);
  header->boot_ns = bpf_ktime_get_boot_ns();
  header->start_boot_ns = BPF_CORE_READ(leader, start_boottime);
  header->cgroup_id = css_cgroup_id(memory_css_of(task));
}

// Copies a NUL-ended name and pads it: behind the NUL the kernel's own buffer may hold an older name's rest.
static __always_inline void read_comm(char comm[kBpfCommBytes], const char* from) {
  __builtin_memset(comm, 0, kBpfCommBytes);
  bpf_probe_read_kernel_str(comm, kBpfCommBytes, from);
}

#endif
