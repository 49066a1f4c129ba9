// SPDX-License-Identifier: Apache-2.0
// The dashboard's answers as JSON: runs, one run's facts and table, and what is new. README.md shows each by
// example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "query/live_table.h"
#include "store/database.h"

namespace memlog {

inline constexpr size_t kMostTableRows = 500;

Result<std::string> runs_json(Database& database, int64_t limit);

// {"run": ..., "verdict": ..., "processes": [...], "cgroups": [...], "host": {...}, "gaps": {...}}; its "cursor" is
// where a stream goes on from it.
Result<std::string> run_json(Database& database, int64_t run_id);

// Events, the oldest first, of [since_ns, until_ns] where they are set.
Result<std::string> events_json(Database& database, int64_t run_id, std::optional<int64_t> since_ns,
                                std::optional<int64_t> until_ns);

// What one update of the stream says.
std::string update_json(const LiveUpdate& update);

// "1780662896000123456-17-2-0": where a client of the stream has got to.
std::string cursor_text(const LiveCursor& cursor);
std::optional<LiveCursor> parse_cursor(std::string_view text);

}  // namespace memlog
