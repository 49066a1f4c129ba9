// SPDX-License-Identifier: Apache-2.0
// Lays out a whole picture: one run, or several stacked over one shared time axis.
//
// Pure geometry. The result says everything that a painter needs; text is measured by the caller's function.
#pragma once

#include <span>

#include "base/result.h"
#include "model/timeline.h"
#include "render/chart_content.h"
#include "render/picture.h"
#include "render/time_axis.h"

namespace memlog {

enum class RunAlignment : uint8_t { clock, start };

struct ChartOptions {
  int width = 1600;  // logical pixels
  int height = 0;    // 0: 1000, and more for several runs
  double scale = 1;  // real pixels a logical one
  Theme theme = Theme::light;
  Zone zone = Zone::utc;
  RunAlignment alignment = RunAlignment::clock;
  std::vector<std::string> metrics;  // empty: what tells the story
};

// Height in logical pixels that the options mean for that many runs.
int chart_height(const ChartOptions& options, size_t runs);

// The header's facts of one run: "2026-06-05 12:00:03 to 12:20:04 UTC (20 min 01 s), sampled every 1.0 s".
std::string when_text(const Timeline& timeline, Zone zone);

Picture lay_chart(std::span<const Timeline> timelines, const ChartOptions& options,
                  const TextWidth& text_width);

}  // namespace memlog
