// SPDX-License-Identifier: Apache-2.0
// The schema: the files schema/NNNN_*.sql in order, built into the program. A file's number is the
// user_version that it leads to.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace memlog {

struct Migration {
  int version;
  std::string_view name;  // of the file in schema/
  std::string_view sql;
};
std::span<const Migration> migrations();

// user_version of a database with every migration applied.
int newest_schema_version();

// schema/README.md: what every table, view and column means.
std::string_view schema_readme();

}  // namespace memlog
