// SPDX-License-Identifier: Apache-2.0
// memlog show RUN: one run on a page.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_text.h"
#include "cli/table.h"
#include "query/process_tree.h"
#include "query/summary.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr size_t kMostProcesses = 60;

std::string plural(int64_t count, std::string_view what) {
  const bool is_one = count == 1;
  const std::string_view many = what.ends_with("s") ? "es" : "s";
  return fmt::format("{} {}{}", count, what, is_one ? "" : many);
}

std::string clock_of(int64_t time_ns) { return format_utc(time_ns).substr(11, 12); }

std::string headline(const Run& run) {
  std::string text = fmt::format("Run {}", run.id);
  if (run.label) text += fmt::format(" \"{}\"", printable(*run.label));
  text += fmt::format(": {} on {}\n", printable(run.target), printable(run.host));
  text += fmt::format("  {} UTC, {}{}, {}\n", format_utc(run.started_ns).substr(0, 19),
                      run.state == RunState::running ? "for " : "", format_duration(run.duration_ns()),
                      printable(run_end_text(run)));
  text += fmt::format("  {}, sampled every {}, events from {}, largest process {}\n",
                      plural(run.process_count, "process"), format_duration(run.interval_ns),
                      printable(run.event_source), bytes_or_dash(run.peak_rss_bytes));
  return text + fmt::format("  {}\n", printable(run.command));
}

std::map<int64_t, const OomKillSummary*> kills_by_process(const RunSummary& summary) {
  std::map<int64_t, const OomKillSummary*> kills;
  for (const OomKillSummary& kill : summary.oom_kills) {
    if (kill.process_id.has_value()) kills[kill.process_id.value()] = &kill;
  }
  return kills;
}

std::string number_or_dash(Nullable number) {
  return number.has_value() ? std::to_string(number.value()) : std::string("-");
}

std::string processes_text(const RunSummary& summary, bool all) {
  if (summary.processes.empty()) return "\nNo process was seen.\n";
  const auto kills = kills_by_process(summary);
  const ProcessTree tree = build_process_tree(summary.processes, all ? 0 : kMostProcesses);
  TextTable table({{"PROCESS", Align::left, 16},
                   {"PID", Align::right},
                   {"PEAK RSS", Align::right},
                   {"LAST RSS", Align::right},
                   {"SWAP", Align::right},
                   {"OOM", Align::right},
                   {"LIVED", Align::right},
                   {"END", Align::left, 14}});
  bool has_sampled_peak = false;
  for (const TreeLine& line : tree.lines) {
    const ProcessSummary& process = *line.process;
    const auto kill = kills.find(process.id);
    const bool is_sampled = process.peak_source == PeakSource::sampled;
    has_sampled_peak |= is_sampled;
    const Nullable lived = process.duration_ns();
    table.add_row({line.branch + process.name, std::to_string(process.pid),
                   (is_sampled ? "~" : "") + bytes_or_dash(process.peak_rss_bytes),
                   bytes_or_dash(process.last.rss_bytes), bytes_or_dash(process.last.swap_bytes),
                   number_or_dash(process.last.oom_score), lived.has_value() ? format_duration(lived.value()) : "-",
                   process_end_text(process, kill == kills.end() ? nullptr : kill->second, summary.run.state)});
  }
  std::string text = "\n" + table.render(stdout_columns());
  if (tree.left_out > 0)
    text += fmt::format("  … and {} smaller than these, the largest {} (--all shows them)\n",
                        plural(static_cast<int64_t>(tree.left_out), "process"),
                        bytes_or_dash(tree.largest_left_out_bytes));
  if (has_sampled_peak) text += "  ~ the largest value sampled; the others are the kernel's own peak\n";
  return text;
}

std::string oom_text(const RunSummary& summary) {
  if (summary.oom_kills.empty()) return "";
  std::string text = "\nOOM kills\n";
  for (const OomKillSummary& kill : summary.oom_kills) {
    text += fmt::format("  {}  {} (pid {})", clock_of(kill.time_ns), printable(kill.comm.value_or("?")), kill.pid);
    if (const std::string place = oom_place_text(kill); !place.empty()) text += ", " + printable(place);
    if (kill.rss_bytes().has_value()) text += fmt::format(", it held {}", format_bytes(kill.rss_bytes().value()));
    if (kill.swap_bytes.value_or(0) > 0) text += fmt::format(" and {} of swap", format_bytes(kill.swap_bytes.value()));
    if (kill.trigger_pid.has_value() && kill.trigger_pid != Nullable(kill.pid))
      text += fmt::format(", asked for by {} (pid {})", printable(kill.trigger_comm.value_or("?")),
                          kill.trigger_pid.value());
    text += "\n";
  }
  return text;
}

