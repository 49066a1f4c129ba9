// SPDX-License-Identifier: Apache-2.0
#include "record/recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"
#include "collect/scheduling.h"

namespace memlog {
namespace {

constexpr int64_t kReaderSliceNs = 100 * kNsPerUs;
constexpr int64_t kExecEventPatienceNs = 200 * kNsPerMs;
constexpr int64_t kLossCheckIntervalNs = 100 * kNsPerMs;
constexpr int64_t kProgressIntervalNs = 100 * kNsPerMs;
constexpr int64_t kScanIntervalNs = 250 * kNsPerMs;  // without events
constexpr int64_t kMemberScanIntervalNs =
    kNsPerSecond;                            // processes can be moved into a cgroup, which no event says
constexpr double kSurroundingsShare = 0.01;  // of the time, for host and cgroup samples
constexpr double kScanShare = 0.05;          // of the time, for scans without events
constexpr int64_t kClockStepNs = 50 * kNsPerMs;
constexpr int64_t kSuspendNs = 100 * kNsPerMs;

int64_t suspended_ns() {
  timespec monotonic{};
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return boot_now_ns() - (monotonic.tv_sec * kNsPerSecond + monotonic.tv_nsec);
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

std::string end_in_words(const ProcessEnd& end) {
  switch (end.reason) {
    case EndReason::exited:
      return fmt::format("exited with status {}", end.exit_status.value_or(0));
    case EndReason::oom_killed:
      return "was killed by the kernel's OOM killer";
    case EndReason::signaled: {
      const int signal = static_cast<int>(end.exit_signal.value_or(0));
      const char* name = sigabbrev_np(signal);
      return fmt::format("was killed by {}{}",
                         name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal),
                         end.core_dumped == Nullable(1) ? " (core dumped)" : "");
    }
    case EndReason::running:
    case EndReason::unseen:
      break;
  }
  return "is gone; how it ended was not seen";
}

}  // namespace

Recorder::Recorder(Target target, Options options, EventSource* source, Launcher* launcher,
                   RecordQueue& queue, Progress& progress)
    : target_(target),
      options_(std::move(options)),
      source_(source),
      launcher_(launcher),
      queue_(queue),
      progress_(progress),
      tracker_(std::move(target),
               {options_.proc, options_.cgroup_mount, options_.clock, options_.pss, options_.kept_file_limit},
               source, *this),
      host_(options_.proc),
      surroundings_budget_(kSurroundingsShare),
      scan_budget_(kScanShare),
      lateness_(options_.interval_ns) {
  if (!options_.device_directory) return;
  DeviceWatch::Options devices;
  devices.directory = *options_.device_directory;
  devices.proc = options_.proc;
  devices.clock = options_.clock;
  devices.key_of = [this](pid_t pid) { return tracker_.key_of(pid); };
  devices_.emplace(std::move(devices));
}

Status Recorder::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return errno_error("setting up the recorder", errno);
  return Ok{};
}

Status Recorder::begin() {
  const sigset_t signals = ending_signals();
  signals_.reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  Result<Ticker> ticker = Ticker::start(options_.interval_ns);
  if (!ticker) return ticker.error();
  ticker_ = std::move(*ticker);
  for (const int fd : {signals_.get(), ticker_->poll_fd(), source_ ? source_->poll_fd() : -1,
                       launcher_ ? launcher_->poll_fd() : -1}) {
    if (fd < 0) continue;
    if (const Status watching = watch(fd); !watching) return watching;
  }
  began_boot_ns_ = boot_now_ns();
  last_clocks_ = read_clock_pair();
  last_suspended_ns_ = suspended_ns();
  on_record(ClockReading{last_clocks_.boot_ns, last_clocks_.wall_ns});
  if (source_ == nullptr) {
    on_record(
        Event{options_.clock.time_ns(began_boot_ns_), EventKind::note, 0,
              R"({"text":"without kernel events: short-lived processes may be missing, and how processes )"
              R"(ended and OOM kills were not seen"})"});
  }

  for (const pid_t pid : target_.pids) {
    if (const Status attached = tracker_.attach_pid(pid); !attached) return attached;
  }
  if (launcher_ != nullptr) {
    if (const Status attached = tracker_.attach_launched(launcher_->pid()); !attached) return attached;
    if (const Status resumed = launcher_->resume(); !resumed) return resumed;
  }
  if (!target_.names.empty() || target_.match || target_.cgroup || target_.children ||
      !target_.devices.empty())
    tracker_.scan(boot_now_ns());
  if (launcher_ != nullptr) {
    await_launched_exec();
    tracker_.launched_has_executed(launcher_->pid(), boot_now_ns());
  }
  sample_surroundings(boot_now_ns());
  update_progress();
  return Ok{};
}

