// SPDX-License-Identifier: Apache-2.0
// memlog runs: what is in the database, newest first.
#include "query/runs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/talk.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_text.h"
#include "cli/table.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

// One odd run must not spread the table of all; --json has the whole texts.
constexpr size_t kLongestLabel = 32;
constexpr size_t kLongestTarget = 48;

std::string short_text(const std::string& text, size_t width) { return cut_to_width(printable(text), width); }

std::string runs_table(const std::vector<Run>& runs) {
  TextTable table({{"ID", Align::right},
                   {"LABEL", Align::left, 8},
                   {"TARGET", Align::left, 12},
                   {"STARTED (UTC)"},
                   {"DURATION", Align::right},
                   {"PROCS", Align::right},
                   {"PEAK RSS", Align::right},
                   {"HOW IT ENDED", Align::left, 16}});
  for (const Run& run : runs) {
    table.add_row({std::to_string(run.id), short_text(run.label.value_or("-"), kLongestLabel),
                   short_text(run.target, kLongestTarget), format_utc(run.started_ns).substr(0, 19),
                   format_duration(run.duration_ns()), std::to_string(run.process_count),
                   bytes_or_dash(run.peak_rss_bytes), run_end_text(run)});
  }
  return table.render(stdout_columns());
}

}  // namespace

int run_runs(const RunsOptions& options) {
  Database database = or_die(open_for_reading(or_die(database_path(options.database))));
  const std::vector<Run> runs = or_die(list_runs(database, options.limit));
  Output output;
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Run& run : runs) list.push_back(run_json(run));
    output.put(json_text(list));
  } else if (runs.empty()) {
    say(fmt::format("no runs in {} yet", printable(database.path())));
  } else {
    output.put(runs_table(runs));
  }
  output.flush();
  const int64_t total = or_die(database.integer("SELECT count(*) FROM run")).value_or(0);
  const auto shown = static_cast<int64_t>(runs.size());
  if (shown < total && !options.json)
    say(fmt::format("{} older runs are not shown; --limit 0 shows all", total - shown));
  return 0;
}

}  // namespace memlog
