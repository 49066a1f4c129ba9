// SPDX-License-Identifier: Apache-2.0
// SQLite's failures in the user's words: shared by what opens a database and what uses it.
#pragma once

#include <string>

#include "base/result.h"

struct sqlite3;

namespace memlog {

inline constexpr const char* kDamagedHint =
    "move it away together with its -wal and -shm files; a new one is made at the next recording";

// The latest failure on `connection`. The error's code is what memlog makes of it as an errno: ENOSPC, EBUSY,
// EIO, EACCES or 0.
Error explain_sqlite_error(sqlite3* connection, std::string doing);

}  // namespace memlog
