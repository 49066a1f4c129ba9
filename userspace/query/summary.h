// SPDX-License-Identifier: Apache-2.0
// Everything that one run has to say on a page: its processes, kills, cgroups, devices, gaps and the host's
// extremes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/devices.h"
#include "query/runs.h"

namespace memlog {

struct ProcessSummary {
  int64_t id = 0;
  Nullable parent_process_id;  // a process of the same run
  int64_t pid = 0;
  Nullable parent_pid;
  std::string comm;
  std::string name;
  std::optional<std::string> exe;
  std::optional<std::string> cmdline;
  std::optional<std::string> cgroup;
  Nullable uid;
  int64_t first_seen_ns = 0;
  std::string first_seen_by;
  Nullable start_time_ns;
  Nullable ended_ns;
  Nullable exit_status;
  Nullable exit_signal;
  Nullable core_dumped;
  EndReason end_reason = EndReason::running;
  Nullable peak_rss_bytes;
  PeakSource peak_source = PeakSource::none;
  int64_t sample_count = 0;
  Nullable peak_device_bytes;  // the most device DRAM that it held at one tick
  Nullable last_device_bytes;
  ProcessSample last;  // the latest sample that knew the RSS; all NULL where there is none

  // From its start (or first sight) to its end (or last sample); NULL where that is not known.
  Nullable duration_ns() const;
};

struct OomKillSummary {
  int64_t time_ns = 0;
  Nullable process_id;
  int64_t pid = 0;
  std::optional<std::string> comm;
  Nullable anon_bytes;
  Nullable file_bytes;
  Nullable shmem_bytes;
  Nullable swap_bytes;
  Nullable oom_score_adj;
  Nullable trigger_pid;
  std::optional<std::string> trigger_comm;
  std::optional<std::string> constraint;  // global, memcg, cpuset, mempolicy
  std::optional<std::string> limit_cgroup;
  Nullable limit_bytes;
  Nullable usage_bytes;

  Nullable rss_bytes() const { return anon_bytes + file_bytes + shmem_bytes; }
};

struct CgroupSummary {
  std::string path;
  int64_t version = 2;
  Nullable peak_bytes;      // the kernel's mark or the largest sample
  Nullable current_bytes;   // last known
  Nullable limit_bytes;     // the tightest that was seen
  Nullable oom_kill_count;  // during the run
};

// All gaps of one kind.
struct GapSummary {
  std::string kind;
  int64_t span_count = 0;
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  Nullable lost_count;
  std::optional<std::string> detail;  // of the latest that has one
};

struct Note {
  int64_t time_ns = 0;
  std::string kind;  // note, mark, clock_step
  std::string text;
};

struct HostExtremes {
  int64_t sample_count = 0;
  Nullable mem_total_bytes;
  Nullable least_available_bytes;
  Nullable least_available_at_ns;
  Nullable swap_total_bytes;
  Nullable most_swap_used_bytes;
  Nullable psi_some_ns;  // stalled during the run
  Nullable psi_full_ns;
};

struct RunSummary {
  Run run;
  std::vector<ProcessSummary> processes;  // in the order in which they were seen
  std::vector<OomKillSummary> oom_kills;
  std::vector<CgroupSummary> cgroups;  // largest peak first
  std::vector<GapSummary> gaps;
  std::vector<Note> notes;  // at most kMostNotes
  HostExtremes host;
  std::vector<DeviceSummary> devices;
  std::optional<std::string> device_spread;  // see query/devices.h

  static constexpr int kMostNotes = 50;
};

// One consistent snapshot, let go before the return.
Result<RunSummary> run_summary(Database& database, int64_t run_id);

}  // namespace memlog