// The command's pipe closes some instructions before its exec event comes, and until then it has memlog's own name.
void Recorder::await_launched_exec() {
  const int64_t deadline_ns = boot_now_ns() + kExecEventPatienceNs;
  drain_events();
  while (source_ != nullptr && tracker_.awaits_exec(launcher_->pid()) && boot_now_ns() < deadline_ns) {
    pollfd events{source_->poll_fd(), POLLIN, 0};
    poll(&events, 1, 10);
    drain_events();
  }
}

std::string Recorder::run() {
  use_short_slice(kReaderSliceNs);
  while (end_reason_.empty()) {
    epoll_event ready[8];
    const int count = epoll_wait(epoll_.get(), ready, 8, remaining_ms());
    if (count < 0 && errno != EINTR) return fmt::format("epoll failed: {}", strerror(errno));
    drain_events();
    if (const std::optional<Ticker::Tick> due = ticker_->take()) tick(*due);
    take_signals();
    if (remaining_ms() == 0 && end_reason_.empty()) end_reason_ = "the duration has passed";
    for (int i = 0; i < count; ++i) {
      if (launcher_ != nullptr && ready[i].data.fd == launcher_->poll_fd()) reap_launched();
    }
  }
  drain_events();
  const int64_t now_ns = boot_now_ns();
  notice_loss(now_ns);
  sample_surroundings(now_ns);
  tracker_.finish(now_ns);
  if (const std::optional<Gap> gap = lateness_.finish()) on_record(*gap);
  const ClockPair clocks = read_clock_pair();
  on_record(ClockReading{clocks.boot_ns, clocks.wall_ns});
  update_progress();
  return end_reason_;
}

// Until the duration has passed, rounded up; -1: there is none.
int Recorder::remaining_ms() const {
  if (!options_.duration_ns) return -1;
  const int64_t remaining_ns = *options_.duration_ns - (boot_now_ns() - began_boot_ns_);
  return static_cast<int>(std::clamp<int64_t>((remaining_ns + kNsPerMs - 1) / kNsPerMs, 0, INT_MAX));
}

void Recorder::drain_events() {
  if (source_ != nullptr) source_->drain([this](const KernelEvent& event) { tracker_.handle(event); });
  if (tracker_.attached_count() != numbers_.attached_count) update_progress();
  const bool waits_for_launched = launcher_ != nullptr && !launched_status_;
  if (end_reason_.empty() && !options_.keep && !waits_for_launched && tracker_.attached_count() > 0 &&
      tracker_.live_count() == 0 && tracker_.newborn_count() == 0) {
    end_reason_ = "the last process ended";
  }
}

