// SPDX-License-Identifier: Apache-2.0
// Lays one panel out: axis, grid, hatched gaps, curves, legend and peak labels.
#pragma once

#include <algorithm>

#include "render/canvas.h"
#include "render/chart_content.h"
#include "render/time_axis.h"

namespace memlog {

// Maps a run's times to x. `origin_ns` is taken off first: 0 on the clock, the run's begin when runs are
// aligned at their starts. Times outside land on the edge.
struct TimeScale {
  int64_t origin_ns = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 1;
  double left = 0;
  double width = 1;

  double x(int64_t time_ns) const {
    const double share = (static_cast<double>(time_ns - origin_ns) - static_cast<double>(begin_ns)) /
                         std::max(1.0, static_cast<double>(end_ns - begin_ns));
    return left + std::clamp(share, 0.0, 1.0) * width;
  }
};

struct PanelPlace {
  Rect plot;            // where curves may be
  double legend_x = 0;  // left end of the legend's column
  double legend_width = 0;
  double font = 12;  // size of ordinary text
  Zone zone = Zone::utc;
  bool say_gaps = false;  // whether gaps get words here
  std::vector<TimeTick> ticks;
};

// Width that the labels of the panel's value axis take in a plot of `height`.
double value_label_width(const Canvas& canvas, const Panel& panel, double height, double font);
// Width that the legend would like.
double legend_width(const Canvas& canvas, const Panel& panel, double font);

void lay_panel(Canvas& canvas, const Timeline& timeline, const Panel& panel, const PanelPlace& place,
               const TimeScale& time, const Style& style);

}  // namespace memlog
