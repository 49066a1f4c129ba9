// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

#include <array>

// Laid into the program by memlog_embed() in CMakeLists.txt.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" const char memlog_schema_0001[];
extern "C" const char memlog_schema_0001_end[];
extern "C" const char memlog_schema_0002[];
extern "C" const char memlog_schema_0002_end[];
extern "C" const char memlog_schema_0003[];
extern "C" const char memlog_schema_0003_end[];
extern "C" const char memlog_schema_0005[];
extern "C" const char memlog_schema_0005_end[];
extern "C" const char memlog_schema_readme[];
extern "C" const char memlog_schema_readme_end[];
// NOLINTEND(readability-identifier-naming)

namespace memlog {

std::span<const Migration> migrations() {
  static const std::array<Migration, 4> all = {{
      {1, "0001_recording.sql", {memlog_schema_0001, memlog_schema_0001_end}},
      {2, "0002_rollup.sql", {memlog_schema_0002, memlog_schema_0002_end}},
      {3, "0003_device.sql", {memlog_schema_0003, memlog_schema_0003_end}},
      {5, "0005_device_picture.sql", {memlog_schema_0005, memlog_schema_0005_end}},
  }};
  return all;
}

int newest_schema_version() { return migrations().back().version; }

std::string_view schema_readme() { return {memlog_schema_readme, memlog_schema_readme_end}; }

}  // namespace memlog
