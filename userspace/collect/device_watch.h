// SPDX-License-Identifier: Apache-2.0
// DeviceWatch: the accelerator chips of a recording. Each look at their regions becomes records, and what a
// user must know becomes one calm line, said once and stored as a note: stale regions, unreadable ones, chips
// that differ where they should not. Regions are only read; memlog never removes one.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "collect/device_sampler.h"
#include "model/records.h"

namespace memlog {

class DeviceWatch {
 public:
  struct Options {
    std::string directory = "/dev/shm";
    std::string proc = "/proc";
    RunClock clock;
    size_t kept_file_limit = 64;   // descriptors for regions
    size_t kept_pidfd_limit = 64;  // descriptors for processes that use them
    // The recorded process of this pid (here), 0: none is.
    std::function<ProcessKey(pid_t)> key_of = [](pid_t) { return ProcessKey{0}; };
  };
  struct Sink {
    std::function<void(Record)> record;
    std::function<void(std::string)> say;
  };

  explicit DeviceWatch(Options options);

  // Looks at all regions. `boot_ns` is the tick that the process samples carry too.
  void sample(int64_t boot_ns, const Sink& sink);

 private:
  struct User {
    std::string name;
    DeviceUserState state = DeviceUserState::unknown;
    pid_t pid = 0;  // here
    uint64_t seen_tick = 0;
  };
  struct Device {
    DeviceStart facts;
    bool has_told_ghost = false;
    int told_code = 0;
    bool has_told_doubt = false;
    int64_t not_ready_since_ns = 0;  // boot time; 0: it is ready
    std::map<int64_t, DeviceChipSample> chips;
    std::map<int64_t, User> users;  // by the pid in the slot
  };
  // Of several devices with the same thing to say.
  struct Finding {
    std::vector<std::string> regions;
    int64_t bytes = 0;
    bool is_in_use = false;  // one of them at least
  };
  struct Tick {
    int64_t boot_ns = 0;
    int64_t time_ns = 0;
    const Sink* sink = nullptr;
    size_t region_count = 0;
    DeviceTotal total;
    std::map<std::string, Finding> ghosts;      // by whose they are
    std::map<std::string, Finding> unreadable;  // by the reason
    // Devices with live users: do they move in lockstep?
    size_t busy_count = 0;
    bool is_one_workload = true;
    bool is_all_recorded = true;
    std::vector<int64_t> busy_pids;
    std::string least_region;
    std::string most_region;
    int64_t least_bytes = 0;
    int64_t most_bytes = 0;
  };

  void take(const DeviceReading& reading, Tick& tick);
  void take_region(Device& device, const DeviceReading& reading, Tick& tick);
  void take_facts(Device& device, const DeviceReading& reading, bool is_new, const Tick& tick);
  void take_chips(Device& device, const DeviceRegion& region, const Tick& tick);
  void take_users(Device& device, const DeviceReading& reading, const Tick& tick);
  void note_problem(Device& device, const DeviceReading& reading, Tick& tick);
  void note_ghost(Device& device, const DeviceReading& reading, Tick& tick);
  void note_lockstep(const DeviceReading& reading, Tick& tick);
  void add_to_total(const DeviceReading& reading, Tick& tick) const;
  void end_tick(Tick& tick);
  void tell_ghosts(const Tick& tick);
  void tell_spread(const Tick& tick);
  void tell(const Tick& tick, const std::string& text);
  // `detail` goes into the note beside the text, for who looks for it.
  void tell(const Tick& tick, const std::string& text, nlohmann::json detail);

  Options options_;
  DeviceSampler sampler_;
  std::map<uint64_t, Device> devices_;
  DeviceKey last_key_ = 0;
  uint64_t tick_ = 0;
  size_t spread_ticks_ = 0;  // in a row
  bool has_told_spread_ = false;
  bool has_told_none_ = false;
  bool has_told_listing_ = false;
  bool has_told_left_out_ = false;
};

}  // namespace memlog
