// SPDX-License-Identifier: Apache-2.0
// Curves of series: what every panel is made of.
#pragma once

#include <string>
#include <vector>

#include "model/timeline.h"
#include "render/chart_content.h"

namespace memlog {

// The largest maximum; NULL where there are no points. `time_ns` becomes the middle of that point.
Nullable peak_of(const std::vector<TimelinePoint>& points, int64_t* time_ns = nullptr);

Curve curve_of(CurveKind kind, std::string label, Colour colour, const TimelineSeries& series);
// A line of points that are no series' own.
Curve sum_curve(std::string label, Colour colour, std::vector<TimelinePoint> points);
// Puts the peak beside the curve's label.
void say_peak(Curve& curve, Unit unit);
// The largest peak of the panel's curves and marks.
double top_of(const Panel& panel);

struct StackPart {
  const TimelineSeries* series = nullptr;  // null: there is none
  std::string label;
  Colour colour;
};
// Adds fills of the parts on top of each other, at the points of `whole`. A part that is always 0 is left out.
void add_stack(Panel& panel, const TimelineSeries& whole, const std::vector<StackPart>& parts);

}  // namespace memlog
