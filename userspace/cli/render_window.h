// SPDX-License-Identifier: Apache-2.0
// The moments that --since and --until name.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "render/time_axis.h"

namespace memlog {

// "2026-06-05 12:30", "2026-06-05T12:30:05", "12:30" (on the day of begin_ns), "10m" (that long after begin_ns),
// "-10m" (that long before end_ns). Calendar times are in `zone`, in UTC where they end in "Z".
Result<int64_t> parse_moment(std::string_view text, int64_t begin_ns, int64_t end_ns, Zone zone);

}  // namespace memlog
