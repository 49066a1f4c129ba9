// SPDX-License-Identifier: Apache-2.0
#include "query/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "model/rollup.h"
#include "query/series_reader.h"
#include "query/stored_words.h"

namespace memlog {
namespace {

constexpr size_t kMostNamed = 4;  // dead processes in a sentence

// The number in "tt_device_7_memory".
std::string region_number(std::string_view region) {
  constexpr std::string_view before = "tt_device_";
  constexpr std::string_view after = "_memory";
  if (region.starts_with(before)) region.remove_prefix(before.size());
  if (region.ends_with(after)) region.remove_suffix(after.size());
  return printable(region);
}

// Two workloads may both call one of theirs device 0.
void name_devices(std::vector<DeviceSummary>& devices) {
  for (DeviceSummary& device : devices) {
    const auto namesakes = std::count_if(devices.begin(), devices.end(), [&](const DeviceSummary& other) {
      return other.device_id == device.device_id;
    });
    const std::string number = region_number(device.region);
    device.name = device.device_id.has_value() ? fmt::format("device {}", device.device_id.value()) : number;
    if (device.device_id.has_value() && namesakes > 1) device.name += fmt::format(" ({})", number);
  }
}

Status read_devices(Database& database, int64_t run_id, std::vector<DeviceSummary>& devices) {
  return database.each(
      "SELECT id, region, directory, layout_version, asic_id, device_id, is_remote FROM device WHERE run_id "
      "= ? "
      "ORDER BY device_id NULLS LAST, length(region), region",
      {Nullable(run_id)}, [&](const Statement& row) {
        DeviceSummary& device = devices.emplace_back();
        device.id = row.integer(0).value_or(0);
        device.region = row.text_or(1);
        device.directory = optional_text(row, 2);
        device.layout_version = row.integer(3);
        device.asic_id = row.integer(4);
        device.device_id = row.integer(5);
        device.is_remote = row.integer(6);
      });
}

Status read_last_samples(Database& database, DeviceSummary& device) {
  Status status = database.each(
      "SELECT time_ns, dram_bytes, live_bytes, ghost_bytes, unknown_bytes, user_count FROM device_sample "
      "WHERE device_id = ? AND user_count IS NOT NULL ORDER BY time_ns DESC LIMIT 1",
      {Nullable(device.id)}, [&](const Statement& row) {
        device.last.time_ns = row.integer(0).value_or(0);
        device.last.dram_bytes = row.integer(1);
        device.last.live_bytes = row.integer(2);
        device.last.ghost_bytes = row.integer(3);
        device.last.unknown_bytes = row.integer(4);
        device.last.user_count = row.integer(5);
      });
  if (!status) return status;
  return database.each(
      "SELECT unreadable_reason FROM device_sample WHERE device_id = ? ORDER BY time_ns DESC LIMIT 1",
      {Nullable(device.id)}, [&](const Statement& row) { device.unreadable_reason = optional_text(row, 0); });
}

Status read_users(Database& database, DeviceSummary& device) {
  std::map<int64_t, DeviceUserSummary> users;
  const Status status = database.each(
      "SELECT pid, name, state, dram_bytes FROM device_user WHERE device_id = ? ORDER BY time_ns, rowid",
      {Nullable(device.id)}, [&](const Statement& row) {
        const int64_t pid = row.integer(0).value_or(0);
        users[pid] = {pid, row.text_or(1), device_user_state_from(row.text_or(2)), row.integer(3)};
      });
  for (auto& [pid, user] : users) device.users.push_back(std::move(user));
  return status;
}

// "a dead process 4711 (worker)", "dead processes 4711 (worker), 4712 (worker)".
std::string whose_ghost(const DeviceSummary& device) {
  std::vector<std::string> dead;
  for (const DeviceUserSummary& user : device.users) {
    if (user.state == DeviceUserState::dead)
      dead.push_back(fmt::format("{} ({})", user.pid, printable(user.name)));
  }
  if (dead.empty()) return "processes that are gone";
  const size_t count = dead.size();
  if (count > kMostNamed) dead.resize(kMostNamed);
  return fmt::format("{} {}{}", count == 1 ? "a dead process" : "dead processes", fmt::join(dead, ", "),
                     count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "");
}

bool is_stale(const DeviceSummary& device) { return device.last.ghost_bytes.value_or(0) > 0; }

}  // namespace

bool DeviceSummary::is_in_use() const {
  return std::any_of(users.begin(), users.end(), [](const DeviceUserSummary& user) {
    return user.state == DeviceUserState::live || user.state == DeviceUserState::unknown;
  });
}

Result<std::vector<DeviceSummary>> device_summaries(Database& database, int64_t run_id) {
  std::vector<DeviceSummary> devices;
  if (const Status status = read_devices(database, run_id, devices); !status) return status.error();
  if (devices.empty()) return devices;
  name_devices(devices);
  const Timeline everything;
  const SampleGaps no_gaps;
  Result<SeriesReader> reader =
      SeriesReader::prepare(database, device_rollup_table(), {"dram_bytes"}, everything, no_gaps);
  if (!reader) return reader.error();
  for (DeviceSummary& device : devices) {
    Status status = read_last_samples(database, device);
    if (status) status = read_users(database, device);
    if (!status) return status.error();
    const Result<std::vector<TimelineSeries>> peaks = reader->peaks(device.id);
    if (!peaks) return peaks.error();
    device.peak_dram_bytes = peaks->front().peak;
  }
  return devices;
}

std::vector<std::string> ghost_sentences(const std::vector<DeviceSummary>& devices) {
  struct Finding {
    std::string whose;
    int64_t bytes = 0;
    std::vector<std::string> regions;
  };
  std::vector<Finding> findings;
  for (const DeviceSummary& device : devices) {
    if (!is_stale(device)) continue;
    const std::string whose = whose_ghost(device);
    auto found = std::find_if(findings.begin(), findings.end(),
                              [&](const Finding& finding) { return finding.whose == whose; });
    if (found == findings.end()) found = findings.insert(findings.end(), Finding{whose, 0, {}});
    found->bytes += device.last.ghost_bytes.value();
    found->regions.push_back(printable(device.region));
  }
  std::vector<std::string> sentences;
  for (const Finding& finding : findings) {
    const std::string where = finding.regions.size() == 1 ? finding.regions[0]
                                                          : fmt::format("{} and {} more", finding.regions[0],
                                                                        finding.regions.size() - 1);
    sentences.push_back(
        fmt::format("ghost {} of {} in {}", format_bytes(finding.bytes), finding.whose, where));
  }
  return sentences;
}

std::string clearing_command(const std::vector<DeviceSummary>& devices) {
  std::string command;
  for (const DeviceSummary& device : devices) {
    if (!is_stale(device) || device.is_in_use()) continue;
    command +=
        (command.empty() ? "rm " : " ") +
        quoted_for_shell(printable(device.directory.value_or("/dev/shm")) + "/" + printable(device.region));
  }
  return command;
}

Result<std::optional<std::string>> device_spread(Database& database, int64_t run_id,
                                                 const std::vector<DeviceSummary>& devices) {
  const auto name_of = [&](const std::string& region) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const DeviceSummary& device) { return device.region == region; });
    return found == devices.end() ? printable(region) : found->name;
  };
  std::optional<std::string> text;
  const Status status = database.each(
      "SELECT detail ->> '$.device_count', detail ->> '$.least_region', detail ->> '$.least_bytes', "
      "detail ->> '$.most_region', detail ->> '$.most_bytes' FROM event WHERE run_id = ? "
      "AND kind IN ('mark', 'note', 'clock_step') AND kind = 'note' AND detail ->> '$.topic' = 'device' "
      "AND detail ->> '$.about' = 'spread' ORDER BY time_ns LIMIT 1",
      {Nullable(run_id)}, [&](const Statement& row) {
        text = fmt::format("{} devices of one workload not in lockstep: {} in {} to {} in {}",
                           row.integer(0).value_or(0), format_bytes(row.integer(2).value_or(0)),
                           name_of(row.text_or(1)), format_bytes(row.integer(4).value_or(0)),
                           name_of(row.text_or(3)));
      });
  if (!status) return status.error();
  return text;
}

}  // namespace memlog
