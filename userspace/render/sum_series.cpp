// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "render/chart_content.h"

namespace memlog {
namespace {

struct Cell {
  int64_t min = 0;
  int64_t max = 0;
  int64_t mean = 0;
  int64_t last = 0;
  bool known = false;
};

// One series on the grid: each cell gets what its points say, and holds the last value up to the next point.
class Grid {
 public:
  Grid(int64_t begin_ns, int64_t end_ns, size_t columns)
      : begin_ns_(begin_ns),
        step_ns_(std::max<int64_t>(1, (end_ns - begin_ns) / static_cast<int64_t>(columns))),
        cells_((end_ns - begin_ns) / step_ns_ + 1) {}

  void lay(const TimelineSeries& series) {
    std::fill(cells_.begin(), cells_.end(), Cell{});
    size_t next = 0;
    const TimelinePoint* before = nullptr;
    for (const TimelinePoint& point : series.points) {
      const size_t first = cell_of(point.begin_ns);
      if (before != nullptr && !point.follows_a_break) {
        for (size_t at = next; at < first; ++at) hold(cells_[at], before->last);
      }
      const size_t last = cell_of(point.end_ns);
      for (size_t at = first; at <= last; ++at) merge(cells_[at], point);
      next = last + 1;
      before = &point;
    }
  }

  size_t size() const { return cells_.size(); }
  const Cell& cell(size_t at) const { return cells_[at]; }
  int64_t begin_of(size_t at) const { return begin_ns_ + static_cast<int64_t>(at) * step_ns_; }
  int64_t step_ns() const { return step_ns_; }

 private:
  size_t cell_of(int64_t time_ns) const {
    const int64_t index = (time_ns - begin_ns_) / step_ns_;
    return static_cast<size_t>(std::clamp<int64_t>(index, 0, static_cast<int64_t>(cells_.size()) - 1));
  }
  static void hold(Cell& cell, int64_t value) { cell = {value, value, value, value, true}; }
  static void merge(Cell& cell, const TimelinePoint& point) {
    if (!cell.known) {
      cell = {point.min, point.max, point.mean, point.last, true};
      return;
    }
    cell.min = std::min(cell.min, point.min);
    cell.max = std::max(cell.max, point.max);
    cell.mean = cell.mean / 2 + point.mean / 2;
    cell.last = point.last;
  }

  int64_t begin_ns_;
  int64_t step_ns_;
  std::vector<Cell> cells_;
};

}  // namespace

std::vector<TimelinePoint> sum_series(const std::vector<const TimelineSeries*>& series, int64_t begin_ns,
                                      int64_t end_ns, size_t columns) {
  Grid grid(begin_ns, std::max(begin_ns, end_ns), std::max<size_t>(columns, 1));
  std::vector<Cell> sums(grid.size());
  for (const TimelineSeries* one : series) {
    grid.lay(*one);
    for (size_t at = 0; at < sums.size(); ++at) {
      const Cell& cell = grid.cell(at);
      if (!cell.known) continue;
      Cell& sum = sums[at];
      sum = {sum.min + cell.min, sum.max + cell.max, sum.mean + cell.mean, sum.last + cell.last, true};
    }
  }
  std::vector<TimelinePoint> points;
  bool broken = false;
  for (size_t at = 0; at < sums.size(); ++at) {
    if (sums[at].known) {
      const int64_t begin = grid.begin_of(at);
      const int64_t end = std::min(begin + grid.step_ns() - 1, std::max(begin, end_ns));
      points.push_back({begin, end, sums[at].min, sums[at].max, sums[at].mean, sums[at].last, broken});
    }
    broken = !sums[at].known;
  }
  return points;
}

}  // namespace memlog