void Recorder::tick(const Ticker::Tick& tick) {
  if (std::optional<Gap> gap = lateness_.see(tick, options_.clock)) on_record(std::move(*gap));
  notice_clocks(tick.boot_ns);
  const int64_t scan_interval_ns =
      source_ == nullptr ? std::min(kScanIntervalNs, options_.interval_ns) : kMemberScanIntervalNs;
  const bool wants_scan = source_ == nullptr || target_.cgroup || !target_.devices.empty();
  if (wants_scan && tick.boot_ns - last_scan_ns_ >= scan_interval_ns && scan_budget_.is_due(tick.boot_ns)) {
    last_scan_ns_ = tick.boot_ns;
    if (source_ == nullptr) {
      tracker_.scan(tick.boot_ns);
    } else {
      tracker_.scan_members(tick.boot_ns);
    }
    scan_budget_.spent(tick.boot_ns, boot_now_ns() - tick.boot_ns);
  }
  sample_processes();
  if (surroundings_budget_.is_due(tick.boot_ns)) sample_surroundings(boot_now_ns());
  if (tick.boot_ns - last_loss_check_ns_ >= kLossCheckIntervalNs) notice_loss(tick.boot_ns);
  if (tick.boot_ns - last_progress_ns_ >= kProgressIntervalNs) update_progress();
  drain_events();
}

// Processes and the devices that they use, at one and the same time.
void Recorder::sample_processes() {
  const int64_t boot_ns = boot_now_ns();
  tracker_.sample_all(boot_ns);
  if (!devices_) return;
  devices_->sample(boot_ns, {[this](Record record) { on_record(std::move(record)); },
                             [this](std::string line) { progress_.say(std::move(line)); }});
}

void Recorder::sample_surroundings(int64_t boot_ns) {
  HostSample host;
  host.time_ns = options_.clock.time_ns(boot_ns);
  host_.sample(host);
  on_record(host);
  for (const auto& [path, key] : tracker_.cgroups()) {
    if (key > last_cgroup_key_) cgroup_samplers_.emplace(key, CgroupSampler(*options_.cgroup_mount, path));
  }
  last_cgroup_key_ = static_cast<CgroupKey>(tracker_.cgroups().size());
  for (auto sampler = cgroup_samplers_.begin(); sampler != cgroup_samplers_.end();) {
    CgroupSample sample;
    sample.key = sampler->first;
    sample.time_ns = options_.clock.time_ns(boot_ns);
    if (sampler->second.sample(sample)) {
      on_record(sample);
      ++sampler;
    } else {
      sampler = cgroup_samplers_.erase(sampler);
    }
  }
  surroundings_budget_.spent(boot_ns, boot_now_ns() - boot_ns);
}

void Recorder::notice_loss(int64_t boot_ns) {
  const int64_t since_ns = last_loss_check_ns_ == 0 ? began_boot_ns_ : last_loss_check_ns_;
  last_loss_check_ns_ = boot_ns;
  if (source_ == nullptr) return;
  const auto lost_count = static_cast<int64_t>(source_->lost_count());
  const int64_t newly_lost = lost_count - numbers_.lost_event_count;
  if (newly_lost <= 0) return;
  if (numbers_.lost_event_count == 0)
    progress_.warn("kernel events were lost: looking through /proc for what they said");
  numbers_.lost_event_count = lost_count;
  emit_gap(GapKind::event_loss, since_ns, boot_ns, newly_lost,
           "kernel events that did not fit the ring buffer");
  tracker_.scan(boot_ns);
}

void Recorder::notice_clocks(int64_t boot_ns) {
  const int64_t now_suspended_ns = suspended_ns();
  if (now_suspended_ns - last_suspended_ns_ > kSuspendNs) {
    emit_gap(GapKind::suspend, boot_ns - (now_suspended_ns - last_suspended_ns_), boot_ns, {},
             "the machine slept");
  }
  last_suspended_ns_ = now_suspended_ns;
  const ClockPair clocks = read_clock_pair();
  const int64_t step_ns = (clocks.wall_ns - clocks.boot_ns) - (last_clocks_.wall_ns - last_clocks_.boot_ns);
  if (std::abs(step_ns) > kClockStepNs) {
    on_record(ClockReading{clocks.boot_ns, clocks.wall_ns});
    on_record(Event{options_.clock.time_ns(clocks.boot_ns), EventKind::clock_step, 0,
                    fmt::format(R"({{"step_ns":{},"text":"the wall clock was set by {}"}})", step_ns,
                                format_duration(step_ns))});
    progress_.warn(fmt::format("the wall clock was set by {}", format_duration(step_ns)));
  }
  last_clocks_ = clocks;
}

