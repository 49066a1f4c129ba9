// SPDX-License-Identifier: Apache-2.0
// A CSV file as a run: for `import`, and in a private database for pictures of files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/timeline.h"
#include "query/timeline.h"
#include "store/database.h"
#include "store/import_session.h"

namespace memlog {

struct CsvImportOptions {
  std::optional<std::string> label;
  bool is_lenient = false;
  std::string command_line;
};

struct CsvImport {
  RunRow run;
  int64_t sample_count = 0;
  int64_t process_count = 0;
  int64_t bad_count = 0;              // lines left out (lenient only)
  std::vector<std::string> problems;  // of the first of them
  std::vector<std::string> notes;     // what else the user must know
};

// Stores what the file holds as parts of run `run_id`. Its row is the caller's to insert; where this fails (the
// error names file, line, column and value), so is taking away what was stored. With `session` it is asked to
// commit now and then.
Result<CsvImport> import_csv(Database& database, int64_t run_id, const std::string& path,
                             const CsvImportOptions& options, ImportSession* session = nullptr);

// What a picture of the file shows, without any database of the user's. `is_lenient` as in import.
Result<Timeline> timeline_from_csv(const std::string& path, const TimelineRequest& request,
                                   bool is_lenient = false);

}  // namespace memlog
