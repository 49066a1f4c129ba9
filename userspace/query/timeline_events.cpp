// SPDX-License-Identifier: Apache-2.0
#include "query/timeline_events.h"

#include <fmt/format.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np

#include <algorithm>
#include <array>

#include "base/text.h"

namespace memlog {
namespace {

constexpr int64_t kMostKills = 100;
constexpr int64_t kMostNotes = 100;
constexpr int64_t kMostOfAProcess = 40;

std::string signal_text(int64_t signal) {
  const char* name = sigabbrev_np(static_cast<int>(signal));
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string kill_text(const Statement& row) {
  std::string text = fmt::format("OOM kill: {} ({})", row.text_or(2, "?"), row.integer(3).value_or(0));
  if (row.text_or(4) == "global") return text + ", the machine was out of memory";
  const Nullable limit_bytes = row.integer(6);
  if (row.text(5)) text += fmt::format(", limit of {}", row.text_or(5));
  if (limit_bytes.has_value()) text += " " + format_bytes(limit_bytes.value());
  return text;
}

// What lies in the window but not among the first `most` rows is counted.
Status note_left_out(Database& database, Timeline& timeline, const std::string& count_sql, size_t shown,
                     const char* what) {
  const Result<Nullable> total = database.integer(
      count_sql, {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns)});
  if (!total) return total.error();
  const int64_t rest = total->value_or(0) - static_cast<int64_t>(shown);
  if (rest > 0) timeline.notes.push_back(fmt::format("{} further {} are not shown", rest, what));
  return Ok{};
}

Status add_kills(Database& database, Timeline& timeline) {
  Status status = database.each(
      "SELECT time_ns, process_id, comm, pid, constraint_kind, limit_cgroup, limit_bytes FROM oom_kill "
      "WHERE run_id = ? AND time_ns BETWEEN ? AND ? ORDER BY time_ns, id LIMIT ?",
      {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns),
       Nullable(kMostKills)},
      [&](const Statement& row) {
        timeline.events.push_back(
            {row.integer(0).value_or(0), EventKind::oom_kill, row.integer(1).value_or(0), kill_text(row)});
      });
  if (!status) return status;
  return note_left_out(database, timeline,
                       "SELECT count(*) FROM oom_kill WHERE run_id = ? AND time_ns BETWEEN ? AND ?",
                       timeline.events.size(), "OOM kills");
}

Status add_notes(Database& database, Timeline& timeline) {
  const size_t before = timeline.events.size();
  Status status = database.each(
      "SELECT time_ns, kind, coalesce(process_id, 0), coalesce(detail ->> '$.text', detail) FROM event "
      "WHERE run_id = ? AND kind IN ('mark', 'note', 'clock_step') AND time_ns BETWEEN ? AND ? "
      "ORDER BY time_ns, id LIMIT ?",
      {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns),
       Nullable(kMostNotes)},
      [&](const Statement& row) {
        const std::string kind = row.text_or(1);
        const EventKind event = kind == word(EventKind::mark)         ? EventKind::mark
                                : kind == word(EventKind::clock_step) ? EventKind::clock_step
                                                                      : EventKind::note;
        const std::string text = row.text_or(3);
        timeline.events.push_back({row.integer(0).value_or(0), event, row.integer(2).value_or(0),
                                   text == "{}" ? std::string(kind) : text});
      });
  if (!status) return status;
  return note_left_out(
      database, timeline,
      "SELECT count(*) FROM event WHERE run_id = ? AND kind IN ('mark', 'note', 'clock_step') "
      "AND time_ns BETWEEN ? AND ?",
      timeline.events.size() - before, "marks and notes");
}

std::string exit_text(const TimelineProcess& process, Nullable status, Nullable signal, bool was_oom_killed) {
  std::string text = fmt::format("{} ({})", process.name, process.pid);
  if (was_oom_killed) return text + " was killed for memory";
  if (signal.has_value()) return text + " was killed by " + signal_text(signal.value());
  if (status.has_value()) return text + fmt::format(" exited with status {}", status.value());
  return text + " ended";
}

std::string process_event_text(const TimelineProcess& process, EventKind kind, const Statement& row) {
  const std::string who = fmt::format("{} ({})", process.name, process.pid);
  switch (kind) {
    case EventKind::exit:
      return exit_text(process, row.integer(2), row.integer(3),
                       row.text_or(4) == word(EndReason::oom_killed));
    case EventKind::exec:
      return who + " executed " + row.text_or(5, process.name);
    case EventKind::rename:
      return who + " was renamed";
    case EventKind::detach:
      return who + " is no longer recorded";
    default:
      return who + " is recorded from here";
  }
}

