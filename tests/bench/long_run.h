// SPDX-License-Identifier: Apache-2.0
// One process sampled each millisecond, as long as a benchmark wants it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/run_writer.h"

namespace memlog {

constexpr int64_t kLongRunStart = 1'780'662'896 * kNsPerSecond;

inline void store_long_run(const std::string& path, int64_t count) {
  RunStart run;
  run.interval_ns = kNsPerMs;
  run.started_ns = kLongRunStart;
  run.event_source = "scan";
  auto writer = or_die(RunWriter::begin(path, run));
  std::vector<Record> records;
  ProcessStart process;
  process.key = 1;
  process.pid = 7;
  process.comm = process.name = "worker";
  process.first_seen_ns = kLongRunStart;
  records.emplace_back(process);
  uint64_t noise = 1;
  for (int64_t tick = 0; tick < count; ++tick) {
    noise = noise * 6364136223846793005U + 1442695040888963407U;
    ProcessSample sample;
    sample.key = 1;
    sample.time_ns = kLongRunStart + tick * kNsPerMs;
    sample.anon_bytes = ((int64_t{1} << 20U) + tick % 100'000 + static_cast<int64_t>(noise >> 52U)) * 4096;
    sample.file_bytes = int64_t{20'000} * 4096;
    sample.shmem_bytes = 0;
    sample.rss_bytes = sample.anon_bytes + sample.file_bytes;
    sample.swap_bytes = 0;
    sample.hugetlb_bytes = 0;
    sample.oom_score = 667;
    records.emplace_back(sample);
    if (records.size() < 1000 && tick + 1 < count) continue;
    or_die(writer->write(records));
    records.clear();
  }
  or_die(writer->end({kLongRunStart + count * kNsPerMs, "benchmark"}));
}

}  // namespace memlog
