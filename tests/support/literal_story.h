// SPDX-License-Identifier: Apache-2.0
// A run with a bit of everything: a tree, an exit, a crash, an OOM kill in a small cgroup, gaps and notes.
#pragma once

#include <string>
#include <vector>

#include "support/run_fixture.h"

namespace memlog::testing {

constexpr int64_t kMib = int64_t{1} << 20U;

inline Record story_sample(ProcessKey key, int64_t tick, int64_t rss_mib) {
  ProcessSample sample = literal_sample(key, tick, rss_mib * kMib);
  sample.anon_bytes = rss_mib * kMib - kMib / 2;
  sample.file_bytes = kMib / 2;
  sample.swap_bytes = 0;
  sample.oom_score = 600 + tick;
  return sample;
}

inline std::vector<Record> story_of_processes() {
  ProcessStart main = literal_process(1, "train.py");
  main.parent_pid = 1;
  main.start_time_ns = kStart - 2 * kNsPerSecond;
  main.cmdline = "python3 train.py --epochs 3";
  ProcessStart loader = literal_process(2, "loader \x1b[31mred\n");
  loader.parent_key = 1;
  ProcessStart eater = literal_process(3, "eater");
  eater.parent_key = 1;
  ProcessStart short_one = literal_process(4, "cc1plus");
  short_one.parent_key = 3;
  ProcessStart crashed = literal_process(5, "worker-with-a-very-long-name-that-goes-on-and-on");
  crashed.parent_key = 1;
  return {
      main,
      loader,
      eater,
      short_one,
      crashed,
      story_sample(1, 0, 100),
      story_sample(2, 0, 20),
      story_sample(3, 1, 24),
      story_sample(1, 2, 180),
      ProcessEnd{4, kStart + 300 * kNsPerMs, EndReason::exited, 0, {}, {}, 61 * kMib, PeakSource::kernel},
      ProcessEnd{
          3, kStart + 3 * kNsPerSecond, EndReason::oom_killed, {}, 9, 0, 31 * kMib, PeakSource::kernel},
      ProcessEnd{5, kStart + 4 * kNsPerSecond, EndReason::signaled, {}, 11, 1, 5 * kMib, PeakSource::kernel},
      ProcessEnd{1, kStart + 5 * kNsPerSecond, EndReason::exited, 3, {}, {}, 190 * kMib, PeakSource::kernel}};
}

inline std::vector<Record> story_of_surroundings() {
  OomKill kill;
  kill.time_ns = kStart + 3 * kNsPerSecond;
  kill.key = 3;
  kill.pid = 1003;
  kill.comm = "eater";
  kill.anon_bytes = 30 * kMib;
  kill.file_bytes = kMib;
  kill.shmem_bytes = 0;
  kill.swap_bytes = 7 * kMib;
  kill.trigger_pid = 1005;
  kill.trigger_comm = "worker-with-a-v";
  kill.constraint = OomConstraint::memcg;
  kill.limit_cgroup = "/jobs/small";
  kill.limit_bytes = 32 * kMib;
  HostSample calm;
  calm.time_ns = kStart;
  calm.mem_total_bytes = 8192 * kMib;
  calm.mem_available_bytes = 6000 * kMib;
  calm.swap_total_bytes = 1024 * kMib;
  calm.swap_free_bytes = 1024 * kMib;
  calm.psi_some_ns = 5;
  calm.psi_full_ns = 5;
  HostSample tight = calm;
  tight.time_ns = kStart + 2 * kNsPerSecond;
  tight.mem_available_bytes = 512 * kMib;
  tight.swap_free_bytes = 900 * kMib;
  tight.psi_some_ns = 5 + 1500 * kNsPerMs;
  return {CgroupStart{1, "/jobs/small", 2},
          CgroupSample{1, kStart, 20 * kMib, 25 * kMib, 32 * kMib, 0},
          CgroupSample{1, kStart + 3 * kNsPerSecond, 31 * kMib, 32 * kMib, 32 * kMib, 1},
          kill,
          calm,
          tight,
          Gap{kStart + kNsPerSecond, kStart + 2 * kNsPerSecond, GapKind::missed_ticks, 0, 1, ""},
          Gap{kStart, kStart, GapKind::unreadable, 2, {}, "oom_score of pid 1002: Permission denied"},
          Event{kStart, EventKind::note, 0, R"({"text":"the clock stepped by -1 h"})"},
          Event{kStart + kNsPerSecond, EventKind::mark, 0, R"({"text":"epoch 2"})"}};
}

inline DeviceStart story_device(DeviceKey key, const std::string& region, int64_t device_id) {
  DeviceStart device;
  device.key = key;
  device.first_seen_ns = kStart;
  device.directory = "/dev/shm";
  device.region = region;
  device.layout_version = 3;
  device.asic_id = 141176416515936 + key;
  device.device_id = device_id;
  return device;
}

inline DeviceSample story_device_sample(DeviceKey key, int64_t tick, int64_t live_mib, int64_t ghost_mib) {
  DeviceSample sample;
  sample.key = key;
  sample.time_ns = kStart + tick * kNsPerSecond;
  sample.dram_bytes = (live_mib + ghost_mib) * kMib;
  sample.live_bytes = live_mib * kMib;
  sample.ghost_bytes = ghost_mib * kMib;
  sample.unknown_bytes = 0;
  sample.user_count = 2;
  return sample;
}

// Three chips: one that train.py grows on, one with 4 GiB of a process that is dead, one of another user.
inline std::vector<Record> story_of_devices() {
  std::vector<Record> records = {
      story_device(1, "tt_device_7_memory", 0), story_device(2, "tt_device_8_memory", 1),
      DeviceStart{3, kStart, "/dev/shm", "tt_device_9_memory", {}, {}, {}, {}, {}}};
  for (int64_t tick = 0; tick < 3; ++tick) {
    const int64_t time_ns = kStart + tick * kNsPerSecond;
    records.emplace_back(story_device_sample(1, tick, 1024 * (tick + 1), 0));
    records.emplace_back(story_device_sample(2, tick, 0, 4096));
    DeviceSample unreadable;
    unreadable.key = 3;
    unreadable.time_ns = time_ns;
    unreadable.unreadable_reason = "Permission denied";
    records.emplace_back(unreadable);
    records.emplace_back(DeviceProcessSample{1, 1, time_ns, 1024 * (tick + 1) * kMib, 7, {}, {}, {}});
    records.emplace_back(DeviceTotal{time_ns, 2, (1024 * (tick + 1) + 4096) * kMib, 1024 * (tick + 1) * kMib,
                                     4096 * kMib, 1024 * (tick + 1) * kMib, 4096 * kMib});
  }
  records.emplace_back(DeviceUserChange{1, kStart, 1001, "train.py", DeviceUserState::live, 1024 * kMib});
  records.emplace_back(DeviceUserChange{2, kStart, 4711, "worker", DeviceUserState::dead, 4096 * kMib});
  records.emplace_back(DeviceChipSample{2, 5, kStart, 1, 4096 * kMib, {}, {}, {}, {}});
  records.emplace_back(Event{
      kStart + kNsPerSecond, EventKind::note, 0,
      R"({"topic":"device","about":"spread","device_count":2,"least_region":"tt_device_7_memory",)"
      R"("least_bytes":1073741824,"most_region":"tt_device_8_memory","most_bytes":4294967296,"text":"they differ"})"});
  return records;
}

// Stores the story in the database at `path`; the run's id.
inline int64_t record_story(const std::string& path, const std::string& label = "nightly") {
  Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path, literal_run(label));
  if (!writer || !(*writer)->write(story_of_processes()) || !(*writer)->write(story_of_surroundings()) ||
      !(*writer)->end({kStart + 5 * kNsPerSecond, "the last process ended"})) {
    ADD_FAILURE() << "the story could not be stored";
    return 0;
  }
  return (*writer)->run_id();
}

}  // namespace memlog::testing
