// SPDX-License-Identifier: Apache-2.0
// The accelerator chips of a run, and what a reader of its device memory must know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/records.h"
#include "store/database.h"

namespace memlog {

// What became of a process that took a slot of the device.
struct DeviceUserSummary {
  int64_t pid = 0;  // as the process knows itself
  std::string name;
  DeviceUserState state = DeviceUserState::unknown;  // the latest
  Nullable dram_bytes;                               // at that change
};

struct DeviceSummary {
  int64_t id = 0;
  std::string region;
  std::string name;  // "device 3"; with or only the region's number where that is not clear
  std::optional<std::string> directory;
  Nullable layout_version;
  Nullable asic_id;
  Nullable device_id;
  Nullable is_remote;
  Nullable peak_dram_bytes;
  DeviceSample last;                     // the latest sample that could be read; all NULL where there is none
  std::vector<DeviceUserSummary> users;  // by pid
  std::optional<std::string> unreadable_reason;  // of the latest sample of all

  // Somebody may still use it: the region must not be cleared.
  bool is_in_use() const;
};

// By device number, then region. Inside the caller's snapshot.
Result<std::vector<DeviceSummary>> device_summaries(Database& database, int64_t run_id);

// What is left behind by dead processes at the devices' last samples, one sentence for all devices of the same
// processes: "ghost 4.00 GiB of a dead process 4711 (worker) in tt_device_7_memory".
std::vector<std::string> ghost_sentences(const std::vector<DeviceSummary>& devices);
// "rm '/dev/shm/tt_device_7_memory' ...": what clears the stale regions that nobody uses; empty where there is none.
std::string clearing_command(const std::vector<DeviceSummary>& devices);
// Devices of one workload that did not move together for many samples, as the recorder first saw them: "4 devices
// of one workload not in lockstep: 612 MiB in device 3 to 4.00 GiB in device 1"; nullopt: there were none.
Result<std::optional<std::string>> device_spread(Database& database, int64_t run_id,
                                                 const std::vector<DeviceSummary>& devices);

}  // namespace memlog
