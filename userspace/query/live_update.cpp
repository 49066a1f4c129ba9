// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/clock.h"
#include "query/live_table.h"
#include "query/spans.h"
#include "query/thinning.h"
#include "query/timeline_events.h"

namespace memlog {
namespace {

constexpr int64_t kTailPoints = 24;     // of a process, in one update
constexpr int64_t kMostSamples = 5000;  // of a process, that are still read one by one
constexpr int64_t kRecentNs = 60 * kNsPerSecond;
constexpr size_t kMostDetailed = 200;

// The newest rows of the tables that only grow, of whatever run: one seek each.
Status read_ends(Database& database, LiveCursor& ends) {
  for (const auto& [sql, end] : {
           std::pair{"SELECT max(id) FROM event", &ends.event_id},
           {"SELECT max(id) FROM oom_kill", &ends.kill_id},
           {"SELECT max(rowid) FROM gap", &ends.gap_id},
       }) {
    const Result<Nullable> newest = database.integer(sql);
    if (!newest) return newest.error();
    *end = newest->value_or(0);
  }
  return Ok{};
}

Result<Nullable> first_new(Database& database, const char* sql, int64_t run_id, int64_t after) {
  return database.integer(sql, {Nullable(run_id), Nullable(after)});
}

TimelineProcess named(const LiveProcess& process) {
  TimelineProcess name;
  name.id = process.id;
  name.pid = process.pid;
  name.name = process.name;
  name.cmdline = process.cmdline;
  name.first_seen_ns = process.first_seen_ns;
  if (process.ended_ns.has_value()) name.ended_ns = process.ended_ns.value();
  name.end_reason = process.end_reason;
  name.exit_status = process.exit_status;
  name.exit_signal = process.exit_signal;
  name.peak_rss_bytes = process.peak_rss_bytes;
  return name;
}

// The unary + keeps the planner from walking all rows of the run instead of the few new ones.
// Events and gaps since the first row that the cursor does not know: some may come twice, none is left out.
Status read_happenings(Database& database, const LiveCursor& since, LiveUpdate& update) {
  const int64_t run_id = update.table.run.id;
  Nullable earliest;
  for (const auto& [sql, after] :
       {std::pair{"SELECT min(time_ns) FROM event WHERE +run_id = ? AND id > ?", since.event_id},
        {"SELECT min(time_ns) FROM oom_kill WHERE +run_id = ? AND id > ?", since.kill_id}}) {
    const Result<Nullable> first = first_new(database, sql, run_id, after);
    if (!first) return first.error();
    if (first->has_value()) earliest = std::min(first->value(), earliest.value_or(first->value()));
  }
  Timeline& tail = update.tail;
  const int64_t begin_ns = tail.begin_ns;
  if (earliest.has_value()) {
    tail.begin_ns = earliest.value();
    if (const Status status = add_events(database, tail); !status) return status;
  }
  const Result<Nullable> gap = first_new(
      database, "SELECT min(started_ns) FROM gap WHERE +run_id = ? AND rowid > ?", run_id, since.gap_id);
  if (!gap) return gap.error();
  if (gap->has_value()) {
    tail.begin_ns = gap->value();
    if (const Status status = add_gaps(database, tail); !status) return status;
  }
  tail.begin_ns = begin_ns;
  return Ok{};
}

Status read_samples(Database& database, LiveCursor& cursor, LiveUpdate& update) {
  const std::vector<std::string> columns = {"rss_bytes"};
  Result<SpanReader> reader = SpanReader::prepare(database, process_rollup_table(), columns);
  if (!reader) return reader.error();
  Timeline& tail = update.tail;
  const int64_t interval_ns = std::max<int64_t>(1, update.table.run.interval_ns);
  for (const LiveProcess& process : update.table.processes) {
    const auto seen = cursor.seen_ns.find(process.id);
    int64_t after_ns = seen == cursor.seen_ns.end() ? cursor.time_ns : seen->second;
    if (seen == cursor.seen_ns.end() && !cursor.seen_ns.empty())  // it is new, its samples may be older
      after_ns = std::min(after_ns, process.first_seen_ns - 1);
    const int64_t new_ns = process.last.time_ns - after_ns;
    if (process.last.time_ns == 0 || new_ns <= 0) continue;
    if (new_ns / interval_ns > kMostSamples) update.is_too_much = true;
    if (update.is_too_much) continue;
    ThinningGrid grid;
    grid.begin_ns = after_ns + 1;
    grid.cell_ns = new_ns / interval_ns > kTailPoints ? new_ns / kTailPoints + 1 : 0;
    grid.break_ns = std::max(3 * interval_ns, grid.cell_ns);
    Thinner thinner(columns, grid);
    const Status status = reader->read(process.id, 0, after_ns + 1, process.last.time_ns, INT64_MAX,
                                       [&](const Span& span) { thinner.add(span); });
    if (!status) return status;
    TimelineProcess& changed = tail.processes.emplace_back(named(process));
    changed.series = thinner.take();
    tail.begin_ns = std::min(tail.begin_ns, after_ns + 1);
  }
  return Ok{};
}

// Those whose doings can be new: it runs, or ended lately.
std::vector<TimelineProcess> those_that_act(const LiveTable& table) {
  std::vector<TimelineProcess> acting;
  for (const LiveProcess& process : table.processes) {
    const bool is_past =
        process.ended_ns.has_value() && process.ended_ns.value() < table.run.last_seen_ns - kRecentNs;
    if (!is_past && acting.size() < kMostDetailed) acting.push_back(named(process));
  }
  return acting;
}

}  // namespace

Result<LiveUpdate> read_live_update(Database& database, int64_t run_id, size_t most, LiveCursor& cursor) {
  const Result<Transaction> snapshot = Transaction::begin_reading(database);
  if (!snapshot) return snapshot.error();
  Result<LiveTable> table = read_live_table(database, run_id, most);
  if (!table) return table.error();
  LiveUpdate update;
  update.table = *std::move(table);
  LiveCursor ends;
  if (const Status status = read_ends(database, ends); !status) return status.error();
  update.tail.run_id = run_id;
  update.tail.interval_ns = update.table.run.interval_ns;
  update.tail.begin_ns = update.tail.end_ns = std::max(cursor.time_ns, update.table.run.last_seen_ns);
  if (cursor.time_ns != 0) {
    std::vector<TimelineProcess> acting = those_that_act(update.table);
    std::swap(update.tail.processes, acting);
    Status status = read_happenings(database, cursor, update);
    update.tail.processes.clear();
    if (status) status = read_samples(database, cursor, update);
    if (!status) return status.error();
  }
  for (const LiveProcess& process : update.table.processes) {
    if (process.last.time_ns != 0) cursor.seen_ns[process.id] = process.last.time_ns;
  }
  cursor.time_ns = std::max(cursor.time_ns, update.table.run.last_seen_ns);
  cursor.event_id = ends.event_id;
  cursor.kill_id = ends.kill_id;
  cursor.gap_id = ends.gap_id;
  return update;
}

}  // namespace memlog
