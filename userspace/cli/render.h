// SPDX-License-Identifier: Apache-2.0
// Pictures and reports of runs and CSV files: what `render` does, and what `trace` and `run` do at their end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "store/database.h"

namespace memlog {

// Writes the files that `options.png` and `options.html` ask for (a PNG where neither does) of one run; the rest
// of `options` says how they look, its runs and files are not looked at. Returns the paths that were written.
// Cairo is loaded here for the first time.
Result<std::vector<std::string>> render_run_files(Database& database, int64_t run_id,
                                                  const RenderOptions& options);

// Refuses what cannot be drawn (a size, a metric's name) before anything is recorded or read.
Status check_render_options(const RenderOptions& options, size_t runs);

}  // namespace memlog
