// SPDX-License-Identifier: Apache-2.0
// Everything that a recording can say, as plain values on their way from the recorder to the store.
//
// A struct here is a row (or a change of a row) of the table of the same name in schema/. Bytes and
// nanoseconds only. `time_ns` is wall-clock time laid on the run's boot clock (see RunClock). Records of one
// process or cgroup carry a run-local key, given by the recorder from 1 upwards; the store turns keys into
// row ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "model/nullable.h"

namespace memlog {

using ProcessKey = uint32_t;  // 0 = no process
using CgroupKey = uint32_t;   // 0 = no cgroup
using DeviceKey = uint32_t;

// Lays boot-clock time on the calendar. The offset is fixed when the run starts, so that a stepped wall clock
// never bends the axis; the steps themselves are ClockReading records.
struct RunClock {
  int64_t wall_minus_boot_ns = 0;
  int64_t time_ns(int64_t boot_ns) const { return boot_ns + wall_minus_boot_ns; }
};

enum class SeenBy : uint8_t { exec, fork, rename, exit, scan, import };
enum class EndReason : uint8_t { running, exited, signaled, oom_killed, unseen };
enum class PeakSource : uint8_t { none, kernel, sampled };
enum class RunState : uint8_t { running, ended, interrupted };
enum class EventKind : uint8_t { attach, detach, exec, fork, rename, exit, oom_kill, clock_step, mark, note };
enum class GapKind : uint8_t {
  late_tick,
  missed_ticks,
  event_loss,
  queue_overflow,
  storage,
  suspend,
  unreadable
};
enum class OomConstraint : uint8_t { unknown, global, memcg, cpuset, mempolicy };
enum class DeviceUserState : uint8_t { live, dead, unknown, left };

// The words that the tables store; "" for PeakSource::none and OomConstraint::unknown, which are NULL there.
const char* word(SeenBy value);
const char* word(EndReason value);
const char* word(PeakSource value);
const char* word(RunState value);
const char* word(EventKind value);
const char* word(GapKind value);
const char* word(OomConstraint value);
const char* word(DeviceUserState value);

// The run's row as it is made; the store fills id, state and end.
struct RunStart {
  std::optional<std::string> label;
  std::string host;
  std::string boot_id;
  std::string kernel;
  std::string command;  // memlog's own command line
  std::string target;   // the target in words: "name worker", "pid 7, 8"
  int64_t interval_ns = 0;
  int64_t started_ns = 0;
  std::string event_source;  // "bpf", "scan", ...: see schema/README.md
  int64_t uid = 0;           // the invoking user
  int64_t page_size_bytes = 0;
  int64_t cpu_count = 0;
  int64_t recorder_pid = 0;  // with start_ticks and pid_ns: tells a reader whether the recorder lives
  int64_t recorder_start_ticks = 0;
  int64_t recorder_pid_ns = 0;
};

struct RunEnd {
  int64_t time_ns = 0;
  std::string reason;  // "the last process ended", "SIGINT", "duration"
};

struct ProcessStart {
  ProcessKey key = 0;
  ProcessKey parent_key = 0;  // where the parent is recorded too
  int64_t pid = 0;
  Nullable start_time_ns;
  Nullable start_ticks;  // /proc/PID/stat field 22: (boot id, pid, start_ticks) is the identity
  Nullable parent_pid;
  std::string old_comm;  // before the exec that made it a target; empty: none is known
  std::string comm;
  std::string name;  // comm, or the longer basename of exe or argv[0] that it is cut from
  std::optional<std::string> exe;
  std::optional<std::string> cmdline;  // arguments joined by spaces
  std::optional<std::string> cgroup;   // path in the memory controller's hierarchy
  Nullable uid;
  Nullable namespace_pid;
  int64_t first_seen_ns = 0;
  SeenBy first_seen_by = SeenBy::scan;
};

// A new image (exec) or a new name (rename) of a known process: overwrites the row's facts where they are
// given.
struct ProcessImage {
  ProcessKey key = 0;
  int64_t time_ns = 0;
  std::string comm;
  std::string name;
  std::optional<std::string> exe;
  std::optional<std::string> cmdline;
  std::optional<std::string> cgroup;
};

struct ProcessEnd {
  ProcessKey key = 0;
  int64_t time_ns = 0;
  EndReason reason = EndReason::unseen;
  Nullable exit_status;  // 0-255, where it exited
  Nullable exit_signal;  // where it was killed
  Nullable core_dumped;  // 0 or 1, where it was killed
  Nullable peak_rss_bytes;
  PeakSource peak_source = PeakSource::none;
};

struct ProcessSample {
  ProcessKey key = 0;
  int64_t time_ns = 0;
  Nullable rss_bytes;
  Nullable anon_bytes;
  Nullable file_bytes;
  Nullable shmem_bytes;
  Nullable swap_bytes;
  Nullable hugetlb_bytes;
  Nullable hwm_bytes;
  Nullable data_bytes;
  Nullable page_table_bytes;
  Nullable pss_bytes;
  Nullable oom_score;
  Nullable oom_score_adj;
  Nullable minor_faults;
  Nullable major_faults;
  Nullable threads;
  Nullable cpu_ns;
};

struct HostSample {
  int64_t time_ns = 0;
  Nullable mem_total_bytes;
  Nullable mem_available_bytes;
  Nullable mem_free_bytes;
  Nullable swap_total_bytes;
  Nullable swap_free_bytes;
  Nullable hugepage_total_bytes;
  Nullable hugepage_free_bytes;
  Nullable psi_some_ns;  // cumulative stall time since boot
  Nullable psi_full_ns;
  Nullable oom_kill_count;  // since boot
};

struct CgroupStart {
  CgroupKey key = 0;
  std::string path;
  int version = 2;
};

struct CgroupSample {
  CgroupKey key = 0;
  int64_t time_ns = 0;
  Nullable current_bytes;
  Nullable peak_bytes;
  Nullable limit_bytes;  // the tightest of the cgroup and all its ancestors; NULL = none
  Nullable oom_kill_count;
};

struct Event {
  int64_t time_ns = 0;
  EventKind kind = EventKind::note;
  ProcessKey key = 0;
  std::string detail = "{}";  // a JSON object
};

struct OomKill {
  int64_t time_ns = 0;
  ProcessKey key = 0;  // 0: the victim is not recorded
  int64_t pid = 0;     // the process (tgid)
  Nullable tid;        // the thread that the kernel named
  std::optional<std::string> comm;
  std::optional<std::string> cmdline;
  Nullable uid;
  Nullable total_vm_bytes;
  Nullable anon_bytes;
  Nullable file_bytes;
  Nullable shmem_bytes;
  Nullable swap_bytes;
  Nullable page_table_bytes;
  Nullable oom_score_adj;
  Nullable trigger_pid;
  std::optional<std::string> trigger_comm;
  OomConstraint constraint = OomConstraint::unknown;
  std::optional<std::string> cgroup;        // the victim's
  std::optional<std::string> limit_cgroup;  // the one whose limit was hit
  Nullable limit_bytes;
  Nullable usage_bytes;
  std::string evidence = "{}";  // a JSON object: what else was frozen at the kill
};

// A span in which something is missing. `lost_count` counts what `kind` names: ticks, events, records.
struct Gap {
  int64_t started_ns = 0;
  int64_t ended_ns = 0;
  GapKind kind = GapKind::late_tick;
  ProcessKey key = 0;
  Nullable lost_count;
  std::string detail;
};

struct ClockReading {
  int64_t boot_ns = 0;
  int64_t wall_ns = 0;
};

// A device memory region: an accelerator chip. Handed in again, with the same key, when it has become readable or was
// made anew: the later facts then stand.
struct DeviceStart {
  DeviceKey key = 0;
  int64_t first_seen_ns = 0;
  std::string directory;  // of the region; empty: not known
  std::string region;     // the file's name
  Nullable layout_version;
  Nullable board_serial;
  Nullable asic_id;
  Nullable device_id;
  Nullable is_remote;  // 0 or 1: reached through another chip
};

struct DeviceSample {
  DeviceKey key = 0;
  int64_t time_ns = 0;
  Nullable dram_bytes;  // the region's own totals
  Nullable l1_bytes;
  Nullable l1_small_bytes;
  Nullable trace_bytes;
  Nullable cb_bytes;
  Nullable live_bytes;     // DRAM of live processes
  Nullable ghost_bytes;    // DRAM left behind by dead ones
  Nullable unknown_bytes;  // DRAM of processes that cannot be judged
  Nullable user_count;     // processes that hold a slot, dead ones included
  Nullable last_update_ns;
  std::optional<std::string> unreadable_reason;  // why something above is NULL
};

// A region's own statistics of one chip behind it; handed in when they have changed.
struct DeviceChipSample {
  DeviceKey key = 0;
  int64_t chip_id = 0;
  int64_t time_ns = 0;
  Nullable is_remote;
  Nullable dram_bytes;
  Nullable l1_bytes;
  Nullable l1_small_bytes;
  Nullable trace_bytes;
  Nullable cb_bytes;
};

// What one recorded process holds on one device.
struct DeviceProcessSample {
  DeviceKey key = 0;
  ProcessKey process_key = 0;
  int64_t time_ns = 0;
  Nullable dram_bytes;
  Nullable l1_bytes;
  Nullable l1_small_bytes;
  Nullable trace_bytes;
  Nullable cb_bytes;
};

// A process takes a slot of a device, is found to be live, dead or not to be judged, or leaves its slot.
struct DeviceUserChange {
  DeviceKey key = 0;
  int64_t time_ns = 0;
  int64_t pid = 0;  // as it calls itself, in its own pid namespace
  std::string name;
  DeviceUserState state = DeviceUserState::unknown;
  Nullable dram_bytes;  // at that time
};

// All readable devices together, at one tick.
struct DeviceTotal {
  int64_t time_ns = 0;
  Nullable device_count;  // those with a DRAM total; the others are NULL where there is none
  Nullable dram_bytes;    // sum, smallest and largest of the regions' own totals
  Nullable dram_min_bytes;
  Nullable dram_max_bytes;
  Nullable live_bytes;  // NULL where it is for any of them
  Nullable ghost_bytes;
};

using Record = std::variant<ProcessStart, ProcessImage, ProcessEnd, ProcessSample, HostSample, CgroupStart,
                            CgroupSample, Event, OomKill, Gap, ClockReading, DeviceStart, DeviceSample,
                            DeviceChipSample, DeviceProcessSample, DeviceUserChange, DeviceTotal>;

}  // namespace memlog
