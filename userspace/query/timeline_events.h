// SPDX-License-Identifier: Apache-2.0
// The moments and gaps of a Timeline, in words and bounded in number.
#pragma once

#include "base/result.h"
#include "model/timeline.h"
#include "store/database.h"

namespace memlog {

inline constexpr size_t kMostTimelineEvents = 300;
inline constexpr size_t kMostTimelineGaps = 300;

// Fills `timeline.events` for its window: OOM kills first, then notes, then what the named processes did;
// what does not fit is counted in `timeline.notes`.
Status add_events(Database& database, Timeline& timeline);

// Fills `timeline.gaps` for its window, the longest ones where there are too many.
Status add_gaps(Database& database, Timeline& timeline);

}  // namespace memlog
