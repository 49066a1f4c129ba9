// SPDX-License-Identifier: Apache-2.0
// The tracker's life cycle of one process, and what kernel events do to it. Scans are in process_scan.cpp.
#include "collect/process_tracker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

// How long a process that answers "gone" is given for its exit event to arrive.
constexpr int64_t kExitEventPatienceNs = 2 * kNsPerSecond;
// How often a cgroup is looked up again: at this age, then ever more rarely.
constexpr int64_t kFirstCgroupRecheckNs = kNsPerSecond;
constexpr int64_t kLastCgroupRecheckNs = 60 * kNsPerSecond;
constexpr size_t kFilesPerSampler = 4;
constexpr size_t kCachedCgroupPaths = 4096;

std::string joined(std::string_view arguments) {
  std::string line(arguments);
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

std::optional<std::string_view> first_argument(std::string_view arguments) {
  const std::string_view first = arguments.substr(0, arguments.find('\0'));
  if (first.empty()) return std::nullopt;
  return first;
}

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::string_view(*text);
}

// The first word of a joined command line: argv[0], as far as it can still be told.
std::optional<std::string_view> first_word(const std::optional<std::string>& cmdline) {
  if (!cmdline) return std::nullopt;
  return std::string_view(*cmdline).substr(0, cmdline->find(' '));
}

std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void set_end(ProcessEnd& end, const ExitFacts& exit, bool is_oom_victim) {
  if (WIFSIGNALED(exit.wait_status)) {
    end.exit_signal = WTERMSIG(exit.wait_status);
    end.core_dumped = WCOREDUMP(exit.wait_status) ? 1 : 0;
    const bool by_oom = is_oom_victim && WTERMSIG(exit.wait_status) == SIGKILL;
    end.reason = by_oom ? EndReason::oom_killed : EndReason::signaled;
  } else {
    end.exit_status = WEXITSTATUS(exit.wait_status);
    end.reason = EndReason::exited;
  }
}

}  // namespace

ProcessTracker::ProcessTracker(Target target, Options options, EventSource* source, TrackerListener& listener)
    : target_(std::move(target)),
      options_(std::move(options)),
      source_(source),
      listener_(listener),
      ns_per_tick_(kNsPerSecond / sysconf(_SC_CLK_TCK)) {}

void ProcessTracker::handle(const KernelEvent& event) {
  if (event.pid == getpid()) return;
  switch (event.kind) {
    case KernelEventKind::exec:
      return on_exec(event);
    case KernelEventKind::fork:
      return on_fork(event);
    case KernelEventKind::rename:
      return on_rename(event);
    case KernelEventKind::exit:
      return on_exit(event);
    case KernelEventKind::oom_victim:
      return on_oom_victim(event);
  }
}

void ProcessTracker::on_exec(const KernelEvent& event) {
  const std::optional<std::string> cgroup = cgroup_path(event.cgroup_id);
  const Judgement judgement = target_.judge(
      {event.comm, event.exe, first_argument(event.arguments), joined(event.arguments), view(cgroup)});
  Tracked* tracked = find(event.pid, event.start_boot_ns, event.boot_ns);
  if (tracked == nullptr) {
    if (judgement == Judgement::unsure) unsure_until_ns_[event.pid] = event.boot_ns + kExitEventPatienceNs;
    if (judgement == Judgement::no && source_ != nullptr) source_->untrack(event.pid);
    if (judgement != Judgement::yes) return;
    tracked = &add(event.pid, event.start_boot_ns, Claim::matched);
    tracked->facts.parent_pid = event.parent_pid;
    tracked->facts.old_comm = std::string(event.old_comm);
  } else if (tracked->is_newborn && tracked->claim == Claim::inherited && judgement != Judgement::yes) {
    return drop(event.pid);
  }
  if (judgement == Judgement::yes) tracked->claim = Claim::matched;
  tracked->facts.comm = event.comm;
  tracked->facts.exe = std::string(event.exe);
  tracked->facts.cmdline = joined(event.arguments);
  tracked->facts.name = full_name(event.comm, event.exe, first_argument(event.arguments));
  tracked->facts.uid = event.uid;
  if (cgroup) tracked->facts.cgroup = cgroup;
  // A launched command's life begins here, not when memlog forked the child that waited.
  if (tracked->is_launched) tracked->facts.start_time_ns = options_.clock.time_ns(event.boot_ns);
  if (tracked->facts.key == 0) {
    become_row(*tracked, SeenBy::exec, event.boot_ns);
  } else {
    tracked->peak_rss_bytes = {};  // the new image has a peak of its own
    change_image(*tracked, event.boot_ns);
    emit_event(EventKind::exec, *tracked, event.boot_ns,
               json_text({{"comm", tracked->facts.comm}, {"exe", event.exe}}));
  }
}

