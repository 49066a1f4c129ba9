// SPDX-License-Identifier: Apache-2.0
// The processes of a run as the lines of a tree, cut to the ones that matter.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "query/summary.h"

namespace memlog {

struct TreeLine {
  const ProcessSummary* process;
  std::string branch;  // "├─ ", "│  └─ ": what to print before the name
};

struct ProcessTree {
  std::vector<TreeLine> lines;  // children below their parent, in the order of `processes`
  size_t left_out = 0;          // processes that are not among the lines
  Nullable largest_left_out_bytes;
};

// At most `most` processes (0: all), the largest by peak, and above that their ancestors. The lines point
// into `processes`.
ProcessTree build_process_tree(const std::vector<ProcessSummary>& processes, size_t most);

}  // namespace memlog
