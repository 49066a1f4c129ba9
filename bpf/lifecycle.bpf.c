// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The life of processes: exec, fork, rename, exit. A process becomes tracked when its name is in `comms` (or
// as the configuration says) and stays so until its last thread ends, whatever it is called by then.
// clang-format off
#include "vmlinux/vmlinux.h"  // first: libbpf's headers need its types
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/maps.h"
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Set by user space before loading.
const volatile bool every_process = false;
const volatile bool follow_children = false;

enum { kSignalGroupExit = 4 };        // SIGNAL_GROUP_EXIT of the kernel's sched/signal.h
enum { kTickNs = 10 * 1000 * 1000 };  // of /proc/PID/stat's start time

static __always_inline bool is_wanted_name(const char comm[kBpfCommBytes]) {
  return bpf_map_lookup_elem(&comms, comm) != 0;
}

// The entry of exactly this process: one that a dead process of the same id left behind does not count.
static __always_inline struct BpfTrackedProcess* find_tracked(__s32 tgid, __u64 start_boot_ns) {
  struct BpfTrackedProcess* entry = bpf_map_lookup_elem(&tracked_processes, &tgid);
  if (entry && entry->start_boot_ns != 0 && entry->start_boot_ns / kTickNs != start_boot_ns / kTickNs)
    return 0;
  return entry;
}

static __always_inline void set_tracked(__s32 tgid, __u64 start_boot_ns, __s64 saved_maxrss_pages) {
  struct BpfTrackedProcess entry = {.start_boot_ns = start_boot_ns, .saved_maxrss_pages = saved_maxrss_pages};
  // A full map loses at least this process's exit.
  if (bpf_map_update_elem(&tracked_processes, &tgid, &entry, BPF_ANY) != 0) count_lost();
}

// The names of processes in the middle of an exec that will make them tracked: the exec's event tells only the new one.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __s32);
  __type(value, struct BpfComm);
} old_comms SEC(".maps");

static __always_inline void take_old_comm(char to[kBpfCommBytes], __s32 tgid) {
  struct BpfComm* old = bpf_map_lookup_elem(&old_comms, &tgid);
  __builtin_memset(to, 0, kBpfCommBytes);
  if (!old) return;
  __builtin_memcpy(to, old->bytes, kBpfCommBytes);
  bpf_map_delete_elem(&old_comms, &tgid);
}

static __always_inline bool is_same_comm(const struct BpfComm* a, const struct BpfComm* b) {
  for (int i = 0; i < kBpfCommBytes; ++i) {
    if (a->bytes[i] != b->bytes[i]) return false;
  }
  return true;
}

// argv as the new image's stack holds it: the strings, each ended by a NUL, one after another. Just written
// by the kernel, so the pages are there.
static __always_inline __u32 read_arguments(char* to, struct task_struct* task) {
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  __u64 begin = BPF_CORE_READ(mm, arg_start);
  __u64 size = BPF_CORE_READ(mm, arg_end) - begin;
  if (size > kBpfArgumentBytes) size = kBpfArgumentBytes;
  return bpf_probe_read_user(to, size, (const void*)begin) == 0 ? size : 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, pid_t old_pid, struct linux_binprm* bprm) {
  (void)old_pid;  // differs from pid where another thread than the leader called exec: still the same process
  struct BpfComm comm;
  read_comm(comm.bytes, task->comm);
  __s32 tgid = BPF_CORE_READ(task, tgid);
  __u64 start_boot_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  if (!every_process && !is_wanted_name(comm.bytes) && !find_tracked(tgid, start_boot_ns)) return 0;

  // maxrss outlives the image and has just taken in the old one's peak.
  set_tracked(tgid, start_boot_ns, BPF_CORE_READ(task, signal, maxrss));

  struct BpfExecEvent* event = reserve_event(sizeof *event);
  if (!event) return 0;
  fill_header(&event->header, kBpfExec, task);
  __builtin_memcpy(event->header.comm, comm.bytes, kBpfCommBytes);
  event->reserved = 0;
  take_old_comm(event->old_comm, tgid);
  event->exe[0] = 0;
  bpf_probe_read_kernel_str(event->exe, kBpfExeBytes, BPF_CORE_READ(bprm, filename));
  event->argument_bytes = read_arguments(event->arguments, task);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  __s32 tgid = BPF_CORE_READ(child, tgid);
  if (BPF_CORE_READ(child, pid) != tgid) return 0;  // a thread
  __s32 parent_tgid = BPF_CORE_READ(parent, tgid);
  struct BpfComm comm;
  read_comm(comm.bytes, child->comm);
  bool wanted = every_process || is_wanted_name(comm.bytes);
  if (!wanted && follow_children)
    wanted = find_tracked(parent_tgid, BPF_CORE_READ(parent, group_leader, start_boottime)) != 0;
  if (!wanted) return 0;

  set_tracked(tgid, BPF_CORE_READ(child, start_boottime), 0);  // a new process begins with maxrss 0

  struct BpfEventHeader* event = reserve_event(sizeof *event);
  if (!event) return 0;
  fill_header(event, kBpfFork, child);
  event->parent_tgid = parent_tgid;
  __builtin_memcpy(event->comm, comm.bytes, kBpfCommBytes);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct* task, const char* new_comm) {
  __s32 tgid = BPF_CORE_READ(task, tgid);
  if (BPF_CORE_READ(task, pid) != tgid) return 0;  // a thread's name is not the process's
  struct BpfComm comm;
  read_comm(comm.bytes, new_comm);  // task->comm is still the old name
  __u64 start_boot_ns = BPF_CORE_READ(task, start_boottime);
  if (is_in_execve(task)) {
    if ((!every_process && !is_wanted_name(comm.bytes)) || find_tracked(tgid, start_boot_ns)) return 0;
    read_comm(comm.bytes, task->comm);
    // What it was forked with is its parent's name, not its own.
    struct BpfComm inherited;
    struct task_struct* parent = BPF_CORE_READ(task, real_parent);
    read_comm(inherited.bytes, parent->comm);
    if (is_same_comm(&comm, &inherited)) return 0;
    bpf_map_update_elem(&old_comms, &tgid, &comm, BPF_ANY);
    return 0;
  }
  if (!find_tracked(tgid, start_boot_ns)) {
    if (!every_process && !is_wanted_name(comm.bytes)) return 0;
    set_tracked(tgid, start_boot_ns, BPF_UNKNOWN);
  }

  struct BpfEventHeader* event = reserve_event(sizeof *event);
  if (!event) return 0;
  fill_header(event, kBpfRename, task);
  __builtin_memcpy(event->comm, comm.bytes, kBpfCommBytes);
  bpf_ringbuf_submit(event, 0);
  return 0;
}

