// SPDX-License-Identifier: Apache-2.0
// The shape of roll-ups, shared by who writes and who reads them.
//
// A series is the samples of one process, run (the host's) or cgroup. A row of level 1 stands for
// kRollupBase consecutive samples of a series, a row of level n for kRollupGrowth rows of level n - 1. Spans
// are counted in samples, not in time, so that 1 ms and 1 s intervals make the same pyramid. A row is written
// once, when its span is full; the samples since then are read from the levels below, so nothing partial is
// ever stored and nothing has to be mended after a crash.
//
// Of each column the row keeps min, max - min, mean - min and last - min over the known values (NULL: none is
// known): small numbers, which SQLite stores in few bytes. A mean is the mean of the means below it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

struct RollupTable {
  std::string rollup;   // "process_rollup"
  std::string samples;  // "process_sample"
  std::string key;      // "process_id"
  std::vector<std::string> columns;
};

inline constexpr size_t kRollupMostColumns = 8;

template <typename Columns>
RollupTable rollup_table(const std::string& name, const std::string& key, const Columns& columns) {
  static_assert(std::tuple_size_v<Columns> <= kRollupMostColumns);
  RollupTable table{name + "_rollup", name + "_sample", key, {}};
  for (const auto& column : columns) table.columns.emplace_back(column.name);
  return table;
}
inline RollupTable process_rollup_table() {
  return rollup_table("process", "process_id", kProcessRollupColumns);
}
inline RollupTable host_rollup_table() { return rollup_table("host", "run_id", kHostRollupColumns); }
inline RollupTable cgroup_rollup_table() { return rollup_table("cgroup", "cgroup_id", kCgroupRollupColumns); }

}  // namespace memlog
