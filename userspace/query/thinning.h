// SPDX-License-Identifier: Apache-2.0
// Thinning: spans of samples laid on a grid of equal cells, one point a cell, no extreme lost and nothing
// drawn across a break.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/timeline.h"
#include "query/spans.h"

namespace memlog {

struct ThinningGrid {
  int64_t begin_ns = 0;
  int64_t cell_ns = 0;   // 0: no two samples become one point
  int64_t break_ns = 0;  // a longer step between two samples is a break
  // Whether something is known to be missing between two neighbouring samples; may be empty.
  std::function<bool(int64_t after_ns, int64_t before_ns)> is_gap_between;
};

// Takes spans by time; makes one series a column.
class Thinner {
 public:
  Thinner(const std::vector<std::string>& columns, ThinningGrid grid);

  void add(const Span& span);
  // Those with any point.
  std::vector<TimelineSeries> take();
  int64_t longest_point_ns() const { return longest_point_ns_; }

 private:
  struct Filling {
    TimelineSeries series;
    __int128 sum = 0;
    int64_t sample_count = 0;
    int64_t cell = 0;
    bool is_after_unknown = false;
  };
  void extend(Filling& filling, const Span& span, const SpanMeasure& measure, bool follows_a_break);

  ThinningGrid grid_;
  std::vector<Filling> fillings_;
  bool has_span_ = false;
  int64_t last_ns_ = 0;
  int64_t longest_point_ns_ = 0;
};

}  // namespace memlog
