// SPDX-License-Identifier: Apache-2.0
#include "collect/device_users.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <vector>

#include "base/clock.h"
#include "base/small_file.h"
#include "base/text.h"
#include "collect/process_facts.h"

namespace memlog {
namespace {

constexpr const char* kKernelProc = "/proc";
constexpr int64_t kClockSlackNs = 2 * kNsPerSecond;  // between a process's start and the wall clock it writes
constexpr int64_t kRejudgeIntervalNs =
    kNsPerSecond;  // of a slot that was updated although its process seems dead
constexpr int64_t kUnknownIntervalNs = 10 * kNsPerSecond;
constexpr int64_t kInnerScanIntervalNs = kNsPerSecond;
constexpr uint64_t kForgetTicks = 64;
constexpr size_t kMostMapsBytes = size_t{16} << 20U;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO: part of the kernel's ABI

// Takes the next blank-separated word off `line`.
std::string_view take_word(std::string_view& line) {
  line = trim(line);
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

template <typename Number>
Number number_of(std::string_view text, int base) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

// A line of /proc/PID/maps: "7f00-7f01 rw-s 00000000 00:1a 35 /dev/shm/tt_device_7_memory". Some file systems
// show another device number there than stat() does: then the name has to do.
bool is_mapping_of(std::string_view line, const FileIdentity& region) {
  for (int i = 0; i < 3; ++i) take_word(line);
  const std::string_view device = take_word(line);
  const std::string_view inode = take_word(line);
  if (number_of<uint64_t>(inode, 10) != region.inode) return false;
  const size_t colon = device.find(':');
  if (colon == std::string_view::npos) return false;
  const dev_t mapped = makedev(number_of<unsigned>(device.substr(0, colon), 16),
                               number_of<unsigned>(device.substr(colon + 1), 16));
  return mapped == region.device || line.find("/tt_device_") != std::string_view::npos;
}

// The pid in the innermost namespace, where that is not the reader's own: the last of "NSpid:\t4711\t1".
std::optional<int32_t> inner_pid(std::string_view status) {
  const size_t at = status.find("\nNSpid:");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view line = status.substr(at + 7);
  line = line.substr(0, line.find('\n'));
  take_word(line);
  std::string_view last;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) last = word;
  if (last.empty()) return std::nullopt;
  return number_of<int32_t>(last, 10);
}

}  // namespace

bool reader_sees_every_process(const std::string& proc) {
  struct stat own{};
  if (stat((proc + "/self/ns/pid").c_str(), &own) != 0 || own.st_ino != kFirstPidNamespace) return false;
  return read_small_file(proc + "/1/stat", 1024).ok();  // mounted with hidepid it does not show all
}

DeviceUsers::DeviceUsers(Options options)
    : options_(std::move(options)), ns_per_clock_tick_(kNsPerSecond / sysconf(_SC_CLK_TCK)) {}

void DeviceUsers::begin_tick(int64_t now_ns, int64_t wall_minus_boot_ns) {
  now_ns_ = now_ns;
  wall_minus_boot_ns_ = wall_minus_boot_ns;
  ++tick_;
  poll_pidfds();
  if (tick_ % kForgetTicks == 0) forget_unused();
}

DeviceUsers::Verdict DeviceUsers::judge(const DeviceSlot& slot, const FileIdentity& region) {
  const auto [found, is_new] = rulings_.try_emplace(Key{slot.pid, region});
  Ruling& ruling = found->second;
  ruling.used_tick = tick_;
  if (ruling.pid != 0 && is_alive(ruling.pid)) return {DeviceUserState::live, ruling.pid};
  if (ruling.pid != 0) ruling = {0, DeviceUserState::dead, slot.last_update_ns, now_ns_, tick_};
  const bool was_updated = slot.last_update_ns != ruling.judged_update_ns;
  const int64_t patience_ns = was_updated                                ? kRejudgeIntervalNs
                              : ruling.state == DeviceUserState::unknown ? kUnknownIntervalNs
                                                                         : INT64_MAX;
  if (is_new || now_ns_ - ruling.judged_ns >= patience_ns) judge_anew(slot, region, ruling);
  return ruling.pid != 0 ? Verdict{DeviceUserState::live, ruling.pid} : Verdict{ruling.state, 0};
}

void DeviceUsers::judge_anew(const DeviceSlot& slot, const FileIdentity& region, Ruling& ruling) {
  ruling = {0, DeviceUserState::unknown, slot.last_update_ns, now_ns_, tick_};
  bool is_hidden = false;
  if (const std::optional<Life> life = read_life(slot.pid); life && life->is_alive) {
    if (had_started_by(life->start_ticks, slot.last_update_ns) && has_name(slot.pid, slot.name)) {
      return take(slot.pid, life->start_ticks, ruling);
    }
    const Mapped mapped = try_stranger(slot.pid, region, ruling);
    if (mapped == Mapped::yes) return;
    is_hidden = mapped == Mapped::unreadable;
  }
  scan_inner_processes();
  const auto [first, last] = inner_processes_.equal_range(slot.pid);
  for (auto inner = first; inner != last; ++inner) {
    const Mapped mapped = try_stranger(inner->second, region, ruling);
    if (mapped == Mapped::yes) return;
    is_hidden = is_hidden || mapped == Mapped::unreadable;
  }
  if (!is_hidden && options_.sees_every_process) ruling.state = DeviceUserState::dead;
}

// Takes the process for the slot's where it has the region mapped.
DeviceUsers::Mapped DeviceUsers::try_stranger(pid_t pid, const FileIdentity& region, Ruling& ruling) {
  const std::optional<Life> life = read_life(pid);
  if (!life || !life->is_alive) return Mapped::no;
  const Mapped mapped = maps_file(pid, region);
  if (mapped == Mapped::yes) take(pid, life->start_ticks, ruling);
  return mapped;
}

void DeviceUsers::take(pid_t pid, int64_t start_ticks, Ruling& ruling) {
  ruling.pid = pid;
  Process& process = processes_[pid];
  process.used_tick = tick_;
  process.checked_tick = tick_;
  if (process.start_ticks == start_ticks && process.is_alive) return;
  if (process.pidfd) --kept_pidfds_;
  process.pidfd.reset();
  process.start_ticks = start_ticks;
  process.is_alive = true;
  if (options_.proc != kKernelProc || kept_pidfds_ >= options_.kept_pidfd_limit) return;
  OwnedFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return;
  // It may have become another process between the two.
  const std::optional<Life> life = read_life(pid);
  if (!life || life->start_ticks != start_ticks) return;
  process.pidfd = std::move(pidfd);
  ++kept_pidfds_;
}

bool DeviceUsers::is_alive(pid_t pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return false;
  Process& process = found->second;
  process.used_tick = tick_;
  if (process.is_alive && !process.pidfd && process.checked_tick != tick_) {
    process.checked_tick = tick_;
    const std::optional<Life> life = read_life(pid);
    process.is_alive = life && life->is_alive && life->start_ticks == process.start_ticks;
  }
  return process.is_alive;
}

void DeviceUsers::poll_pidfds() {
  if (kept_pidfds_ == 0) return;
  std::vector<pollfd> polled;
  std::vector<Process*> owners;
  for (auto& [pid, process] : processes_) {
    if (!process.pidfd) continue;
    polled.push_back({process.pidfd.get(), POLLIN, 0});
    owners.push_back(&process);
  }
  if (poll(polled.data(), polled.size(), 0) <= 0) return;
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    owners[i]->is_alive = false;
    owners[i]->pidfd.reset();
    --kept_pidfds_;
  }
}