// The high-water mark of the image that ends, in pages. Two sources, the larger known one wins:
// signal->maxrss, already raised to this image's peak, but only where it exceeds what earlier images left in
// it; and the address space's own mark where it is still there (it goes stale until something is unmapped,
// hence the sum).
static __always_inline __s64 peak_pages_of(struct task_struct* task, __s64 saved_maxrss_pages) {
  __s64 peak = BPF_UNKNOWN;
  __s64 maxrss = BPF_CORE_READ(task, signal, maxrss);
  if (saved_maxrss_pages != BPF_UNKNOWN && maxrss > saved_maxrss_pages) peak = maxrss;
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  if (!mm) return peak;
  __s64 mark = BPF_CORE_READ(mm, hiwater_rss);
  __s64 now =
      READ_RSS_COUNTER(mm, kFilePages) + READ_RSS_COUNTER(mm, kAnonPages) + READ_RSS_COUNTER(mm, kShmemPages);
  if (mark > peak) peak = mark;
  return now > peak ? now : peak;
}

static __always_inline int emit_exit(struct task_struct* task) {
  __s32 tgid = BPF_CORE_READ(task, tgid);
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  struct BpfTrackedProcess* entry = find_tracked(tgid, BPF_CORE_READ(leader, start_boottime));
  if (!entry) return 0;
  __s64 saved_maxrss_pages = entry->saved_maxrss_pages;
  // Two threads that end at once may both see live == 0: whoever takes the entry away reports.
  if (bpf_map_delete_elem(&tracked_processes, &tgid) != 0) return 0;

  struct BpfExitEvent* event = reserve_event(sizeof *event);
  if (!event) return 0;
  fill_header(&event->header, kBpfExit, task);
  read_comm(event->header.comm, leader->comm);
  event->peak_pages = peak_pages_of(task, saved_maxrss_pages);
  struct signal_struct* signal = BPF_CORE_READ(task, signal);
  event->wait_status = BPF_CORE_READ(signal, flags) & kSignalGroupExit
                           ? BPF_CORE_READ(signal, group_exit_code)
                           : BPF_CORE_READ(leader, exit_code);
  event->is_oom_victim = BPF_CORE_READ(signal, oom_mm) != 0;
  bpf_ringbuf_submit(event, 0);
  return 0;
}

// Both fire once a thread; a leader that ends first is not the end of its process.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_live, struct task_struct* task) {
  return BPF_CORE_READ(task, signal, live.counter) == 0 ? emit_exit(task) : 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_group_dead, struct task_struct* task, bool group_dead) {
  return group_dead ? emit_exit(task) : 0;
}
