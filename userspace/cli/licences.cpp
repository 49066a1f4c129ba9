// SPDX-License-Identifier: Apache-2.0
// memlog licenses: the notices of what is in the program and its pages.
#include <string_view>

#include "cli/commands.h"
#include "cli/output.h"

// Laid into the program by memlog_embed() in CMakeLists.txt.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" const char memlog_licences[];
extern "C" const char memlog_licences_end[];
// NOLINTEND(readability-identifier-naming)

namespace memlog {

int run_licenses() {
  Output output;
  output.put(std::string_view(memlog_licences, memlog_licences_end));
  output.flush();
  return 0;
}

}  // namespace memlog