void ProcessTracker::on_fork(const KernelEvent& event) {
  if (find(event.pid, event.start_boot_ns, event.boot_ns) != nullptr) return;
  const auto parent = processes_.find(event.parent_pid);
  const bool parent_is_tracked = parent != processes_.end() && !parent->second.is_launched;
  Candidate candidate{event.comm, {}, {}, {}, {}};
  const std::optional<std::string> cgroup = cgroup_path(event.cgroup_id);
  candidate.cgroup = view(cgroup);
  if (parent_is_tracked) {
    const ProcessStart& facts = parent->second.facts;
    candidate.exe = view(facts.exe);
    candidate.argv0 = facts.name;
    candidate.cmdline = facts.cmdline;
  }
  const bool descends = parent_is_tracked && target_.children;
  if (!descends && target_.judge(candidate) != Judgement::yes) {
    if (source_ != nullptr) source_->untrack(event.pid);
    return;
  }
  ProcessStart facts;
  if (parent_is_tracked) facts = parent->second.facts;
  facts.key = 0;
  Tracked& child = add(event.pid, event.start_boot_ns, descends ? Claim::descendant : Claim::inherited);
  facts.pid = child.facts.pid;
  facts.start_ticks = child.facts.start_ticks;
  facts.start_time_ns = child.facts.start_time_ns;
  facts.parent_pid = event.parent_pid;
  facts.comm = event.comm;
  facts.name = full_name(event.comm, view(facts.exe), facts.name);
  facts.uid = event.uid;
  facts.namespace_pid = {};
  if (cgroup) facts.cgroup = cgroup;
  facts.first_seen_ns = options_.clock.time_ns(event.boot_ns);
  child.facts = std::move(facts);
  child.is_newborn = true;
  ++newborn_count_;
}

void ProcessTracker::on_rename(const KernelEvent& event) {
  Tracked* tracked = find(event.pid, event.start_boot_ns, event.boot_ns);
  if (tracked == nullptr) {
    consider(event.pid, SeenBy::rename, event.boot_ns);
    return;
  }
  if (tracked->is_launched || tracked->facts.comm == event.comm) return;
  const std::string old_comm = std::exchange(tracked->facts.comm, std::string(event.comm));
  tracked->facts.name = full_name(event.comm, view(tracked->facts.exe), first_word(tracked->facts.cmdline));
  if (tracked->is_newborn) {
    const Judgement judgement =
        target_.judge({event.comm, {}, {}, tracked->facts.cmdline, view(tracked->facts.cgroup)});
    if (tracked->claim == Claim::inherited && judgement == Judgement::no) drop(event.pid);
    return;
  }
  change_image(*tracked, event.boot_ns);
  emit_event(EventKind::rename, *tracked, event.boot_ns, json_text({{"from", old_comm}, {"to", event.comm}}));
}

void ProcessTracker::on_exit(const KernelEvent& event) {
  Tracked* tracked = find(event.pid, event.start_boot_ns, event.boot_ns);
  if (tracked == nullptr) {
    unsure_until_ns_.erase(event.pid);
    // Its earlier events were lost, or it was too short for the scan that would have found it.
    if (target_.judge({event.comm, {}, {}, {}, {}}) != Judgement::yes) return;
    tracked = &add(event.pid, event.start_boot_ns, Claim::matched);
    tracked->facts.comm = event.comm;
    tracked->facts.name = event.comm;
    tracked->facts.parent_pid = event.parent_pid;
    tracked->facts.uid = event.uid;
    become_row(*tracked, SeenBy::exit, event.boot_ns);
  } else if (tracked->is_launched) {
    return drop(event.pid);
  } else if (tracked->is_newborn) {
    become_row(*tracked, SeenBy::fork, event.boot_ns);
  }
  end(processes_.find(event.pid), event.boot_ns, &event.exit);
}

