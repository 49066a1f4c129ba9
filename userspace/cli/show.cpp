// SPDX-License-Identifier: Apache-2.0
// memlog show RUN: one run on a page.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_text.h"
#include "cli/show_devices.h"
#include "cli/table.h"
#include "query/process_tree.h"
#include "query/summary.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr size_t kMostProcesses = 60;
constexpr size_t kLongestTarget = 60;    // in the headline
constexpr size_t kLongestCommand = 500;  // memlog sql 'SELECT command FROM run' has it whole

std::string plural(int64_t count, std::string_view what) {
  const bool is_one = count == 1;
  const std::string_view many = what.ends_with("s") ? "es" : "s";
  return fmt::format("{} {}{}", count, what, is_one ? "" : many);
}

// Time of day, with its date where the run saw more than one.
std::string clock_of(const Run& run, int64_t time_ns) {
  const std::string utc = format_utc(time_ns);
  const bool is_one_day =
      format_utc(run.started_ns).substr(0, 10) == format_utc(run.last_seen_ns).substr(0, 10);
  return is_one_day ? utc.substr(11, 12) : utc.substr(5, 14);
}

// `text` as an indented line, broken where a terminal is too narrow for it.
std::string paragraph(const std::string& text) {
  const size_t columns = stdout_columns();
  if (columns == 0) return "  " + text + "\n";
  std::string paragraph;
  for (const std::string& line : wrap(text, std::max(columns, size_t{40}) - 6))
    paragraph += (paragraph.empty() ? "  " : "      ") + line + "\n";
  return paragraph;
}

