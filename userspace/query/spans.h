// SPDX-License-Identifier: Apache-2.0
// SpanReader: the samples of one series (a process, the host, a cgroup) as few or as many spans as wanted.
//
// Roll-up rows of the wanted level where they are whole, and the levels below at the edges and where no row
// is stored yet: what is read is exactly the samples in [from, to], each in one span. A statement is reset
// before the return, so no transaction stays open.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/rollup.h"
#include "store/database.h"

namespace memlog {

struct SpanMeasure {
  bool is_known = false;
  int64_t min = 0;
  int64_t max = 0;
  int64_t mean = 0;
  int64_t last = 0;
};

struct Span {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t longest_step_ns = 0;  // between two neighbouring samples inside
  int64_t sample_count = 1;
  std::array<SpanMeasure, kRollupMostColumns> measures;
};
using SpanSink = std::function<void(const Span&)>;

class SpanReader {
 public:
  // `columns` are some of the table's, in the order in which Span::measures holds them.
  static Result<SpanReader> prepare(Database& database, const RollupTable& table,
                                    const std::vector<std::string>& columns);

  // The coarsest level that the series has rows of; 0: none.
  Result<int> top_level(int64_t key);
  // By time. A row whose longest step exceeds `split_ns` is given as its parts; at most kMostSplits are.
  Status read(int64_t key, int level, int64_t from_ns, int64_t to_ns, int64_t split_ns, const SpanSink& sink);
  // The time of the first sample with the largest value of column `index`, which is known to lie in `span`.
  Result<int64_t> find_peak(int64_t key, Span span, size_t index);
  // The median step between the first samples; 0: there are too few to say.
  Result<int64_t> typical_step_ns(int64_t key);

 private:
  static constexpr int kMostSplits = 400;

  Status read_level(int64_t key, int level, int64_t from_ns, int64_t to_ns, int64_t split_ns,
                    const SpanSink& sink);
  Status read_samples(int64_t key, int64_t from_ns, int64_t to_ns, const SpanSink& sink);
  Result<std::vector<Span>> read_rows(int64_t key, int level, int64_t from_ns, int64_t to_ns);

  size_t column_count_ = 0;
  int splits_left_ = 0;
  Statement select_rows_;
  Statement select_samples_;
  Statement select_top_;
  Statement select_first_;
};

}  // namespace memlog