void ProcessTracker::on_oom_victim(const KernelEvent& event) {
  const auto process = processes_.find(event.pid);
  OomKill kill;
  kill.time_ns = options_.clock.time_ns(event.boot_ns);
  kill.pid = event.pid;
  kill.tid = event.oom.victim_tid;
  kill.comm = std::string(event.comm);
  kill.uid = event.uid;
  kill.total_vm_bytes = event.oom.total_vm_bytes;
  kill.anon_bytes = event.oom.anon_bytes;
  kill.file_bytes = event.oom.file_bytes;
  kill.shmem_bytes = event.oom.shmem_bytes;
  kill.swap_bytes = event.oom.swap_bytes;
  kill.page_table_bytes = event.oom.page_table_bytes;
  kill.oom_score_adj = event.oom.oom_score_adj;
  kill.trigger_pid = event.oom.trigger_pid;
  kill.trigger_comm = std::string(event.oom.trigger_comm);
  kill.cgroup = cgroup_path(event.cgroup_id);
  kill.limit_cgroup = cgroup_path(event.oom.limit_cgroup_id);
  kill.limit_bytes = event.oom.limit_bytes;
  kill.usage_bytes = event.oom.usage_bytes;
  if (event.oom.limit_cgroup_id != 0) kill.constraint = OomConstraint::memcg;
  if (process != processes_.end() && !process->second.is_launched) {
    Tracked& tracked = process->second;
    if (tracked.is_newborn) become_row(tracked, SeenBy::fork, event.boot_ns);
    tracked.is_oom_victim = true;
    kill.key = tracked.facts.key;
    kill.cmdline = tracked.facts.cmdline;
    emit_event(EventKind::oom_kill, tracked, event.boot_ns,
               json_text({{"limit_cgroup", kill.limit_cgroup.value_or("")},
                          {"trigger_pid", event.oom.trigger_pid}}));
  } else if (const auto facts = read_process_facts(options_.proc, event.pid); facts.ok()) {
    kill.cmdline = facts->cmdline;
  }
  listener_.on_record(std::move(kill));
}

ProcessTracker::Tracked& ProcessTracker::add(pid_t pid, int64_t start_boot_ns, Claim claim) {
  unsure_until_ns_.erase(pid);
  Tracked& tracked = processes_[pid];
  tracked.claim = claim;
  tracked.start_boot_ns = start_boot_ns;
  tracked.facts.pid = pid;
  tracked.facts.start_ticks = start_boot_ns / ns_per_tick_;
  tracked.facts.start_time_ns = options_.clock.time_ns(start_boot_ns);
  return tracked;
}

// What /proc knows better than the event: the image's real path, the whole command line, the inner pid.
void ProcessTracker::fill_from_proc(Tracked& tracked) {
  const Result<ProcessFacts> facts = read_process_facts(options_.proc, static_cast<pid_t>(tracked.facts.pid));
  if (!facts || facts->start_ticks != tracked.facts.start_ticks.value_or(-1)) return;
  ProcessStart& row = tracked.facts;
  if (facts->comm == row.comm || row.comm.empty()) {
    // A process that has executed something else meanwhile has another event coming: its facts belong to that one.
    row.comm = facts->comm;
    if (facts->exe) row.exe = facts->exe;
    if (facts->cmdline) row.cmdline = facts->cmdline;
    row.name = full_name(row.comm, view(row.exe), view(facts->argv0));
  }
  if (facts->memory_cgroup) row.cgroup = facts->memory_cgroup;
  if (facts->uid.has_value()) row.uid = facts->uid;
  row.namespace_pid = facts->namespace_pid;
  if (!row.parent_pid.has_value()) row.parent_pid = facts->parent_pid;
}

void ProcessTracker::become_row(Tracked& tracked, SeenBy seen_by, int64_t boot_ns) {
  if (tracked.is_newborn) --newborn_count_;
  tracked.is_newborn = false;
  tracked.is_launched = false;
  ProcessStart& row = tracked.facts;
  row.key = ++last_key_;
  row.first_seen_by = seen_by;
  if (row.first_seen_ns == 0) row.first_seen_ns = options_.clock.time_ns(boot_ns);
  // The first sample comes before everything slow: the process may be gone in a moment.
  ProcessSample first;
  SampleOutcome outcome = SampleOutcome::gone;
  if (seen_by != SeenBy::exit) {
    ProcessSampler::Options options;
    options.pss = options_.pss;
    options.start_ticks = row.start_ticks;
    options.keep_files = kept_files_ + kFilesPerSampler <= options_.kept_file_limit;
    if (options.keep_files) kept_files_ += kFilesPerSampler;
    tracked.sampler.emplace(options_.proc, static_cast<pid_t>(row.pid), options);
    outcome = tracked.sampler->sample(boot_now_ns(), first);
    first.time_ns = options_.clock.time_ns(boot_now_ns());
    fill_from_proc(tracked);
  }
  tracked.cgroup_read_ns = boot_ns;
  if (row.parent_pid.has_value()) {
    const auto parent = processes_.find(static_cast<pid_t>(row.parent_pid.value()));
    if (parent != processes_.end()) row.parent_key = parent->second.facts.key;
  }
  if (row.cgroup) note_cgroup(*row.cgroup);
  ++attached_count_;
  listener_.on_record(row);
  listener_.on_attached(row);
  const EventKind kind = seen_by == SeenBy::exec   ? EventKind::exec
                         : seen_by == SeenBy::fork ? EventKind::fork
                                                   : EventKind::attach;
  emit_event(kind, tracked, boot_ns, json_text({{"comm", row.comm}, {"by", word(seen_by)}}));
  if (outcome == SampleOutcome::sampled) {
    first.key = row.key;
    tracked.peak_rss_bytes = max_known(first.rss_bytes, first.hwm_bytes);
    listener_.on_record(first);
  }
}

