// SPDX-License-Identifier: Apache-2.0
// The wide CSV file: all that is stored of a run. What is in it: csv/columns.h.
#pragma once

#include <cstdint>

#include "base/output_file.h"
#include "store/database.h"

namespace memlog {

// Inside the caller's snapshot. Throws FatalError. `is_safe`: see append_text_cell().
void export_wide(Database& database, int64_t run_id, bool is_safe, OutputFile& file);

}  // namespace memlog
