// SPDX-License-Identifier: Apache-2.0
// DeviceUsers: whether the processes named in a region's slots are alive.
//
// A slot's pid is what its process calls itself, so a process in a container may have the pid of a stranger
// here. A process here counts as the slot's when it had started by the slot's last update and still has the
// name it wrote there; where either does not hold (or no such pid is here), the region's file in
// /proc/PID/maps decides, and processes of inner pid namespaces are looked at too. "dead" is said only where
// no process can hide: seen from the first pid namespace, or of one that was alive here before. Everything
// else is "unknown".
//
// A process that was found is kept by a pidfd, so the check at each tick is one poll for all, proof against
// pid reuse; without pidfds (old kernel, too many) its start time is read again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/owned_fd.h"
#include "collect/device_region.h"
#include "model/records.h"

namespace memlog {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

class DeviceUsers {
 public:
  struct Options {
    std::string proc = "/proc";
    bool sees_every_process = false;  // see reader_sees_every_process()
    size_t kept_pidfd_limit = 64;     // only used where proc is the kernel's own
  };
  struct Verdict {
    DeviceUserState state = DeviceUserState::unknown;
    pid_t pid = 0;  // here; 0 where it is not known
  };

  explicit DeviceUsers(Options options);

  // To be called before the verdicts of a tick: `now_ns` is boot time, `wall_minus_boot_ns` lays it on the
  // calendar.
  void begin_tick(int64_t now_ns, int64_t wall_minus_boot_ns);
  Verdict judge(const DeviceSlot& slot, const FileIdentity& region);

 private:
  // A process here that is, or was, the one of some slot.
  struct Process {
    int64_t start_ticks = 0;
    OwnedFd pidfd;
    bool is_alive = true;
    uint64_t checked_tick = 0;
    uint64_t used_tick = 0;
  };
  struct Ruling {
    pid_t pid = 0;                                     // here, as long as it is alive
    DeviceUserState state = DeviceUserState::unknown;  // where pid is 0
    Nullable judged_update_ns;                         // the slot's last update that the ruling rests on
    int64_t judged_ns = 0;                             // boot time
    uint64_t used_tick = 0;
  };
  struct Key {
    int32_t pid = 0;
    FileIdentity region;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()((static_cast<uint64_t>(key.region.inode) << 22U) ^
                                   static_cast<uint64_t>(key.pid));
    }
  };
  struct Life {
    int64_t start_ticks = 0;
    bool is_alive = false;
  };
  enum class Mapped : uint8_t { no, yes, unreadable };

  void poll_pidfds();
  void forget_unused();
  bool is_alive(pid_t pid);
  void judge_anew(const DeviceSlot& slot, const FileIdentity& region, Ruling& ruling);
  Mapped try_stranger(pid_t pid, const FileIdentity& region, Ruling& ruling);
  void take(pid_t pid, int64_t start_ticks, Ruling& ruling);
  std::optional<Life> read_life(pid_t pid) const;
  bool had_started_by(int64_t start_ticks, Nullable wall_ns) const;
  bool has_name(pid_t pid, std::string_view name) const;
  Mapped maps_file(pid_t pid, const FileIdentity& region) const;
  void scan_inner_processes();

  Options options_;
  std::unordered_map<Key, Ruling, KeyHash> rulings_;
  std::unordered_map<pid_t, Process> processes_;             // by pid here
  std::unordered_multimap<int32_t, pid_t> inner_processes_;  // of inner namespaces: innermost pid -> pid here
  int64_t inner_scan_ns_ = INT64_MIN / 2;
  int64_t now_ns_ = 0;
  int64_t wall_minus_boot_ns_ = 0;
  int64_t ns_per_clock_tick_ = 0;
  uint64_t tick_ = 0;
  size_t kept_pidfds_ = 0;
};

// Whether a process of `proc` sees all processes of the machine: it is in the first pid namespace.
bool reader_sees_every_process(const std::string& proc = "/proc");

}  // namespace memlog
