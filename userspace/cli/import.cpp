// SPDX-License-Identifier: Apache-2.0
// memlog import FILE...: CSV files as runs, all of them or none.
#include <fmt/format.h>

#include "base/talk.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/csv_import.h"
#include "cli/output.h"
#include "store/import_session.h"
#include "store/location.h"

namespace memlog {
namespace {

std::string result_line(const std::string& file, const CsvImport& import) {
  return fmt::format("run {}: {}, {} samples of {} {}\n", import.run.id, printable(file), import.sample_count,
                     import.process_count, import.process_count == 1 ? "process" : "processes");
}

void report(const std::string& file, const CsvImport& import) {
  for (const std::string& note : import.notes) say(printable(file) + ": " + note);
  if (import.bad_count == 0) return;
  warn(fmt::format("{}: {} lines were left out:", printable(file), import.bad_count));
  for (const std::string& problem : import.problems) say("  " + problem);
  const auto rest = import.bad_count - static_cast<int64_t>(import.problems.size());
  if (rest > 0) say(fmt::format("  and {} more", rest));
}

}  // namespace

int run_import(const ImportOptions& options) {
  Database database =
      or_die(Database::open(or_die(prepare_database_path(options.database)), Database::Mode::create));
  or_die(remove_broken_imports(database));
  ImportSession session = or_die(ImportSession::begin(database));
  std::vector<RunRow> runs;
  std::string results;
  for (const std::string& file : options.files) {
    const int64_t run_id = or_die(session.reserve_run());
    CsvImport import = or_die(
        import_csv(database, run_id, file, {options.label, options.lenient, options.command_line}, &session));
    report(file, import);
    results += result_line(file, import);
    runs.push_back(std::move(import.run));
  }
  or_die(session.publish(runs));
  database.checkpoint();
  Output output;
  output.put(results);
  output.flush();
  return 0;
}

}  // namespace memlog
