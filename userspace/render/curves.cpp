// SPDX-License-Identifier: Apache-2.0
#include "render/curves.h"

#include <algorithm>

namespace memlog {

Nullable peak_of(const std::vector<TimelinePoint>& points, int64_t* time_ns) {
  Nullable peak;
  for (const TimelinePoint& point : points) {
    if (peak.has_value() && point.max <= peak.value()) continue;
    peak = point.max;
    if (time_ns != nullptr) *time_ns = point.begin_ns + (point.end_ns - point.begin_ns) / 2;
  }
  return peak;
}

Curve curve_of(CurveKind kind, std::string label, Colour colour, const TimelineSeries& series) {
  Curve curve{.kind = kind,
              .label = std::move(label),
              .value = {},
              .colour = colour,
              .points = series.points,
              .floors = {},
              .peak = series.peak,
              .peak_ns = series.peak_ns};
  if (!curve.peak.has_value()) curve.peak = peak_of(curve.points, &curve.peak_ns);
  return curve;
}

Curve sum_curve(std::string label, Colour colour, std::vector<TimelinePoint> points) {
  Curve curve{.kind = CurveKind::line,
              .label = std::move(label),
              .value = {},
              .colour = colour,
              .points = std::move(points),
              .floors = {},
              .peak = {},
              .peak_ns = 0};
  curve.peak = peak_of(curve.points, &curve.peak_ns);
  return curve;
}

void say_peak(Curve& curve, Unit unit) {
  if (curve.peak.has_value()) curve.value = format_value(curve.peak.value(), unit);
}

double top_of(const Panel& panel) {
  double top = 0;
  for (const Curve& curve : panel.curves) {
    if (curve.peak.has_value()) top = std::max(top, static_cast<double>(curve.peak.value()));
  }
  for (const UnsampledPeak& peak : panel.unsampled_peaks)
    top = std::max(top, static_cast<double>(peak.value));
  return top;
}

void add_stack(Panel& panel, const TimelineSeries& whole, const std::vector<StackPart>& parts) {
  std::vector<int64_t> floors(whole.points.size(), 0);
  for (const StackPart& part : parts) {
    const TimelineSeries* series = part.series;
    if (series == nullptr || series->points.empty()) continue;
    Curve curve{.kind = CurveKind::stacked,
                .label = part.label,
                .value = {},
                .colour = part.colour,
                .points = {},
                .floors = {},
                .peak = series->peak,
                .peak_ns = series->peak_ns};
    size_t at = 0;
    for (size_t index = 0; index < whole.points.size(); ++index) {
      TimelinePoint point = whole.points[index];
      while (at < series->points.size() && series->points[at].end_ns < point.begin_ns) ++at;
      if (at == series->points.size() || series->points[at].begin_ns > point.end_ns) continue;
      point.min = point.max = point.mean = point.last = series->points[at].mean;
      curve.points.push_back(point);
      curve.floors.push_back(floors[index]);
      floors[index] += point.mean;
    }
    if (!curve.peak.has_value()) curve.peak = peak_of(curve.points, &curve.peak_ns);
    if (curve.peak.value_or(0) == 0) continue;
    say_peak(curve, Unit::bytes);
    panel.curves.push_back(std::move(curve));
  }
}

}  // namespace memlog
