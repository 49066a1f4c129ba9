// SPDX-License-Identifier: Apache-2.0
// Merging neighbouring points until few enough are left, with no extreme, break or end lost.
#pragma once

#include <cstddef>
#include <vector>

#include "model/timeline.h"

namespace memlog {

// At most about `most` points. Merged points carry the smallest minimum, the largest maximum, the mean of the
// means and the last value. No merge reaches over a break, except where breaks alone are more than `most`: the
// merged point then follows one.
std::vector<TimelinePoint> thin_points(const std::vector<TimelinePoint>& points, size_t most);

}  // namespace memlog
