// SPDX-License-Identifier: Apache-2.0
// The tracker's looks into /proc: at the start, after lost events, and all the time where there is no event source.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/small_file.h"
#include "collect/device_driver.h"
#include "collect/process_tracker.h"

namespace memlog {
namespace {

constexpr int64_t kUnsurePatienceNs = 2 * kNsPerSecond;

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::string_view(*text);
}

Candidate candidate_from(const ProcessFacts& facts) {
  return {facts.comm, view(facts.exe), view(facts.argv0), facts.cmdline, view(facts.memory_cgroup)};
}

// Ended, and waits to be reaped. A leader that has ended while other threads live is a zombie too, but counts them.
bool is_zombie(const ProcessFacts& facts) {
  return facts.state == 'X' || (facts.state == 'Z' && facts.threads <= 1);
}

}  // namespace

Status ProcessTracker::attach_pid(pid_t pid) {
  const std::string doing = fmt::format("attaching to pid {}", pid);
  const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
  if (!facts) {
    const bool is_gone = facts.error().code == ENOENT || facts.error().code == ESRCH;
    return Error{doing, is_gone ? "no such process" : facts.error().reason,
                 is_gone ? "see `ps -e`, or wait for it by name: --name" : facts.error().hint,
                 facts.error().code};
  }
  if (is_zombie(*facts)) {
    return Error{doing, fmt::format("'{}' has already ended and only waits to be reaped", facts->comm), ""};
  }
  if (!processes_.contains(pid)) attach_found(*facts, Claim::matched, SeenBy::scan, boot_now_ns());
  if (!processes_.contains(pid)) return Error{doing, "it ended at this moment", ""};
  return Ok{};
}

Status ProcessTracker::attach_launched(pid_t pid) {
  const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
  if (!facts) return facts.error();
  Tracked& tracked = add(pid, facts->start_ticks * ns_per_tick_, Claim::descendant);
  tracked.facts.parent_pid = facts->parent_pid;
  tracked.is_newborn = true;
  tracked.is_launched = true;
  ++newborn_count_;
  return source_ == nullptr ? Ok{} : source_->track(pid, tracked.start_boot_ns);
}

void ProcessTracker::launched_has_executed(pid_t pid, int64_t boot_ns) {
  const auto process = processes_.find(pid);
  if (process == processes_.end() || !process->second.is_launched) return;
  process->second.facts.start_time_ns = options_.clock.time_ns(boot_ns);
  fill_from_proc(process->second);
  become_row(process->second, SeenBy::scan, boot_ns);
}

bool ProcessTracker::awaits_exec(pid_t pid) const {
  const auto process = processes_.find(pid);
  return process != processes_.end() && process->second.is_launched;
}

void ProcessTracker::scan(int64_t boot_ns) {
  const Result<std::vector<pid_t>> pids = list_pids(options_.proc);
  if (!pids) return;
  for (const pid_t pid : *pids) {
    const auto process = processes_.find(pid);
    if (process == processes_.end()) {
      consider(pid, SeenBy::scan, boot_ns);
    } else if (source_ == nullptr) {
      refresh_by_scan(process, boot_ns);
    }
  }
  scan_cards(boot_ns);
  if (target_.children) adopt_descendants(*pids, boot_ns);
}

void ProcessTracker::scan_members(int64_t boot_ns) {
  scan_cards(boot_ns);
  if (!target_.cgroup || !options_.cgroup_mount) return;
  const Result<std::vector<pid_t>> pids = list_cgroup_pids(*options_.cgroup_mount, *target_.cgroup);
  if (!pids) return;
  for (const pid_t pid : *pids) {
    if (!processes_.contains(pid)) consider(pid, SeenBy::scan, boot_ns);
  }
}

void ProcessTracker::scan_cards(int64_t boot_ns) {
  for (const int card : target_.devices) {
    const Result<std::vector<pid_t>> users = read_device_users(options_.proc, card);
    if (!users) continue;
    for (const pid_t pid : *users) {
      if (processes_.contains(pid) || pid == getpid()) continue;
      const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
      if (facts && !is_zombie(*facts)) attach_found(*facts, Claim::matched, SeenBy::scan, boot_ns);
    }
  }
}

