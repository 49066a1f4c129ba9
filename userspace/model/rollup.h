// SPDX-License-Identifier: Apache-2.0
// The shape of roll-ups, shared by who writes and who reads them.
//
// A series is the samples of one process, run (the host's, or all devices together), cgroup or device. A row of level 1 stands for
// kRollupBase consecutive samples of a series, a row of level n for kRollupGrowth rows of level n - 1. Spans
// are counted in samples, not in time, so that 1 ms and 1 s intervals make the same pyramid. A row is written
// once, when its span is full; the samples since then are read from the levels below, so nothing partial is
// ever stored and nothing has to be mended after a crash.
//
// Of each column the row keeps min, max - min, mean - min and last - min over the known values (NULL: none is
// known): small numbers, which SQLite stores in few bytes. A mean is the mean of the means below it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/columns.h"

namespace memlog {

inline constexpr int64_t kRollupBase = 16;
inline constexpr int64_t kRollupGrowth = 4;
inline constexpr int kRollupMostLevels = 24;  // 16 * 4^23 samples: more than nanoseconds in a century

// How many samples a row of `level` stands for; 1 for level 0, the samples themselves.
constexpr int64_t rollup_samples(int level) {
  if (level <= 0) return 1;
  int64_t samples = kRollupBase;
  for (int i = 1; i < level; ++i) samples *= kRollupGrowth;
  return samples;
}

// Which samples are rolled up and what is kept of them: one such value a table.
template <typename Sample, size_t kCount>
struct Rollup {
  const char* rollup;   // the table of roll-ups
  const char* samples;  // the table of samples
  const char* key;      // the column of both that tells series apart
  std::array<Column<Sample>, kCount> columns;
};

inline constexpr size_t kRollupMostColumns = 8;

// The columns of `all` with these names, which must be there.
template <typename Sample, size_t kAll, size_t kCount>
constexpr std::array<Column<Sample>, kCount> pick_columns(const std::array<Column<Sample>, kAll>& all,
                                                          const std::string_view (&names)[kCount]) {
  static_assert(kCount <= kRollupMostColumns);
  std::array<Column<Sample>, kCount> picked{};
  for (size_t i = 0; i < kCount; ++i) {
    size_t at = 0;
    while (names[i] != all.at(at).name) ++at;
    picked[i] = all[at];
  }
  return picked;
}

inline constexpr Rollup kProcessRollup = {
    "process_rollup", "process_sample", "process_id",
    pick_columns(kProcessColumns, {"rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes",
                                   "hugetlb_bytes", "oom_score"})};
inline constexpr Rollup kHostRollup = {
    "host_rollup", "host_sample", "run_id",
    pick_columns(kHostColumns, {"mem_available_bytes", "swap_free_bytes"})};
inline constexpr Rollup kCgroupRollup = {"cgroup_rollup", "cgroup_sample", "cgroup_id",
                                         pick_columns(kCgroupColumns, {"current_bytes", "limit_bytes"})};
inline constexpr Rollup kDeviceRollup = {
    "device_rollup", "device_sample", "device_id",
    pick_columns(kDeviceColumns, {"dram_bytes", "live_bytes", "ghost_bytes"})};
inline constexpr Rollup kDeviceTotalRollup = {"device_total_rollup", "device_total", "run_id",
                                              kDeviceTotalColumns};

// The same for who needs names only.
struct RollupTable {
  std::string rollup;
  std::string samples;
  std::string key;
  std::vector<std::string> columns;
};
template <typename Sample, size_t kCount>
RollupTable table_of(const Rollup<Sample, kCount>& rollup) {
  RollupTable table{rollup.rollup, rollup.samples, rollup.key, {}};
  for (const Column<Sample>& column : rollup.columns) table.columns.emplace_back(column.name);
  return table;
}
inline RollupTable process_rollup_table() { return table_of(kProcessRollup); }
inline RollupTable host_rollup_table() { return table_of(kHostRollup); }
inline RollupTable cgroup_rollup_table() { return table_of(kCgroupRollup); }
inline RollupTable device_rollup_table() { return table_of(kDeviceRollup); }
inline RollupTable device_total_rollup_table() { return table_of(kDeviceTotalRollup); }

}  // namespace memlog