std::string cgroups_text(const RunSummary& summary) {
  if (summary.cgroups.empty()) return "";
  TextTable table({{"  CGROUP", Align::left, 20},
                   {"PEAK", Align::right},
                   {"LAST", Align::right},
                   {"TIGHTEST LIMIT", Align::right},
                   {"OOM KILLS", Align::right}});
  for (const CgroupSummary& cgroup : summary.cgroups) {
    table.add_row({"  " + cgroup.path, bytes_or_dash(cgroup.peak_bytes), bytes_or_dash(cgroup.current_bytes),
                   cgroup.limit_bytes.has_value() ? format_bytes(cgroup.limit_bytes.value()) : "none",
                   number_or_dash(cgroup.oom_kill_count)});
  }
  return "\nMemory cgroups\n" + table.render(stdout_columns());
}

std::string host_text(const HostExtremes& host) {
  if (host.sample_count == 0) return "";
  std::string text = "\nHost\n";
  if (host.least_available_bytes.has_value())
    text += fmt::format("  least memory available: {} of {} at {}\n", format_bytes(host.least_available_bytes.value()),
                        bytes_or_dash(host.mem_total_bytes), clock_of(host.least_available_at_ns.value_or(0)));
  if (host.most_swap_used_bytes.value_or(0) > 0)
    text += fmt::format("  most swap used: {} of {}\n", format_bytes(host.most_swap_used_bytes.value()),
                        bytes_or_dash(host.swap_total_bytes));
  if (host.psi_some_ns.value_or(0) > 0)
    text += fmt::format("  stalled for memory: {} (all of it at once: {})\n", format_duration(host.psi_some_ns.value()),
                        host.psi_full_ns.has_value() ? format_duration(host.psi_full_ns.value()) : "-");
  return text == "\nHost\n" ? "" : text;
}

// "missed_ticks" in words.
std::string gap_name(const std::string& kind) {
  static const std::map<std::string, std::string> names = {{"late_tick", "samples taken late"},
                                                           {"missed_ticks", "samples missed"},
                                                           {"event_loss", "kernel events lost"},
                                                           {"queue_overflow", "records dropped before storing"},
                                                           {"storage", "storage failed"},
                                                           {"suspend", "the machine slept"},
                                                           {"unreadable", "could not be read"}};
  const auto found = names.find(kind);
  return found == names.end() ? kind : found->second;
}

std::string gaps_text(const RunSummary& summary) {
  if (summary.gaps.empty() && summary.notes.empty()) return "\nNo gaps.\n";
  std::string text = "\nGaps and notes\n";
  for (const GapSummary& gap : summary.gaps) {
    text += fmt::format("  {}", printable(gap_name(gap.kind)));
    if (gap.lost_count.has_value()) text += fmt::format(": {}", gap.lost_count.value());
    text += fmt::format(" ({}, {} in all, {} to {})", plural(gap.span_count, "gap"), format_duration(gap.total_ns),
                        clock_of(gap.first_ns), clock_of(gap.last_ns));
    if (gap.detail) text += ": " + printable(*gap.detail);
    text += "\n";
  }
  for (const Note& note : summary.notes)
    text += fmt::format("  {}  {}{}\n", clock_of(note.time_ns), note.kind == "note" ? "" : note.kind + ": ",
                        printable(note.text));
  return text;
}

}  // namespace

int run_show(const ShowOptions& options) {
  Database database = or_die(open_for_reading(or_die(database_path(options.database))));
  const int64_t run_id = or_die(find_run(database, options.run), FatalError::kBadUsage);
  const RunSummary summary = or_die(run_summary(database, run_id));
  Output output;
  if (options.json) {
    output.put(json_text(summary_json(summary)));
  } else {
    output.put(headline(summary.run));
    output.put(processes_text(summary, options.all));
    output.put(oom_text(summary));
    output.put(cgroups_text(summary));
    output.put(host_text(summary.host));
    output.put(gaps_text(summary));
  }
  output.flush();
  return 0;
}

}  // namespace memlog
