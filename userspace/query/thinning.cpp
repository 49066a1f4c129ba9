// SPDX-License-Identifier: Apache-2.0
#include "query/thinning.h"

#include <algorithm>

namespace memlog {

Thinner::Thinner(const std::vector<std::string>& columns, ThinningGrid grid) : grid_(std::move(grid)) {
  for (const std::string& column : columns) fillings_.emplace_back().series.name = column;
}

void Thinner::add(const Span& span) {
  bool follows_a_break = false;
  if (has_span_) {
    follows_a_break = span.begin_ns - last_ns_ > grid_.break_ns ||
                      (grid_.is_gap_between && grid_.is_gap_between(last_ns_, span.begin_ns));
  }
  has_span_ = true;
  last_ns_ = span.end_ns;
  for (size_t i = 0; i < fillings_.size(); ++i) {
    Filling& filling = fillings_[i];
    // A break counts for the column's next known value, however many unknown ones come first.
    filling.is_after_unknown = filling.is_after_unknown || follows_a_break;
    if (!span.measures[i].is_known) {
      filling.is_after_unknown = true;
      continue;
    }
    extend(filling, span, span.measures[i], filling.is_after_unknown && !filling.series.points.empty());
    filling.is_after_unknown = false;
  }
}

void Thinner::extend(Filling& filling, const Span& span, const SpanMeasure& measure, bool follows_a_break) {
  std::vector<TimelinePoint>& points = filling.series.points;
  const int64_t cell = grid_.cell_ns > 0 ? (span.begin_ns - grid_.begin_ns) / grid_.cell_ns : 0;
  if (points.empty() || follows_a_break || grid_.cell_ns == 0 || cell != filling.cell) {
    points.push_back({span.begin_ns, span.end_ns, measure.min, measure.max, 0, 0, follows_a_break});
    filling.cell = cell;
    filling.sum = 0;
    filling.sample_count = 0;
  }
  TimelinePoint& point = points.back();
  point.end_ns = span.end_ns;
  point.min = std::min(point.min, measure.min);
  point.max = std::max(point.max, measure.max);
  point.last = measure.last;
  filling.sum += static_cast<__int128>(measure.mean) * span.sample_count;
  filling.sample_count += span.sample_count;
  point.mean = static_cast<int64_t>(filling.sum / filling.sample_count);
  longest_point_ns_ = std::max(longest_point_ns_, point.end_ns - point.begin_ns);
}

std::vector<TimelineSeries> Thinner::take() {
  std::vector<TimelineSeries> series;
  for (Filling& filling : fillings_) {
    if (!filling.series.points.empty()) series.push_back(std::move(filling.series));
  }
  return series;
}

}  // namespace memlog
