// SPDX-License-Identifier: Apache-2.0
#include "cli/run_text.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "cli/show_devices.h"

namespace memlog {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(Nullable value) {
  return value.has_value() ? ordered_json(value.value()) : ordered_json();
}

ordered_json json_of(const std::optional<std::string>& text) {
  return text ? ordered_json(valid_utf8(*text)) : ordered_json();
}

std::string signal_name(int64_t signal) {
  if (signal > 0 && signal < NSIG) {
    if (const char* name = sigabbrev_np(static_cast<int>(signal))) return fmt::format("SIG{}", name);
  }
  return fmt::format("signal {}", signal);
}

ordered_json process_json(const ProcessSummary& process) {
  const char* source = word(process.peak_source);
  return {{"id", process.id},
          {"parent_process_id", json_of(process.parent_process_id)},
          {"pid", process.pid},
          {"parent_pid", json_of(process.parent_pid)},
          {"name", valid_utf8(process.name)},
          {"comm", valid_utf8(process.comm)},
          {"exe", json_of(process.exe)},
          {"cmdline", json_of(process.cmdline)},
          {"cgroup", json_of(process.cgroup)},
          {"uid", json_of(process.uid)},
          {"first_seen_ns", process.first_seen_ns},
          {"first_seen_by", process.first_seen_by},
          {"start_time_ns", json_of(process.start_time_ns)},
          {"ended_ns", json_of(process.ended_ns)},
          {"end_reason", word(process.end_reason)},
          {"exit_status", json_of(process.exit_status)},
          {"exit_signal", json_of(process.exit_signal)},
          {"core_dumped", json_of(process.core_dumped)},
          {"peak_rss_bytes", json_of(process.peak_rss_bytes)},
          {"peak_source", *source == '\0' ? ordered_json() : ordered_json(source)},
          {"sample_count", process.sample_count},
          {"peak_device_bytes", json_of(process.peak_device_bytes)},
          {"last_device_bytes", json_of(process.last_device_bytes)},
          {"last_rss_bytes", json_of(process.last.rss_bytes)},
          {"last_swap_bytes", json_of(process.last.swap_bytes)},
          {"last_oom_score", json_of(process.last.oom_score)},
          {"last_oom_score_adj", json_of(process.last.oom_score_adj)}};
}

ordered_json oom_kill_json(const OomKillSummary& kill) {
  return {{"time_ns", kill.time_ns},
          {"process_id", json_of(kill.process_id)},
          {"pid", kill.pid},
          {"comm", json_of(kill.comm)},
          {"rss_bytes", json_of(kill.rss_bytes())},
          {"swap_bytes", json_of(kill.swap_bytes)},
          {"oom_score_adj", json_of(kill.oom_score_adj)},
          {"trigger_pid", json_of(kill.trigger_pid)},
          {"trigger_comm", json_of(kill.trigger_comm)},
          {"constraint", json_of(kill.constraint)},
          {"limit_cgroup", json_of(kill.limit_cgroup)},
          {"limit_bytes", json_of(kill.limit_bytes)},
          {"usage_bytes", json_of(kill.usage_bytes)}};
}

ordered_json cgroup_json(const CgroupSummary& cgroup) {
  return {{"path", valid_utf8(cgroup.path)},
          {"version", cgroup.version},
          {"peak_bytes", json_of(cgroup.peak_bytes)},
          {"current_bytes", json_of(cgroup.current_bytes)},
          {"limit_bytes", json_of(cgroup.limit_bytes)},
          {"oom_kill_count", json_of(cgroup.oom_kill_count)}};
}

ordered_json gap_json(const GapSummary& gap) {
  return {{"kind", gap.kind},
          {"span_count", gap.span_count},
          {"total_ns", gap.total_ns},
          {"longest_ns", gap.longest_ns},
          {"first_ns", gap.first_ns},
          {"last_ns", gap.last_ns},
          {"lost_count", json_of(gap.lost_count)},
          {"detail", json_of(gap.detail)}};
}

ordered_json host_json(const HostExtremes& host) {
  return {{"sample_count", host.sample_count},
          {"mem_total_bytes", json_of(host.mem_total_bytes)},
          {"least_available_bytes", json_of(host.least_available_bytes)},
          {"least_available_at_ns", json_of(host.least_available_at_ns)},
          {"swap_total_bytes", json_of(host.swap_total_bytes)},
          {"most_swap_used_bytes", json_of(host.most_swap_used_bytes)},
          {"psi_some_ns", json_of(host.psi_some_ns)},
          {"psi_full_ns", json_of(host.psi_full_ns)}};
}

template <typename Items, typename Function>
ordered_json array_of(const Items& items, Function to_json) {
  ordered_json array = ordered_json::array();
  for (const auto& item : items) array.push_back(to_json(item));
  return array;
}

}  // namespace

