// SPDX-License-Identifier: Apache-2.0
// The report's tables, as plain HTML that needs no script to be read.
#pragma once

#include <string>

#include "model/timeline.h"
#include "render/time_axis.h"

namespace memlog {

// Processes by falling peak; bounded, and the bound is said.
std::string processes_html(const Timeline& timeline, size_t index, Zone zone);
// OOM kills, marks, bad ends, gaps: what happened, in order; bounded too.
std::string events_html(const Timeline& timeline, Zone zone);

}  // namespace memlog
