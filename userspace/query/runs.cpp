// SPDX-License-Identifier: Apache-2.0
#include "query/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "query/stored_words.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr const char* kRunSql = R"(
SELECT id, label, host, kernel, command, target, interval_ns, started_ns, ended_ns, state, end_reason, event_source,
  incomplete, memlog_version, peak_rss_bytes, boot_id, recorder_pid, recorder_start_ticks, recorder_pid_ns,
  (SELECT count(*) FROM process WHERE run_id = run.id),
  (SELECT count(*) FROM oom_kill WHERE run_id = run.id),
  (SELECT count(*) FROM gap WHERE run_id = run.id)
FROM run )";

RunState state_of(const Statement& row) {
  const std::string state = row.text_or(9);
  if (state == "ended") return RunState::ended;
  if (state == "interrupted") return RunState::interrupted;
  const RecorderIdentity recorder{row.text_or(15), row.integer(16).value_or(0), row.integer(17).value_or(0),
                                  row.integer(18).value_or(0)};
  return recorder_may_live(recorder) ? RunState::running : RunState::interrupted;
}

Run run_from(const Statement& row) {
  Run run;
  run.id = row.integer(0).value_or(0);
  run.label = optional_text(row, 1);
  run.host = row.text_or(2);
  run.kernel = row.text_or(3);
  run.command = row.text_or(4);
  run.target = row.text_or(5);
  run.interval_ns = row.integer(6).value_or(0);
  run.started_ns = row.integer(7).value_or(0);
  run.ended_ns = row.integer(8);
  run.state = state_of(row);
  run.end_reason = optional_text(row, 10);
  run.event_source = row.text_or(11);
  run.is_incomplete = row.integer(12).value_or(0) != 0;
  run.memlog_version = row.text_or(13);
  run.peak_rss_bytes = row.integer(14);
  run.process_count = row.integer(19).value_or(0);
  run.oom_kill_count = row.integer(20).value_or(0);
  run.gap_count = row.integer(21).value_or(0);
  return run;
}

Result<std::vector<Run>> ask_runs(Database& database, const std::string& rest,
                                  const std::vector<SqlValue>& values) {
  std::vector<Run> runs;
  const Status status =
      database.each(kRunSql + rest, values, [&](const Statement& row) { runs.push_back(run_from(row)); });
  if (!status) return status.error();
  for (Run& run : runs) {
    run.last_seen_ns = run.ended_ns.value_or(run.started_ns);
    if (run.ended_ns.has_value()) continue;
    const Result<Nullable> last_ns = last_stored_ns(database, run.id);
    if (!last_ns) return last_ns.error();
    run.last_seen_ns = last_ns->value_or(run.started_ns);
    if (run.state == RunState::interrupted) run.ended_ns = run.last_seen_ns;
  }
  return runs;
}

// Edits (insert, remove, replace a byte) between two short texts; used to guess what was meant.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// "labels like it: nightly, nightly2"; or what there is at all.
std::string what_there_is(Database& database, std::string_view text) {
  constexpr size_t shown = 5;
  constexpr size_t longest = 100;
  std::vector<std::pair<size_t, std::string>> near;
  static_cast<void>(database.each(
      "SELECT label FROM run WHERE label IS NOT NULL GROUP BY label ORDER BY max(id) DESC LIMIT 200", {},
      [&](const Statement& row) {
        const std::string label = row.text_or(0);
        const size_t distance =
            edit_distance(text.substr(0, longest), std::string_view(label).substr(0, longest));
        const bool is_part = !text.empty() && label.find(text) != std::string::npos;
        if (is_part || distance <= 1 + text.size() / 3) near.emplace_back(is_part ? 0 : distance, label);
      }));
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > shown) near.resize(shown);
  std::string names;
  for (const auto& [distance, label] : near) names += (names.empty() ? "" : ", ") + printable(label);
  if (!names.empty()) return "labels like it: " + names;
  const Result<Nullable> first = database.integer("SELECT min(id) FROM run");
  const Result<Nullable> last = database.integer("SELECT max(id) FROM run");
  if (!first || !last || !last->has_value()) return "record something first: memlog trace --name NAME";
  return fmt::format("ids go from {} to {}; `memlog runs` lists them", first->value_or(0), last->value());
}

}  // namespace

Result<std::vector<Run>> list_runs(Database& database, int64_t limit) {
  return ask_runs(database, "ORDER BY id DESC LIMIT ?", {Nullable(limit > 0 ? limit : -1)});
}

Result<Run> get_run(Database& database, int64_t run_id) {
  Result<std::vector<Run>> runs = ask_runs(database, "WHERE id = ?", {Nullable(run_id)});
  if (!runs) return runs.error();
  if (runs->empty()) return Error{fmt::format("finding run {}", run_id), "there is no such run", ""};
  return std::move(runs->front());
}

Status check_label(std::string_view label) {
  const std::string doing = fmt::format("reading --label '{}'", printable(label));
  if (label.empty()) return Error{doing, "it is empty", ""};
  if (label == "last") return Error{doing, "'last' always means the newest run", "choose another word"};
  if (parse_int(label))
    return Error{doing, "a number always means the run with that id", "choose a label with a letter in it"};
  return Ok{};
}

Result<int64_t> find_run(Database& database, std::string_view text) {
  // A label wins over an id, so that a label of digits can be asked for at all.
  Result<Nullable> id = database.integer("SELECT max(id) FROM run WHERE label = ?", {text});
  if (id && !id->has_value()) {
    if (text == "last") {
      id = database.integer("SELECT max(id) FROM run");
    } else if (const std::optional<int64_t> number = parse_int(text)) {
      id = database.integer("SELECT id FROM run WHERE id = ?", {Nullable(*number)});
    }
  }
  if (!id) return id.error();
  if (id->has_value()) return id->value();
  return Error{fmt::format("finding the run '{}'", printable(text)), "there is no such run",
               what_there_is(database, text)};
}

}  // namespace memlog
