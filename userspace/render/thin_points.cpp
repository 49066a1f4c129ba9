// SPDX-License-Identifier: Apache-2.0
#include "render/thin_points.h"

#include <algorithm>
#include <cmath>

namespace memlog {
namespace {

TimelinePoint merge(const TimelinePoint* first, size_t count) {
  TimelinePoint merged = first[0];
  double sum = 0;
  for (size_t at = 0; at < count; ++at) {
    merged.min = std::min(merged.min, first[at].min);
    merged.max = std::max(merged.max, first[at].max);
    merged.follows_a_break = merged.follows_a_break || first[at].follows_a_break;
    sum += static_cast<double>(first[at].mean);
  }
  merged.end_ns = first[count - 1].end_ns;
  merged.last = first[count - 1].last;
  merged.mean = std::clamp(std::llround(sum / static_cast<double>(count)), static_cast<long long>(merged.min),
                           static_cast<long long>(merged.max));
  return merged;
}

std::vector<TimelinePoint> merge_groups(const std::vector<TimelinePoint>& points, size_t group,
                                        bool keep_breaks) {
  std::vector<TimelinePoint> merged;
  size_t first = 0;
  for (size_t at = 1; at <= points.size(); ++at) {
    const bool is_cut =
        at == points.size() || at - first == group || (keep_breaks && points[at].follows_a_break);
    if (!is_cut) continue;
    merged.push_back(merge(points.data() + first, at - first));
    first = at;
  }
  return merged;
}

}  // namespace

std::vector<TimelinePoint> thin_points(const std::vector<TimelinePoint>& points, size_t most) {
  if (points.empty() || points.size() <= std::max<size_t>(most, 2)) return points;
  const size_t group = (points.size() + most - 1) / std::max<size_t>(most, 1);
  std::vector<TimelinePoint> merged = merge_groups(points, group, /*keep_breaks=*/true);
  if (merged.size() > 2 * most) merged = merge_groups(points, group, /*keep_breaks=*/false);
  return merged;
}

}  // namespace memlog
