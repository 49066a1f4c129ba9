// SPDX-License-Identifier: Apache-2.0
// The device memory of a Timeline: its chips one by one and together, and what is odd about them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/timeline.h"
#include "query/series_reader.h"
#include "store/database.h"

namespace memlog {

// Fills `timeline.devices`, `device_totals`, `device_count` and `device_remarks` for its window.
Status add_devices(Database& database, Timeline& timeline, const SampleGaps& gaps, int64_t points);

}  // namespace memlog
