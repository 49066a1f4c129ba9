// SPDX-License-Identifier: Apache-2.0
// Recorder: the one loop of a recording. It waits in epoll for kernel events, ticks, signals and the launched child,
// keeps the tracker up to date, samples, and hands Records to the queue. It touches neither disk nor terminal.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "collect/cgroup_sampler.h"
#include "collect/device_watch.h"
#include "collect/host_sampler.h"
#include "collect/launcher.h"
#include "collect/process_tracker.h"
#include "collect/read_budget.h"
#include "record/progress.h"
#include "record/record_queue.h"
#include "record/ticker.h"

namespace memlog {

class Recorder final : private TrackerListener {
 public:
  struct Options {
    std::string proc = "/proc";
    std::optional<CgroupMount> cgroup_mount;
    RunClock clock;
    int64_t interval_ns = 0;
    std::optional<int64_t> duration_ns;
    bool keep = false;  // go on after the last process has ended
    bool pss = false;
    std::optional<std::string> device_directory;  // accelerator memory is sampled where this is set
    size_t kept_file_limit = 256;
  };

  // `source` (may be null: /proc scans instead), `launcher` (may be null) and the others outlive the recorder.
  // SIGINT, SIGTERM, SIGHUP and SIGQUIT must be blocked in every thread.
  Recorder(Target target, Options options, EventSource* source, Launcher* launcher, RecordQueue& queue,
           Progress& progress);

  // Attaches what is there already and lets the launched child go. An error ends the recording before it began.
  Status begin();
  // Records until the end; says why it ended.
  std::string run();

  bool has_lost_anything() const { return numbers_.lost_event_count > 0 || numbers_.lost_record_count > 0; }
  const ProgressNumbers& numbers() const { return numbers_; }
  std::optional<int> launched_status() const { return launched_status_; }

 private:
  void on_record(Record record) override;
  void on_attached(const ProcessStart& start) override;
  void on_ended(const ProcessStart& start, const ProcessEnd& end) override;
  void on_name_prefix_only(const std::string& comm, pid_t pid) override;

  Status watch(int fd);
  void await_launched_exec();
  int remaining_ms() const;
  void drain_events();
  void tick(const Ticker::Tick& tick);
  void sample_processes();
  void sample_surroundings(int64_t boot_ns);
  void notice_loss(int64_t boot_ns);
  void notice_clocks(int64_t boot_ns);
  void take_signals();
  void reap_launched();
  void update_progress();
  void emit_gap(GapKind kind, int64_t started_boot_ns, int64_t ended_boot_ns, Nullable lost_count,
                std::string detail);

  Target target_;
  Options options_;
  EventSource* source_;
  Launcher* launcher_;
  RecordQueue& queue_;
  Progress& progress_;
  ProcessTracker tracker_;
  HostSampler host_;
  std::optional<DeviceWatch> devices_;
  std::map<CgroupKey, CgroupSampler> cgroup_samplers_;
  CgroupKey last_cgroup_key_ = 0;
  ReadBudget surroundings_budget_;
  ReadBudget scan_budget_;
  std::optional<Ticker> ticker_;
  LatenessGaps lateness_;
  OwnedFd epoll_;
  OwnedFd signals_;
  std::string end_reason_;
  std::optional<int> launched_status_;
  ProgressNumbers numbers_;
  int64_t began_boot_ns_ = 0;
  int64_t last_loss_check_ns_ = 0;
  int64_t last_progress_ns_ = 0;
  int64_t last_scan_ns_ = 0;
  int64_t dropped_since_ns_ = 0;
  int64_t dropped_count_ = 0;
  ClockPair last_clocks_;
  int64_t last_suspended_ns_ = 0;
};

}  // namespace memlog
