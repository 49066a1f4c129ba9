// SPDX-License-Identifier: Apache-2.0
// What the recorder does to outlive what it records: the lowest oom_score_adj it may set, locked memory, descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memlog {

struct Survival {
  int64_t oom_score_adj = 0;         // after lowering it as far as this process may
  size_t file_limit = 0;             // descriptors that may be open
  std::vector<std::string> missing;  // what could not be had, each in words for the user
};

// Changes this process; call it after starting any child, which would inherit it.
Survival harden_this_process();

}  // namespace memlog
