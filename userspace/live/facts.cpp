// SPDX-License-Identifier: Apache-2.0
#include "live/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "query/timeline.h"
#include "query/timeline_events.h"
#include "render/timeline_json.h"

namespace memlog {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostText = 400;  // bytes of a command line
constexpr int64_t kMostRuns = 1000;
constexpr size_t kProcessesOfEvents = 200;

Json number(Nullable value) { return value.has_value() ? Json(value.value()) : Json(); }

Json milliseconds(int64_t time_ns) {
  const int64_t us = time_ns / kNsPerUs;
  return static_cast<double>(us) / 1000;
}

Json milliseconds(Nullable time_ns) { return time_ns.has_value() ? milliseconds(time_ns.value()) : Json(); }

Json text(const std::optional<std::string>& value) {
  return value ? Json(valid_utf8(std::string_view(*value).substr(0, kMostText))) : Json();
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Why the run ended as it did, in one sentence; unset where nothing tells.
std::optional<std::string> verdict_text(Database& /*database*/, int64_t /*run_id*/) { return std::nullopt; }

Json run_facts(const Run& run) {
  return {{"id", run.id},
          {"label", text(run.label)},
          {"host", valid_utf8(run.host)},
          {"target", valid_utf8(run.target)},
          {"state", word(run.state)},
          {"started_ms", milliseconds(run.started_ns)},
          {"ended_ms", milliseconds(run.ended_ns)},
          {"last_ms", milliseconds(run.last_seen_ns)},
          {"end_reason", text(run.end_reason)},
          {"interval_ms", milliseconds(run.interval_ns)},
          {"event_source", run.event_source},
          {"is_incomplete", run.is_incomplete},
          {"peak_rss_bytes", number(run.peak_rss_bytes)},
          {"process_count", run.process_count},
          {"oom_kill_count", run.oom_kill_count},
          {"gap_count", run.gap_count}};
}

Json rounded(const std::optional<double>& value) {
  return value ? Json(static_cast<int64_t>(*value)) : Json();
}

Json process_facts(const LiveProcess& process) {
  return {{"id", process.id},
          {"parent", number(process.parent_process_id)},
          {"pid", process.pid},
          {"name", valid_utf8(process.name)},
          {"cmdline", text(process.cmdline)},
          {"cgroup", text(process.cgroup)},
          {"first_seen_ms", milliseconds(process.first_seen_ns)},
          {"ended_ms", milliseconds(process.ended_ns)},
          {"end", word(process.end_reason)},
          {"status", number(process.exit_status)},
          {"signal", number(process.exit_signal)},
          {"last_ms", process.last.time_ns == 0 ? Json() : milliseconds(process.last.time_ns)},
          {"rss_bytes", number(process.last.rss_bytes)},
          {"swap_bytes", number(process.last.swap_bytes)},
          {"oom_score", number(process.last.oom_score)},
          {"peak_rss_bytes", number(process.peak_rss_bytes)},
          {"growth_bytes_per_s", rounded(process.growth_bytes_per_s)},
          {"room_bytes", number(process.room_bytes)},
          {"room_of", valid_utf8(process.room_of)},
          {"seconds_to_limit", rounded(process.seconds_to_limit())}};
}

Json surroundings(const LiveTable& table) {
  Json cgroups = Json::array();
  for (const LiveCgroup& cgroup : table.cgroups) {
    cgroups.push_back({{"path", valid_utf8(cgroup.path)},
                       {"current_bytes", number(cgroup.current_bytes)},
                       {"limit_bytes", number(cgroup.limit_bytes)}});
  }
  return {{"running_count", table.running_count},
          {"cgroups", cgroups},
          {"host",
           {{"mem_total_bytes", number(table.mem_total_bytes)},
            {"mem_available_bytes", number(table.mem_available_bytes)}}},
          {"gaps", {{"late", table.late_count}, {"lost", table.lost_count}}}};
}

// [id, ms, rss, swap, oom_score, growth, hugetlb], ms from the update's begin; with more than one new sample
// then the series of the resident set (timeline_json.h). Told each second of hundreds of processes, hence terse.
std::string changed_row(const LiveProcess& process, int64_t begin_ns, const std::string& series) {
  const auto text = [](Nullable value) {
    return value.has_value() ? fmt::format("{}", value.value()) : std::string("null");
  };
  const std::string growth =
      process.growth_bytes_per_s ? fmt::format("{:.3g}", *process.growth_bytes_per_s) : "null";
  return fmt::format("[{},{:.3f},{},{},{},{},{}{}{}]", process.id,
                     static_cast<double>(process.last.time_ns - begin_ns) / static_cast<double>(kNsPerMs),
                     text(process.last.rss_bytes), text(process.last.swap_bytes),
                     text(process.last.oom_score), growth, text(process.last.hugetlb_bytes),
                     series.empty() ? "" : ",", series);
}

// What an update says of each part of the only process, for they are drawn on top of each other.
Json parts_of(const LiveTable& table) {
  if (table.processes.size() != 1) return nullptr;
  const ProcessSample& last = table.processes[0].last;
  return {number(last.anon_bytes), number(last.file_bytes), number(last.shmem_bytes)};
}

Json events_of(const Timeline& timeline) {
  Json events = Json::array();
  for (const TimelineEvent& event : timeline.events) {
    events.push_back({{"ms", milliseconds(event.time_ns)},
                      {"kind", word(event.kind)},
                      {"process", event.process_id},
                      {"text", valid_utf8(std::string_view(event.text).substr(0, kMostText))}});
  }
  return events;
}

Json gaps_of(const Timeline& timeline) {
  Json gaps = Json::array();
  for (const TimelineGap& gap : timeline.gaps) {
    gaps.push_back({{"begin_ms", milliseconds(gap.begin_ns)},
                    {"end_ms", milliseconds(gap.end_ns)},
                    {"kind", word(gap.kind)},
                    {"text", valid_utf8(std::string_view(gap.text).substr(0, kMostText))}});
  }
  return gaps;
}

// The resident set's new points; an empty text where the row says it all.
std::string series_of(const Timeline& tail, int64_t process_id) {
  for (const TimelineProcess& process : tail.processes) {
    if (process.id != process_id || process.series.empty() || process.series[0].points.size() < 2) continue;
    return series_json(process.series[0], tail.begin_ns);
  }
  return "";
}

}  // namespace

Result<std::string> runs_json(Database& database, int64_t limit) {
  const Result<std::vector<Run>> runs = list_runs(database, std::clamp<int64_t>(limit, 1, kMostRuns));
  if (!runs) return runs.error();
  Json list = Json::array();
  for (const Run& run : *runs) list.push_back(run_facts(run));
  return dump({{"now_ms", milliseconds(wall_now_ns())}, {"runs", list}});
}

Result<std::string> run_json(Database& database, int64_t run_id) {
  LiveCursor cursor;
  const Result<LiveUpdate> now = read_live_update(database, run_id, kMostTableRows, cursor);
  if (!now) return now.error();
  const LiveTable& table = now->table;
  Json processes = Json::array();
  for (const LiveProcess& process : table.processes) processes.push_back(process_facts(process));
  const std::optional<std::string> verdict = verdict_text(database, run_id);
  Json json = {{"now_ms", milliseconds(wall_now_ns())},
               {"cursor", cursor_text(cursor)},
               {"run", run_facts(table.run)},
               {"verdict", verdict ? Json(valid_utf8(*verdict)) : Json()},
               {"processes", processes}};
  json.update(surroundings(table));
  return dump(json);
}

Result<std::string> events_json(Database& database, int64_t run_id, std::optional<int64_t> since_ns,
                                std::optional<int64_t> until_ns) {
  TimelineRequest request;
  request.since_ns = since_ns;
  request.until_ns = until_ns;
  request.points = 1;
  request.processes = kProcessesOfEvents;
  request.metrics = {"rss_bytes"};
  const Result<Timeline> timeline = read_timeline(database, run_id, request);
  if (!timeline) return timeline.error();
  Json notes = Json::array();
  for (const std::string& note : timeline->notes) notes.push_back(valid_utf8(note));
  return dump({{"events", events_of(*timeline)}, {"gaps", gaps_of(*timeline)}, {"notes", notes}});
}

std::string update_json(const LiveUpdate& update) {
  const LiveTable& table = update.table;
  std::string rows;
  Json facts = Json::array();
  for (const LiveProcess& process : table.processes) {
    const auto changed = std::find_if(update.tail.processes.begin(), update.tail.processes.end(),
                                      [&](const TimelineProcess& one) { return one.id == process.id; });
    const int64_t begin_ns = update.tail.begin_ns;
    const bool is_new = process.first_seen_ns >= begin_ns - 2 * kNsPerSecond;
    const bool has_ended =
        process.ended_ns.has_value() && process.ended_ns.value() >= begin_ns - 10 * kNsPerSecond;
    const bool is_lost = process.end_reason == EndReason::unseen;
    if (is_new || has_ended || is_lost) facts.push_back(process_facts(process));
    if (changed == update.tail.processes.end()) continue;
    rows += (rows.empty() ? "" : ",") + changed_row(process, begin_ns, series_of(update.tail, process.id));
  }
  Json json = {{"now_ms", milliseconds(wall_now_ns())},
               {"run", run_facts(table.run)},
               {"begin_ms", milliseconds(update.tail.begin_ns)},
               {"too_much", update.is_too_much},
               {"processes", facts},
               {"events", events_of(update.tail)},
               {"new_gaps", gaps_of(update.tail)},
               {"parts", parts_of(table)}};
  json.update(surroundings(table));
  std::string out = dump(json);
  out.pop_back();
  return out + ",\"rows\":[" + rows + "]}";
}

std::string cursor_text(const LiveCursor& cursor) {
  return fmt::format("{}-{}-{}-{}", cursor.time_ns, cursor.event_id, cursor.kill_id, cursor.gap_id);
}

std::optional<LiveCursor> parse_cursor(std::string_view text) {
  const std::vector<std::string_view> pieces = split(text, '-');
  if (pieces.size() != 4) return std::nullopt;
  LiveCursor cursor;
  int64_t* const fields[] = {&cursor.time_ns, &cursor.event_id, &cursor.kill_id, &cursor.gap_id};
  for (size_t at = 0; at < pieces.size(); ++at) {
    const std::optional<int64_t> value = parse_int(pieces[at]);
    if (!value || *value < 0) return std::nullopt;
    *fields[at] = *value;
  }
  return cursor;
}

}  // namespace memlog