void DeviceUsers::forget_unused() {
  std::erase_if(rulings_, [&](const auto& item) { return item.second.used_tick + kForgetTicks < tick_; });
  std::erase_if(processes_, [&](const auto& item) {
    const bool is_unused = item.second.used_tick + kForgetTicks < tick_;
    if (is_unused && item.second.pidfd) --kept_pidfds_;
    return is_unused;
  });
}

std::optional<DeviceUsers::Life> DeviceUsers::read_life(pid_t pid) const {
  const Result<std::string> text = read_small_file(fmt::format("{}/{}/stat", options_.proc, pid), 1024);
  if (!text) return std::nullopt;
  const Result<StatFields> stat = parse_stat(*text);
  if (!stat) return std::nullopt;
  // The leader of a process whose other threads live on is a zombie too, but counts them.
  const bool is_dead = stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
  return Life{stat->start_ticks, !is_dead};
}

bool DeviceUsers::had_started_by(int64_t start_ticks, Nullable wall_ns) const {
  if (!wall_ns.has_value()) return true;
  return start_ticks * ns_per_clock_tick_ + wall_minus_boot_ns_ <= wall_ns.value() + kClockSlackNs;
}

bool DeviceUsers::has_name(pid_t pid, std::string_view name) const {
  if (name.empty() || name == "unknown") return true;  // the writer could not read its own
  const Result<std::string> comm = read_small_file(fmt::format("{}/{}/comm", options_.proc, pid), 64);
  return comm && trim(*comm) == trim(name);
}

DeviceUsers::Mapped DeviceUsers::maps_file(pid_t pid, const FileIdentity& region) const {
  const Result<OwnedFd> file = open_file(AT_FDCWD, fmt::format("{}/{}/maps", options_.proc, pid));
  if (!file) return Mapped::unreadable;
  std::string pending;
  std::vector<char> chunk(size_t{64} * 1024);
  for (size_t total = 0; total < kMostMapsBytes;) {
    const ssize_t got = read(file->get(), chunk.data(), chunk.size());
    if (got < 0) return Mapped::unreadable;
    if (got == 0) return Mapped::no;
    total += static_cast<size_t>(got);
    pending.append(chunk.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
      if (is_mapping_of(std::string_view(pending).substr(begin, end - begin), region)) return Mapped::yes;
      begin = end + 1;
    }
    pending.erase(0, begin);
  }
  return Mapped::unreadable;
}

void DeviceUsers::scan_inner_processes() {
  if (now_ns_ - inner_scan_ns_ < kInnerScanIntervalNs) return;
  inner_scan_ns_ = now_ns_;
  inner_processes_.clear();
  const Result<std::vector<pid_t>> pids = list_pids(options_.proc);
  if (!pids) return;
  for (const pid_t pid : *pids) {
    const Result<std::string> status = read_small_file(fmt::format("{}/{}/status", options_.proc, pid), 4096);
    if (!status) continue;
    if (const std::optional<int32_t> inner = inner_pid(*status)) inner_processes_.emplace(*inner, pid);
  }
}

}  // namespace memlog