void Recorder::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (launcher_ != nullptr && !launched_status_) {
      // Ctrl+C at a terminal reaches the whole foreground group: the command has it already.
      if (info.ssi_code != SI_KERNEL) launcher_->forward(signal);
      continue;
    }
    if (end_reason_.empty()) end_reason_ = fmt::format("SIG{}", sigabbrev_np(signal));
  }
}

void Recorder::reap_launched() {
  if (launched_status_) return;
  const Result<int> status = launcher_->wait();
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, launcher_->poll_fd(), nullptr);
  launched_status_ = status ? *status : 0;
  if (!options_.keep && end_reason_.empty()) end_reason_ = "the command ended";
  drain_events();
  tracker_.reaped(launcher_->pid(), *launched_status_, boot_now_ns());
}

void Recorder::update_progress() {
  last_progress_ns_ = boot_now_ns();
  numbers_.live_count = tracker_.live_count();
  numbers_.attached_count = tracker_.attached_count();
  numbers_.rss_bytes = tracker_.rss_bytes();
  numbers_.missed_tick_count = lateness_.missed_count();
  progress_.update(numbers_);
}

void Recorder::emit_gap(GapKind kind, int64_t started_boot_ns, int64_t ended_boot_ns, Nullable lost_count,
                        std::string detail) {
  on_record(Gap{options_.clock.time_ns(started_boot_ns), options_.clock.time_ns(ended_boot_ns), kind, 0,
                lost_count, std::move(detail)});
}

void Recorder::on_record(Record record) {
  if (const auto* sample = std::get_if<ProcessSample>(&record)) {
    ++numbers_.sample_count;
    numbers_.peak_rss_bytes =
        max_known(numbers_.peak_rss_bytes, max_known(sample->rss_bytes, sample->hwm_bytes));
  }
  if (dropped_count_ > 0) {
    Gap gap{options_.clock.time_ns(dropped_since_ns_),
            options_.clock.time_ns(boot_now_ns()),
            GapKind::queue_overflow,
            0,
            dropped_count_,
            "records that the store did not take in time"};
    if (queue_.push(std::move(gap))) dropped_count_ = 0;
  }
  if (queue_.push(std::move(record))) return;
  if (dropped_count_++ == 0) dropped_since_ns_ = boot_now_ns();
  ++numbers_.lost_record_count;
}

void Recorder::on_attached(const ProcessStart& start) {
  if (launcher_ != nullptr) return;
  progress_.say(fmt::format("recording {} (pid {})", printable(start.name), start.pid));
}

void Recorder::on_ended(const ProcessStart& start, const ProcessEnd& end) {
  numbers_.peak_rss_bytes = max_known(numbers_.peak_rss_bytes, end.peak_rss_bytes);
  // Of a launched command's many helpers only those that failed are news.
  if (launcher_ != nullptr && end.reason == EndReason::exited && end.exit_status == Nullable(0)) return;
  std::string line = fmt::format("{} (pid {}) {}", printable(start.name), start.pid, end_in_words(end));
  if (end.peak_rss_bytes.has_value())
    line += fmt::format(", peak {}", format_bytes(end.peak_rss_bytes.value()));
  progress_.say(std::move(line));
}

void Recorder::on_name_prefix_only(const std::string& comm, pid_t pid) {
  progress_.say(fmt::format(
      "not recording '{}' (pid {}): it shares the first 15 bytes with the name asked for, but its "
      "program is called otherwise",
      printable(comm), pid));
}

}  // namespace memlog
