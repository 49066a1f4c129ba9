// SPDX-License-Identifier: Apache-2.0
// Turns one curve into shapes: the mean as a line, minimum to maximum as a band, breaks left open.
#pragma once

#include "render/canvas.h"
#include "render/chart_content.h"
#include "render/panel_layout.h"

namespace memlog {

struct CurveScale {
  const TimeScale& time;
  double top = 1;       // value at the upper end
  double bottom_y = 0;  // y of the value 0
  double height = 1;
  double font = 12;

  double y(double value) const { return bottom_y - std::clamp(value / top, 0.0, 1.0) * height; }
  double y(int64_t value) const { return y(static_cast<double>(value)); }
};

void lay_curve(Canvas& canvas, const Curve& curve, const CurveScale& scale);

}  // namespace memlog
