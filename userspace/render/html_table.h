// SPDX-License-Identifier: Apache-2.0
// The report's tables, as plain HTML that needs no script to be read.
#pragma once

#include <string>

#include "model/timeline.h"
#include "render/time_axis.h"

namespace memlog {

// Processes by falling peak, as many rows as fit `most_bytes`; how many are left out is said.
std::string processes_html(const Timeline& timeline, size_t index, size_t most_bytes, Zone zone);
// What happened, in order; bounded in the same way.
std::string events_html(const Timeline& timeline, size_t most_bytes, Zone zone);

}  // namespace memlog
