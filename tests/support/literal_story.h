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
