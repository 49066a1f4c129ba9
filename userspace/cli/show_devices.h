// SPDX-License-Identifier: Apache-2.0
// The accelerator chips on the page of a run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "query/summary.h"

namespace memlog {

// A table of the devices, and below it what is stale, with the command that clears it, and what is odd. Empty
// where the run has no devices. `columns` of the terminal; 0: nothing is cut.
std::string devices_text(const RunSummary& summary, size_t columns);

nlohmann::ordered_json devices_json(const RunSummary& summary);

}  // namespace memlog
