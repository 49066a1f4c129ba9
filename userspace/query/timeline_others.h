// SPDX-License-Identifier: Apache-2.0
// The sum over the processes that a Timeline does not name.
//
// At each moment the last known values of those alive are added. Resident sets share pages, so the sum may
// count a page several times. Few spans are read of each process where there are many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/timeline.h"
#include "query/spans.h"
#include "query/thinning.h"

namespace memlog {

struct OtherProcess {
  int64_t id = 0;
  int64_t first_seen_ns = 0;
  Nullable ended_ns;
  int64_t sample_count = 0;
};

// One series a column, of the window [grid.begin_ns, until_ns].
Result<std::vector<TimelineSeries>> sum_others(SpanReader& reader, const std::vector<std::string>& columns,
                                               const std::vector<OtherProcess>& processes,
                                               const ThinningGrid& grid, int64_t until_ns);

}  // namespace memlog
