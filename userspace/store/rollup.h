// SPDX-License-Identifier: Apache-2.0
// RollupWriter: keeps the roll-ups of one kind of series while its samples are stored (see model/rollup.h).
//
// add() is called for each sample that is stored and inserts the rows that it completes, so a row and its
// last sample are in one transaction. What spans are still filling lives in memory only; commit() and
// roll_back() follow the transaction's fate. Where a sample is not newer than the one before it, the
// series loses its roll-ups (readers then read its samples) until rebuild_disordered().
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "model/nullable.h"
#include "model/rollup.h"
#include "store/database.h"

namespace memlog {

class RollupWriter {
 public:
  RollupWriter() = default;
  static Result<RollupWriter> prepare(Database& database, const RollupTable& table);

  // `values` in the order of the table's columns.
  Status add(int64_t key, int64_t time_ns, std::span<const Nullable> values);
  // `rollup`: the one that this was prepared for.
  template <typename Sample, size_t kCount>
  Status add(int64_t key, const Sample& sample, const Rollup<Sample, kCount>& rollup) {
    std::array<Nullable, kCount> values;
    for (size_t i = 0; i < kCount; ++i) values[i] = sample.*rollup.columns[i].field;
    return add(key, sample.time_ns, values);
  }
  // Samples of the series were stored beside add(): it gets its rows at rebuild_disordered().
  void leave_to_rebuild(int64_t key) { disordered_.insert(key); }
  // The series is forgotten kKeptEnds ends later, as in RowIds.
  void mark_ended(int64_t key) { ended_now_.push_back(key); }

  void commit();
  void roll_back();

  // Builds the roll-ups of disordered series anew from what is stored. Call it inside a transaction.
  Status rebuild_disordered();

 private:
  struct Measure {
    int64_t min = 0;
    int64_t max = 0;
    int64_t last = 0;
    int64_t known_count = 0;  // parts that know a value
    __int128 sum = 0;         // of their means
    int64_t mean() const {
      // Nearly always the sum fits a word, whose division is ten times as fast.
      const auto word = static_cast<int64_t>(sum);
      return word == sum ? word / known_count : static_cast<int64_t>(sum / known_count);
    }
  };
  struct Span {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int64_t longest_step_ns = 0;
    int64_t part_count = 0;
    std::array<Measure, kRollupMostColumns> measures;
  };
  struct Series {
    int64_t last_ns = INT64_MIN;
    uint64_t batch = 0;  // in which it was last changed
    bool is_disordered = false;
    std::vector<Span> levels;  // the span that is filling, from level 1 upwards
  };

  Series& touch(int64_t key);
  Status extend(int64_t key, Series& series, int64_t time_ns, std::span<const Nullable> values);
  void absorb(Span& whole, const Span& part) const;
  Status insert(int64_t key, int level, const Span& span);
  Status rebuild(int64_t key);

  size_t column_count_ = 0;
  Statement insert_;
  Statement delete_;
  Statement select_samples_;
  std::unordered_map<int64_t, Series> series_;
  std::unordered_map<int64_t, Series> before_;  // as it was before the open transaction
  std::unordered_set<int64_t> disordered_;
  std::vector<int64_t> ended_now_;
  std::deque<int64_t> ended_;
  uint64_t batch_ = 1;
};

// Those of all kinds of series, for who stores all of them.
struct RollupWriters {
  RollupWriter process;
  RollupWriter host;
  RollupWriter cgroup;
  RollupWriter device;
  RollupWriter device_total;

  Status prepare(Database& database);
  std::array<RollupWriter*, 5> all() { return {&process, &host, &cgroup, &device, &device_total}; }
  void commit();
  void roll_back();
  Status rebuild_disordered();
};

}  // namespace memlog
