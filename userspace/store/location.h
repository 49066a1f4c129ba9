// SPDX-License-Identifier: Apache-2.0
// Where the database is when the user does not say: $MEMLOG_DB, else memlog/memlog.db in the state directory
// of the invoking user (SUDO_UID), never on a network file system.
#pragma once

#include <string>

#include "base/result.h"

namespace memlog {

// Where to look. `given` is --db's value or empty. Nothing is made.
Result<std::string> database_path(const std::string& given);
// The same, and the directory exists afterwards and belongs to the invoking user.
Result<std::string> prepare_database_path(const std::string& given);

}  // namespace memlog
