// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the kernel side hands to user space: the contract of the ring buffer and of the maps. Plain C,
// included by both sides (vmlinux/vmlinux.h or <linux/types.h> before it).
//
// One ring buffer record is one of the structs below, told apart by header.kind; records of one kind have one
// size. Sizes in memory are pages where the name says so: user space multiplies. Names are NUL-padded.
#ifndef MEMLOG_BPF_EVENTS_H
#define MEMLOG_BPF_EVENTS_H

enum {
  kBpfCommBytes = 16,  // with the NUL
  kBpfExeBytes = 256,  // with the NUL
  kBpfArgumentBytes = 512,
  kBpfMaxComms = 64,
  kBpfMaxTracked = 65536,
};
#define BPF_UNKNOWN (-1LL)  // in a __s64: the kernel side could not tell

enum BpfEventKind {
  kBpfExec = 1,
  kBpfFork = 2,
  kBpfRename = 3,
  kBpfExit = 4,
  kBpfOomVictim = 5,
};

// Fork and rename are a header alone.
struct BpfEventHeader {
  __u32 kind;
  __s32 tgid;                // fork: the child. OOM victim: 0 where only victim_tid is known
  __s32 parent_tgid;         // fork: the forking process, else the real parent
  __u32 uid;                 // real uid, in the first user namespace
  __u64 boot_ns;             // CLOCK_BOOTTIME of the event
  __u64 start_boot_ns;       // CLOCK_BOOTTIME at which the group's leader was made
  __u64 cgroup_id;           // kernfs id of the memory cgroup; 0 = unknown
  char comm[kBpfCommBytes];  // after the event
};

struct BpfExecEvent {
  struct BpfEventHeader header;
  __u32 argument_bytes;  // how much of `arguments` is set; 0: could not be read
  __u32 reserved;
  char old_comm[kBpfCommBytes];  // its own before the exec that makes it tracked; empty: none known
  char exe[kBpfExeBytes];
  char arguments[kBpfArgumentBytes];
};

struct BpfExitEvent {
  struct BpfEventHeader header;
  __s64 peak_pages;     // of this image, or BPF_UNKNOWN
  __s32 wait_status;    // as wait(2) gives it
  __u32 is_oom_victim;  // 0 or 1
};

struct BpfOomEvent {
  struct BpfEventHeader header;
  __s32 victim_tid;
  __s32 trigger_tgid;
  char trigger_comm[kBpfCommBytes];
  // The victim's own, each BPF_UNKNOWN where only its tid is known.
  __s64 total_vm_pages;
  __s64 anon_pages;
  __s64 file_pages;
  __s64 shmem_pages;
  __s64 swap_pages;  // entries of a page's size
  __s64 page_table_bytes;
  __u64 limit_cgroup_id;  // 0 = unknown, or no cgroup's limit was hit
  __s64 limit_pages;      // "no limit" is the largest number of whole pages in 63 bits
  __s64 usage_pages;
  __s32 oom_score_adj;  // valid where total_vm_pages is known
  __u32 reserved;
};

// Value of the map `tracked_processes` (key: __s32 tgid).
struct BpfTrackedProcess {
  __u64 start_boot_ns;  // compared in ticks of /proc/PID/stat (10 ms): user space may know no better; 0 = any
  __s64 saved_maxrss_pages;  // signal->maxrss when this image began; BPF_UNKNOWN: not seen beginning
};

// Key of the map `comms` (value: __u8, unused).
struct BpfComm {
  char bytes[kBpfCommBytes];
};

#endif