void ProcessTracker::change_image(Tracked& tracked, int64_t boot_ns) {
  fill_from_proc(tracked);
  const ProcessStart& row = tracked.facts;
  if (row.cgroup) note_cgroup(*row.cgroup);
  listener_.on_record(ProcessImage{row.key, options_.clock.time_ns(boot_ns), row.comm, row.name, row.exe,
                                   row.cmdline, row.cgroup});
}

void ProcessTracker::sample(Tracked& tracked, int64_t boot_ns) {
  if (!tracked.sampler) return;
  ProcessSample sample;
  const SampleOutcome outcome = tracked.sampler->sample(boot_ns, sample);
  const bool is_over =
      outcome == SampleOutcome::gone || (outcome == SampleOutcome::no_memory && source_ == nullptr);
  if (is_over && tracked.gone_since_ns == 0) tracked.gone_since_ns = boot_ns;
  if (outcome == SampleOutcome::gone) return;
  sample.key = tracked.facts.key;
  sample.time_ns = options_.clock.time_ns(boot_ns);
  rss_bytes_ += sample.rss_bytes.value_or(0);
  tracked.peak_rss_bytes = max_known(tracked.peak_rss_bytes, max_known(sample.rss_bytes, sample.hwm_bytes));
  listener_.on_record(sample);
  if (outcome == SampleOutcome::unreadable) {
    if (tracked.unreadable_count++ == 0) tracked.unreadable_since_ns = boot_ns;
    tracked.unreadable_error = tracked.sampler->last_error();
  } else {
    settle_unreadable(tracked, boot_ns);
  }
  refresh_cgroup(tracked, boot_ns);
}

// A stretch of unreadable samples becomes one gap, stored when it is over.
void ProcessTracker::settle_unreadable(Tracked& tracked, int64_t boot_ns) {
  if (tracked.unreadable_count == 0) return;
  listener_.on_record(Gap{
      options_.clock.time_ns(tracked.unreadable_since_ns), options_.clock.time_ns(boot_ns),
      GapKind::unreadable, tracked.facts.key, tracked.unreadable_count,
      std::string("its files under /proc could not be read: ") + strerrordesc_np(tracked.unreadable_error)});
  tracked.unreadable_count = 0;
}

void ProcessTracker::sample_all(int64_t boot_ns) {
  rss_bytes_ = 0;
  for (auto& [pid, tracked] : processes_) {
    if (tracked.is_launched) continue;
    if (tracked.is_newborn) {
      become_row(tracked, SeenBy::fork, boot_ns);
      rss_bytes_ += tracked.peak_rss_bytes.value_or(0);
    } else {
      sample(tracked, boot_ns);
    }
  }
  const int64_t patience_ns = source_ == nullptr ? 0 : kExitEventPatienceNs;
  for (auto process = processes_.begin(); process != processes_.end();) {
    const auto next = std::next(process);
    const int64_t gone_since_ns = process->second.gone_since_ns;
    if (gone_since_ns != 0 && boot_ns - gone_since_ns >= patience_ns) end(process, gone_since_ns, nullptr);
    process = next;
  }
  recheck_unsure(boot_ns);
}

void ProcessTracker::end(Processes::iterator process, int64_t boot_ns, const ExitFacts* exit) {
  Tracked& tracked = process->second;
  settle_unreadable(tracked, boot_ns);
  ProcessEnd end;
  end.key = tracked.facts.key;
  end.time_ns = options_.clock.time_ns(boot_ns);
  end.peak_rss_bytes = tracked.peak_rss_bytes;
  if (end.peak_rss_bytes.has_value()) end.peak_source = PeakSource::sampled;
  nlohmann::json detail = nlohmann::json::object();
  if (exit != nullptr) {
    set_end(end, *exit, exit->is_oom_victim || tracked.is_oom_victim);
    if (exit->peak_rss_bytes.has_value()) {
      // VmHWM, seen in samples, is the kernel's own mark too, and may be some pages more exact than the last one.
      end.peak_rss_bytes = max_known(exit->peak_rss_bytes, end.peak_rss_bytes);
      end.peak_source = PeakSource::kernel;
    }
    if (end.exit_status.has_value()) detail["status"] = end.exit_status.value();
    if (end.exit_signal.has_value()) detail["signal"] = end.exit_signal.value();
  }
  detail["reason"] = word(end.reason);
  listener_.on_record(end);
  emit_event(EventKind::exit, tracked, boot_ns, json_text(detail));
  listener_.on_ended(tracked.facts, end);
  forget(process);
}