std::string bytes_or_dash(Nullable bytes) { return bytes.has_value() ? format_bytes(bytes.value()) : "-"; }

std::string run_end_text(const Run& run) {
  std::string text;
  if (run.oom_kill_count > 0)
    text = fmt::format("{} OOM kill{}; ", run.oom_kill_count, run.oom_kill_count == 1 ? "" : "s");
  if (run.is_incomplete) text += "events lost; ";
  if (run.state == RunState::running) return text + "recording";
  if (run.state == RunState::interrupted) return text + "interrupted";
  return text + run.end_reason.value_or("ended");
}

std::string oom_place_text(const OomKillSummary& kill) {
  std::string place;
  if (kill.limit_cgroup) {
    place = "in cgroup " + *kill.limit_cgroup;
  } else if (kill.constraint == "memcg") {
    place = "in a memory cgroup";
  } else if (kill.constraint == "global") {
    place = "for the machine was out of memory";
  } else if (kill.constraint) {
    place = "within its " + *kill.constraint;
  }
  if (kill.limit_bytes.has_value())
    place += fmt::format("{}(limit {})", place.empty() ? "" : " ", format_bytes(kill.limit_bytes.value()));
  return place;
}

std::string process_end_text(const ProcessSummary& process, const OomKillSummary* kill, RunState state) {
  const std::string signal =
      process.exit_signal.has_value() ? signal_name(process.exit_signal.value()) : std::string("a signal");
  switch (process.end_reason) {
    case EndReason::running:
      return state == RunState::running ? "running" : "still running";
    case EndReason::exited:
      return process.exit_status.has_value() ? fmt::format("exit {}", process.exit_status.value()) : "exited";
    case EndReason::signaled:
      return "killed by " + signal + (process.core_dumped == Nullable(1) ? " (core dumped)" : "");
    case EndReason::oom_killed: {
      const std::string place = kill == nullptr ? "" : oom_place_text(*kill);
      return (process.exit_signal.has_value() ? signal : "SIGKILL") + ", OOM kill" +
             (place.empty() ? "" : " ") + place;
    }
    case EndReason::unseen:
      break;
  }
  return "end not seen";
}

std::string json_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json run_json(const Run& run) {
  return {{"id", run.id},
          {"label", json_of(run.label)},
          {"target", valid_utf8(run.target)},
          {"host", valid_utf8(run.host)},
          {"kernel", valid_utf8(run.kernel)},
          {"command", valid_utf8(run.command)},
          {"interval_ns", run.interval_ns},
          {"started_ns", run.started_ns},
          {"ended_ns", json_of(run.ended_ns)},
          {"started_utc", format_utc(run.started_ns)},
          {"duration_ns", run.duration_ns()},
          {"state", word(run.state)},
          {"end_reason", json_of(run.end_reason)},
          {"event_source", run.event_source},
          {"incomplete", run.is_incomplete},
          {"peak_rss_bytes", json_of(run.peak_rss_bytes)},
          {"process_count", run.process_count},
          {"oom_kill_count", run.oom_kill_count},
          {"gap_count", run.gap_count},
          {"memlog_version", run.memlog_version}};
}

ordered_json summary_json(const RunSummary& summary) {
  ordered_json json = run_json(summary.run);
  json["processes"] = array_of(summary.processes, process_json);
  json["oom_kills"] = array_of(summary.oom_kills, oom_kill_json);
  json["cgroups"] = array_of(summary.cgroups, cgroup_json);
  json["gaps"] = array_of(summary.gaps, gap_json);
  json["notes"] = array_of(summary.notes, [](const Note& note) {
    return ordered_json{{"time_ns", note.time_ns}, {"kind", note.kind}, {"text", valid_utf8(note.text)}};
  });
  json["host"] = host_json(summary.host);
  json["devices"] = devices_json(summary);
  json["device_spread"] = json_of(summary.device_spread);
  return json;
}

}  // namespace memlog