Status add_process_events(Database& database, Timeline& timeline, const TimelineProcess& process) {
  constexpr std::array kinds = {EventKind::attach, EventKind::detach, EventKind::exec, EventKind::rename,
                                EventKind::exit};
  return database.each(
      "SELECT time_ns, kind, detail ->> '$.status', detail ->> '$.signal', detail ->> '$.reason', "
      "coalesce(detail ->> '$.exe', detail ->> '$.filename', detail ->> '$.comm') FROM event "
      "WHERE process_id = ? AND kind IN ('attach', 'detach', 'exec', 'rename', 'exit') "
      "AND time_ns BETWEEN ? AND ? ORDER BY kind = 'exit' DESC, time_ns LIMIT ?",
      {Nullable(process.id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns),
       Nullable(kMostOfAProcess)},
      [&](const Statement& row) {
        for (const EventKind kind : kinds) {
          if (row.text_or(1) != word(kind)) continue;
          timeline.events.push_back(
              {row.integer(0).value_or(0), kind, process.id, process_event_text(process, kind, row)});
        }
      });
}

std::string gap_text(GapKind kind, Nullable lost_count, const std::string& detail) {
  std::string text;
  switch (kind) {
    case GapKind::late_tick:
      text = "sampled late";
      break;
    case GapKind::missed_ticks:
      text = "samples missed";
      break;
    case GapKind::event_loss:
      text = "events lost";
      break;
    case GapKind::queue_overflow:
      text = "records lost: storage was too slow";
      break;
    case GapKind::storage:
      text = "nothing could be stored";
      break;
    case GapKind::suspend:
      text = "the machine slept";
      break;
    case GapKind::unreadable:
      text = "not readable";
      break;
  }
  if (lost_count.has_value()) text += fmt::format(" ({})", lost_count.value());
  if (!detail.empty() && detail != text) text += ": " + detail;
  return text;
}

}  // namespace

Status add_events(Database& database, Timeline& timeline) {
  if (const Status status = add_kills(database, timeline); !status) return status;
  if (const Status status = add_notes(database, timeline); !status) return status;
  for (const TimelineProcess& process : timeline.processes) {
    if (timeline.events.size() >= kMostTimelineEvents) break;
    if (const Status status = add_process_events(database, timeline, process); !status) return status;
  }
  if (timeline.events.size() > kMostTimelineEvents) timeline.events.resize(kMostTimelineEvents);
  std::stable_sort(timeline.events.begin(), timeline.events.end(),
                   [](const TimelineEvent& a, const TimelineEvent& b) { return a.time_ns < b.time_ns; });
  const auto exits = static_cast<size_t>(
      std::count_if(timeline.events.begin(), timeline.events.end(),
                    [](const TimelineEvent& event) { return event.kind == EventKind::exit; }));
  return note_left_out(database, timeline,
                       "SELECT count(*) FROM process WHERE run_id = ? AND ended_ns BETWEEN ? AND ? "
                       "AND end_reason IN ('exited', 'signaled', 'oom_killed')",
                       exits, "ends of processes");
}

Status add_gaps(Database& database, Timeline& timeline) {
  constexpr std::array kinds = {GapKind::late_tick,      GapKind::missed_ticks, GapKind::event_loss,
                                GapKind::queue_overflow, GapKind::storage,      GapKind::suspend,
                                GapKind::unreadable};
  Status status = database.each(
      "SELECT started_ns, ended_ns, kind, lost_count, coalesce(detail, '') FROM gap "
      "WHERE run_id = ?1 AND started_ns <= ?3 AND ended_ns >= ?2 ORDER BY ended_ns - started_ns DESC LIMIT "
      "?4",
      {Nullable(timeline.run_id), Nullable(timeline.begin_ns), Nullable(timeline.end_ns),
       Nullable(static_cast<int64_t>(kMostTimelineGaps))},
      [&](const Statement& row) {
        for (const GapKind kind : kinds) {
          if (row.text_or(2) != word(kind)) continue;
          timeline.gaps.push_back({row.integer(0).value_or(0), row.integer(1).value_or(0), kind,
                                   gap_text(kind, row.integer(3), row.text_or(4))});
        }
      });
  if (!status) return status;
  const size_t shown = timeline.gaps.size();
  std::sort(timeline.gaps.begin(), timeline.gaps.end(),
            [](const TimelineGap& a, const TimelineGap& b) { return a.begin_ns < b.begin_ns; });
  return note_left_out(database, timeline,
                       "SELECT count(*) FROM gap WHERE run_id = ?1 AND started_ns <= ?3 AND ended_ns >= ?2",
                       shown, "gaps");
}

}  // namespace memlog