void ProcessTracker::reaped(pid_t pid, int wait_status, int64_t boot_ns) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  if (process->second.is_launched) return drop(pid);
  ExitFacts exit;
  exit.wait_status = wait_status;
  if (process->second.is_newborn) become_row(process->second, SeenBy::fork, boot_ns);
  end(process, boot_ns, &exit);
}

void ProcessTracker::forget(Processes::iterator process) {
  if (process->second.is_newborn) --newborn_count_;
  if (process->second.sampler && process->second.sampler->keeps_files()) kept_files_ -= kFilesPerSampler;
  if (source_ != nullptr) source_->untrack(process->first);
  processes_.erase(process);
}

void ProcessTracker::drop(pid_t pid) {
  const auto process = processes_.find(pid);
  if (process != processes_.end()) forget(process);
}

void ProcessTracker::finish(int64_t boot_ns) {
  for (auto& [pid, tracked] : processes_) {
    if (tracked.is_newborn && !tracked.is_launched) become_row(tracked, SeenBy::fork, boot_ns);
    settle_unreadable(tracked, boot_ns);
  }
}

ProcessKey ProcessTracker::key_of(pid_t pid) const {
  const auto process = processes_.find(pid);
  return process == processes_.end() ? 0 : process->second.facts.key;
}

bool ProcessTracker::is_current(const Tracked& tracked, int64_t start_boot_ns) const {
  return tracked.facts.start_ticks == Nullable(start_boot_ns / ns_per_tick_);
}

// The tracked process of this identity. Another one under the same pid has ended without its event: it is closed.
ProcessTracker::Tracked* ProcessTracker::find(pid_t pid, int64_t start_boot_ns, int64_t boot_ns) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return nullptr;
  if (is_current(process->second, start_boot_ns)) return &process->second;
  if (process->second.facts.key != 0) {
    end(process, boot_ns, nullptr);
  } else {
    forget(process);
  }
  return nullptr;
}

void ProcessTracker::refresh_cgroup(Tracked& tracked, int64_t boot_ns) {
  const int64_t age_ns = boot_ns - tracked.start_boot_ns;
  if (boot_ns - tracked.cgroup_read_ns < std::clamp(age_ns / 2, kFirstCgroupRecheckNs, kLastCgroupRecheckNs))
    return;
  tracked.cgroup_read_ns = boot_ns;
  const Result<std::string> text =
      read_small_file(options_.proc + "/" + std::to_string(tracked.facts.pid) + "/cgroup");
  if (!text) return;
  const std::optional<std::string> path = parse_memory_cgroup(*text);
  if (!path || path == tracked.facts.cgroup) return;
  tracked.facts.cgroup = path;
  note_cgroup(*path);
  const ProcessStart& row = tracked.facts;
  listener_.on_record(ProcessImage{row.key, options_.clock.time_ns(boot_ns), row.comm, row.name, row.exe,
                                   row.cmdline, row.cgroup});
}

void ProcessTracker::note_cgroup(const std::string& path) {
  if (!options_.cgroup_mount || cgroups_.contains(path)) return;
  const CgroupKey key = ++last_cgroup_key_;
  cgroups_.emplace(path, key);
  listener_.on_record(CgroupStart{key, path, options_.cgroup_mount->version});
}

std::optional<std::string> ProcessTracker::cgroup_path(uint64_t id) {
  if (id == 0 || !options_.cgroup_mount) return std::nullopt;
  const auto known = cgroup_paths_.find(id);
  if (known != cgroup_paths_.end()) return known->second;
  const Result<std::string> path = cgroup_path_from_id(*options_.cgroup_mount, id);
  if (!path) return std::nullopt;
  if (cgroup_paths_.size() >= kCachedCgroupPaths) cgroup_paths_.clear();
  cgroup_paths_.emplace(id, *path);
  return *path;
}

void ProcessTracker::emit_event(EventKind kind, const Tracked& tracked, int64_t boot_ns, std::string detail) {
  listener_.on_record(Event{options_.clock.time_ns(boot_ns), kind, tracked.facts.key, std::move(detail)});
}

}  // namespace memlog