// Attaches, generation by generation, every process whose parent is tracked.
void ProcessTracker::adopt_descendants(const std::vector<pid_t>& pids, int64_t boot_ns) {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : pids) {
    if (processes_.contains(pid) || pid == getpid()) continue;
    const Result<std::string> text = read_small_file(fmt::format("{}/{}/stat", options_.proc, pid), 1024);
    if (!text) continue;
    const Result<StatFields> stat = parse_stat(*text);
    if (stat && stat->state != 'Z') children[stat->parent_pid].push_back(pid);
  }
  std::vector<pid_t> parents;
  for (const auto& [pid, tracked] : processes_) {
    if (!tracked.is_launched) parents.push_back(pid);
  }
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    const auto found = children.find(parent);
    if (found == children.end()) continue;
    for (const pid_t pid : found->second) {
      const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
      if (!facts) continue;
      attach_found(*facts, Claim::descendant, SeenBy::scan, boot_ns);
      parents.push_back(pid);
    }
  }
}

// One process that is not tracked: is it a target?
void ProcessTracker::consider(pid_t pid, SeenBy seen_by, int64_t boot_ns) {
  if (pid == getpid()) return;
  if (!target_.match && !target_.cgroup) {
    // The name decides alone, and most processes fall out here for the price of one small read.
    const Result<std::string> comm = read_comm(options_.proc, pid);
    if (!comm || target_.judge({*comm, {}, {}, {}, {}}) == Judgement::no) return;
  }
  const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
  if (!facts || is_zombie(*facts)) return;
  switch (target_.judge(candidate_from(*facts))) {
    case Judgement::no:
      return;
    case Judgement::unsure:
      unsure_until_ns_.try_emplace(pid, boot_ns + kUnsurePatienceNs);
      return;
    case Judgement::yes:
      attach_found(*facts, Claim::matched, seen_by, boot_ns);
      return;
  }
}

void ProcessTracker::attach_found(const ProcessFacts& facts, Claim claim, SeenBy seen_by, int64_t boot_ns) {
  Tracked& tracked = add(facts.pid, facts.start_ticks * ns_per_tick_, claim);
  tracked.facts.comm = facts.comm;
  tracked.facts.name = full_name(facts.comm, view(facts.exe), view(facts.argv0));
  if (source_ != nullptr) {
    const Status tracking = source_->track(facts.pid, tracked.start_boot_ns);
    // It may have ended before the kernel side knew of it: then no exit event will ever come.
    const Result<ProcessFacts> still = read_process_facts(options_.proc, facts.pid);
    if (!tracking || !still || still->start_ticks != facts.start_ticks) return drop(facts.pid);
  }
  become_row(tracked, seen_by, boot_ns);
}

// Without events: has this tracked process become another one, or taken another name or image?
void ProcessTracker::refresh_by_scan(Processes::iterator process, int64_t boot_ns) {
  const pid_t pid = process->first;
  const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
  if (!facts) return;  // the next sample finds it gone
  Tracked& tracked = process->second;
  if (Nullable(facts->start_ticks) != tracked.facts.start_ticks) {
    end(process, boot_ns, nullptr);
    return consider(pid, SeenBy::scan, boot_ns);
  }
  if (tracked.is_launched) return;
  if (is_zombie(*facts) || (facts->comm == tracked.facts.comm && facts->exe == tracked.facts.exe)) return;
  tracked.facts.comm = facts->comm;
  change_image(tracked, boot_ns);
}

// Candidates whose name starts like a longer --name: exe and title may not have been in place at the first look.
void ProcessTracker::recheck_unsure(int64_t boot_ns) {
  for (auto unsure = unsure_until_ns_.begin(); unsure != unsure_until_ns_.end();) {
    const auto [pid, until_ns] = *unsure++;
    const Result<ProcessFacts> facts = read_process_facts(options_.proc, pid);
    const Judgement judgement = facts ? target_.judge(candidate_from(*facts)) : Judgement::no;
    if (judgement == Judgement::yes) {
      attach_found(*facts, Claim::matched, SeenBy::rename, boot_ns);
      continue;
    }
    if (judgement == Judgement::unsure && boot_ns < until_ns) continue;
    if (judgement == Judgement::unsure && told_prefix_only_.insert(facts->comm).second)
      listener_.on_name_prefix_only(facts->comm, pid);
    unsure_until_ns_.erase(pid);
    if (source_ != nullptr) source_->untrack(pid);
  }
}

}  // namespace memlog