std::string headline(const Run& run) {
  std::string text = fmt::format("Run {}", run.id);
  if (run.label) text += fmt::format(" \"{}\"", printable(*run.label));
  text +=
      fmt::format(": {} on {}\n", cut_to_width(printable(run.target), kLongestTarget), printable(run.host));
  text += fmt::format("  {} UTC, {}{}, {}\n", format_utc(run.started_ns).substr(0, 19),
                      run.state == RunState::running ? "for " : "", format_duration(run.duration_ns()),
                      printable(run_end_text(run)));
  text += fmt::format("  {}, sampled every {}, events from {}, largest process {}\n",
                      plural(run.process_count, "process"), format_duration(run.interval_ns),
                      printable(run.event_source), bytes_or_dash(run.peak_rss_bytes));
  return text + fmt::format("  {}\n", cut_to_width(printable(run.command), kLongestCommand));
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

// A column that says nothing takes no room.
bool has_swap(const ProcessTree& tree) {
  return std::any_of(tree.lines.begin(), tree.lines.end(),
                     [](const TreeLine& line) { return line.process->last.swap_bytes.value_or(0) > 0; });
}

bool has_devices(const ProcessTree& tree) {
  return std::any_of(tree.lines.begin(), tree.lines.end(),
                     [](const TreeLine& line) { return line.process->peak_device_bytes.has_value(); });
}

std::string tree_table(const RunSummary& summary, const ProcessTree& tree) {
  const auto kills = kills_by_process(summary);
  const bool with_swap = has_swap(tree);
  const bool with_devices = has_devices(tree);
  std::vector<TableColumn> columns = {{"PROCESS", Align::left, 16},
                                      {"PID", Align::right},
                                      {"PEAK RSS", Align::right},
                                      {"LAST RSS", Align::right}};
  if (with_swap) columns.push_back({"SWAP", Align::right});
  if (with_devices)
    columns.insert(columns.end(), {{"PEAK DEVICE", Align::right}, {"LAST DEVICE", Align::right}});
  columns.insert(columns.end(), {{"OOM", Align::right}, {"LIVED", Align::right}, {"END", Align::left, 14}});
  TextTable table(columns);
  for (const TreeLine& line : tree.lines) {
    const ProcessSummary& process = *line.process;
    const auto kill = kills.find(process.id);
    const bool is_sampled = process.peak_source == PeakSource::sampled;
    const Nullable lived = process.duration_ns();
    std::vector<std::string> cells = {line.branch + process.name, std::to_string(process.pid),
                                      (is_sampled ? "~" : "") + bytes_or_dash(process.peak_rss_bytes),
                                      bytes_or_dash(process.last.rss_bytes)};
    if (with_swap) cells.push_back(bytes_or_dash(process.last.swap_bytes));
    if (with_devices) {
      cells.push_back(bytes_or_dash(process.peak_device_bytes));
      cells.push_back(bytes_or_dash(process.last_device_bytes));
    }
    cells.push_back(number_or_dash(process.last.oom_score));
    cells.push_back(lived.has_value() ? format_duration(lived.value()) : "-");
    cells.push_back(
        process_end_text(process, kill == kills.end() ? nullptr : kill->second, summary.run.state));
    table.add_row(std::move(cells));
  }
  return table.render(stdout_columns());
}

std::string processes_text(const RunSummary& summary, bool all) {
  if (summary.processes.empty()) return "\nNo process was seen.\n";
  const ProcessTree tree = build_process_tree(summary.processes, all ? 0 : kMostProcesses);
  std::string text = "\n" + tree_table(summary, tree);
  if (tree.left_out > 0)
    text += fmt::format("  … and {} more, the largest of them {} (--all shows them)\n",
                        plural(static_cast<int64_t>(tree.left_out), "process"),
                        bytes_or_dash(tree.largest_left_out_bytes));
  const bool has_sampled_peak = std::any_of(tree.lines.begin(), tree.lines.end(), [](const TreeLine& line) {
    return line.process->peak_source == PeakSource::sampled;
  });
  if (has_sampled_peak)
    text +=
        "  ~ the largest of the samples and of VmHWM as last read; a peak without it is the kernel's own at "
        "the exit\n";
  return text;
}

std::string oom_line(const Run& run, const OomKillSummary& kill) {
  std::string line = fmt::format("{}  {} (pid {})", clock_of(run, kill.time_ns),
                                 printable(kill.comm.value_or("?")), kill.pid);
  if (const std::string place = oom_place_text(kill); !place.empty()) line += ", " + printable(place);
  if (kill.rss_bytes().has_value())
    line += fmt::format(", it held {}", format_bytes(kill.rss_bytes().value()));
  if (kill.swap_bytes.value_or(0) > 0)
    line += fmt::format(" and {} of swap", format_bytes(kill.swap_bytes.value()));
  if (kill.trigger_pid.has_value() && kill.trigger_pid != Nullable(kill.pid))
    line += fmt::format(", when {} (pid {}) asked for memory", printable(kill.trigger_comm.value_or("?")),
                        kill.trigger_pid.value());
  return line;
}

std::string oom_text(const RunSummary& summary) {
  if (summary.oom_kills.empty()) return "";
  std::string text = "\nOOM kills\n";
  for (const OomKillSummary& kill : summary.oom_kills) text += paragraph(oom_line(summary.run, kill));
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

std::string host_text(const RunSummary& summary) {
  const HostExtremes& host = summary.host;
  std::string text;
  if (host.least_available_bytes.has_value())
    text += paragraph(fmt::format(
        "least memory available: {} of {} at {}", format_bytes(host.least_available_bytes.value()),
        bytes_or_dash(host.mem_total_bytes), clock_of(summary.run, host.least_available_at_ns.value_or(0))));
  if (host.most_swap_used_bytes.value_or(0) > 0)
    text += paragraph(fmt::format("most swap used: {} of {}", format_bytes(host.most_swap_used_bytes.value()),
                                  bytes_or_dash(host.swap_total_bytes)));
  if (host.psi_some_ns.value_or(0) > 0)
    text += paragraph(fmt::format(
        "some task waited for memory: {} in all; every task: {}", format_duration(host.psi_some_ns.value()),
        host.psi_full_ns.has_value() ? format_duration(host.psi_full_ns.value()) : "-"));
  return text.empty() ? "" : "\nHost\n" + text;
}

// "missed_ticks" in words.
std::string gap_name(const std::string& kind) {
  static const std::map<std::string, std::string> names = {
      {"late_tick", "samples taken late"},
      {"missed_ticks", "samples missed"},
      {"event_loss", "kernel events lost"},
      {"queue_overflow", "records dropped before storing"},
      {"storage", "storage failed"},
      {"suspend", "the machine slept"},
      {"unreadable", "samples that could not be read"}};
  const auto found = names.find(kind);
  return found == names.end() ? kind : found->second;
}

std::string gap_line(const Run& run, const GapSummary& gap) {
  std::string line = printable(gap_name(gap.kind));
  if (gap.lost_count.has_value()) line += fmt::format(": {}", gap.lost_count.value());
  const std::string first = clock_of(run, gap.first_ns);
  const std::string last = clock_of(run, gap.last_ns);
  line += " (";
  if (gap.span_count > 1) line += fmt::format("{} times, ", gap.span_count);
  if (gap.total_ns > 0) line += format_duration(gap.total_ns) + (gap.span_count > 1 ? " in all, " : ", ");
  line += first == last ? fmt::format("at {})", first) : fmt::format("{} to {})", first, last);
  if (gap.detail) line += ": " + printable(*gap.detail);
  return line;
}

std::string gaps_text(const RunSummary& summary) {
  if (summary.gaps.empty() && summary.notes.empty()) return "\nNo gaps.\n";
  std::string text = "\nGaps and notes\n";
  for (const GapSummary& gap : summary.gaps) text += paragraph(gap_line(summary.run, gap));
  for (const Note& note : summary.notes)
    text +=
        paragraph(fmt::format("{}  {}{}", clock_of(summary.run, note.time_ns),
                              note.kind == "note" ? "" : printable(note.kind) + ": ", printable(note.text)));
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
    output.put(devices_text(summary, stdout_columns()));
    output.put(host_text(summary));
    output.put(gaps_text(summary));
  }
  output.flush();
  return 0;
}

}  // namespace memlog
