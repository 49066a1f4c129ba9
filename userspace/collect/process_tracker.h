// SPDX-License-Identifier: Apache-2.0
// ProcessTracker: which processes are recorded, from when to when, and their samples.
//
// Kernel events and scans of /proc come in; Records go out. A process is recorded from the moment it is known to be a
// target until its last thread has ended, whatever it renames itself to or executes in between. Identity is (pid, start
// time): a pid that comes back is another process.
//
// A fork inherits its parent's name and so is a target too, but most forks are about to execute something else. So a
// fork is held back ("a newborn") until the next tick, its end, or its exec: only then it becomes a row, and an exec of
// something that is no target makes it vanish without a trace.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collect/cgroup_sampler.h"
#include "collect/event_source.h"
#include "collect/process_facts.h"
#include "collect/process_sampler.h"
#include "collect/target.h"
#include "model/records.h"

namespace memlog {

// How the tracker speaks: what it finds out, as it finds it out.
class TrackerListener {
 public:
  virtual ~TrackerListener() = default;
  virtual void on_record(Record record) = 0;
  virtual void on_attached(const ProcessStart& start) = 0;
  virtual void on_ended(const ProcessStart& start, const ProcessEnd& end) = 0;
  virtual void on_name_prefix_only(const std::string& comm,
                                   pid_t pid) = 0;  // shares 15 bytes with a longer --name
};

class ProcessTracker {
 public:
  struct Options {
    std::string proc = "/proc";
    std::optional<CgroupMount> cgroup_mount;
    RunClock clock;
    bool pss = false;
    size_t kept_file_limit = 256;  // descriptors that samplers may keep open together
  };

  // `source` may be null: then scans are all there is. Both referents outlive the tracker.
  ProcessTracker(Target target, Options options, EventSource* source, TrackerListener& listener);

  // Attaches one process by its pid, whatever it is called. The error says why it cannot be.
  Status attach_pid(pid_t pid);
  // A child that waits before its exec: it becomes a row at that exec.
  Status attach_launched(pid_t pid);
  // The launched child is known to have made its exec: where no event says so, this makes it a row.
  void launched_has_executed(pid_t pid, int64_t boot_ns);
  bool awaits_exec(pid_t pid) const;

  void handle(const KernelEvent& event);
  // The launched child was waited for: ends it if its exit event has not.
  void reaped(pid_t pid, int wait_status, int64_t boot_ns);
  // Looks for targets in all of /proc. Without a source, also notices new names, images and descendants.
  void scan(int64_t boot_ns);
  // Samples every recorded process once and settles what was waiting for this tick.
  void sample_all(int64_t boot_ns);
  // Looks for targets in the target's cgroup, and among those who have its cards open: what no event says.
  void scan_members(int64_t boot_ns);
  // The recording ends: what is still alive keeps end_reason "running". A fork that was held back becomes a row.
  void finish(int64_t boot_ns);

  size_t live_count() const { return processes_.size() - newborn_count_; }
  // The recorded process that has this pid now; 0: none.
  ProcessKey key_of(pid_t pid) const;
  size_t newborn_count() const { return newborn_count_; }
  size_t attached_count() const { return attached_count_; }
  int64_t rss_bytes() const { return rss_bytes_; }  // sum of the last tick: counts shared pages repeatedly
  // The memory cgroups of the processes that are alive, by path.
  const std::map<std::string, CgroupKey>& cgroups() const { return cgroups_; }

 private:
  enum class Claim : uint8_t { matched, inherited, descendant };
  struct Tracked {
    ProcessStart facts;
    int64_t start_boot_ns = 0;
    Claim claim = Claim::matched;
    bool is_newborn = false;
    bool is_launched = false;  // waits for its exec
    bool is_oom_victim = false;
    int unreadable_error = 0;  // errno of the last such sample
    int64_t gone_since_ns =
        0;  // boot time of the first read that found it gone; its exit event may be under way
    int64_t cgroup_read_ns = 0;
    int64_t unreadable_since_ns = 0;
    int64_t unreadable_count = 0;  // samples in a row that could not be read
    Nullable peak_rss_bytes;       // of what was sampled
    std::optional<ProcessSampler> sampler;
  };
  using Processes = std::unordered_map<pid_t, Tracked>;

  void on_exec(const KernelEvent& event);
  void on_fork(const KernelEvent& event);
  void on_rename(const KernelEvent& event);
  void on_exit(const KernelEvent& event);
  void on_oom_victim(const KernelEvent& event);

  Tracked& add(pid_t pid, int64_t start_boot_ns, Claim claim);
  void fill_from_proc(Tracked& tracked);
  void become_row(Tracked& tracked, SeenBy seen_by, int64_t boot_ns);
  void change_image(Tracked& tracked, int64_t boot_ns);
  void sample(Tracked& tracked, int64_t boot_ns);
  void settle_unreadable(Tracked& tracked, int64_t boot_ns);
  void end(Processes::iterator process, int64_t boot_ns, const ExitFacts* exit);
  void forget(Processes::iterator process);
  void consider(pid_t pid, SeenBy seen_by, int64_t boot_ns);
  void attach_found(const ProcessFacts& facts, Claim claim, SeenBy seen_by, int64_t boot_ns);
  void scan_cards(int64_t boot_ns);
  void refresh_by_scan(Processes::iterator process, int64_t boot_ns);
  void adopt_descendants(const std::vector<pid_t>& pids, int64_t boot_ns);
  void recheck_unsure(int64_t boot_ns);
  void drop(pid_t pid);
  bool is_current(const Tracked& tracked, int64_t start_boot_ns) const;
  Tracked* find(pid_t pid, int64_t start_boot_ns, int64_t boot_ns);
  void refresh_cgroup(Tracked& tracked, int64_t boot_ns);
  void note_cgroup(const std::string& path);
  std::optional<std::string> cgroup_path(uint64_t id);
  void emit_event(EventKind kind, const Tracked& tracked, int64_t boot_ns, std::string detail);

  Target target_;
  Options options_;
  EventSource* source_;
  TrackerListener& listener_;
  int64_t ns_per_tick_;
  Processes processes_;
  size_t newborn_count_ = 0;
  size_t attached_count_ = 0;
  size_t kept_files_ = 0;
  int64_t rss_bytes_ = 0;
  ProcessKey last_key_ = 0;
  CgroupKey last_cgroup_key_ = 0;
  std::map<std::string, CgroupKey> cgroups_;
  std::unordered_map<uint64_t, std::string> cgroup_paths_;  // by kernel id
  std::unordered_map<pid_t, int64_t> unsure_until_ns_;      // boot time at which the last look is taken
  std::unordered_set<std::string> told_prefix_only_;        // comms
};

}  // namespace memlog
