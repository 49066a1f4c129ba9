// SPDX-License-Identifier: Apache-2.0
// The lane of events under a run's panels: a mark for each, words for those that matter most and fit.
#pragma once

#include "render/panel_layout.h"

namespace memlog {

// Height of the lane in a run's block of `block_height`; 0 where the run has no event.
double lane_height(const Timeline& timeline, double block_height, double font);

// The upright lines of OOM kills and marks through a panel's plot.
void lay_uprights(Canvas& canvas, const Timeline& timeline, const PanelPlace& place, const TimeScale& time,
                  const Style& style);

// `place.plot` is the lane.
void lay_event_lane(Canvas& canvas, const Timeline& timeline, const PanelPlace& place, const TimeScale& time,
                    const Style& style);

}  // namespace memlog
