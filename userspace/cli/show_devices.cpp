// SPDX-License-Identifier: Apache-2.0
#include "cli/show_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/run_text.h"
#include "cli/table.h"

namespace memlog {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostUsers = 8;  // named in a table's cell

std::string number_or_dash(Nullable number) {
  return number.has_value() ? std::to_string(number.value()) : std::string("-");
}

// "1001 (train.py), 4711 (worker, dead)"; those that have left are not named.
std::string users_text(const DeviceSummary& device) {
  std::vector<std::string> words;
  size_t count = 0;
  for (const DeviceUserSummary& user : device.users) {
    if (user.state == DeviceUserState::left || ++count > kMostUsers) continue;
    const std::string state = user.state == DeviceUserState::live ? "" : std::string(", ") + word(user.state);
    words.push_back(fmt::format("{} ({}{})", user.pid, user.name, state));
  }
  if (count > kMostUsers) words.push_back(fmt::format("{} more", count - kMostUsers));
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  if (device.unreadable_reason)
    text += (text.empty() ? "" : "; ") + ("unreadable: " + *device.unreadable_reason);
  return text;
}

ordered_json json_of(Nullable value) {
  return value.has_value() ? ordered_json(value.value()) : ordered_json();
}

}  // namespace

std::string devices_text(const RunSummary& summary, size_t columns) {
  if (summary.devices.empty()) return "";
  TextTable table({{"  REGION", Align::left, 20},
                   {"DEVICE", Align::right},
                   {"ASIC", Align::right},
                   {"LAYOUT", Align::right},
                   {"PEAK DRAM", Align::right},
                   {"LAST DRAM", Align::right},
                   {"LIVE", Align::right},
                   {"GHOST", Align::right},
                   {"USERS", Align::left, 16}});
  for (const DeviceSummary& device : summary.devices) {
    table.add_row({"  " + device.region, number_or_dash(device.device_id), number_or_dash(device.asic_id),
                   number_or_dash(device.layout_version), bytes_or_dash(device.peak_dram_bytes),
                   bytes_or_dash(device.last.dram_bytes), bytes_or_dash(device.last.live_bytes),
                   bytes_or_dash(device.last.ghost_bytes), users_text(device)});
  }
  std::string text = "\nDevices\n" + table.render(columns);
  for (const std::string& ghost : ghost_sentences(summary.devices))
    text += "  " + ghost + ": not counted as used\n";
  if (const std::string command = clearing_command(summary.devices); !command.empty())
    text +=
        "  When you have made sure that nobody uses the devices, this clears them:\n    " + command + "\n";
  if (summary.device_spread) text += "  " + *summary.device_spread + "\n";
  return text;
}

ordered_json devices_json(const RunSummary& summary) {
  ordered_json devices = ordered_json::array();
  for (const DeviceSummary& device : summary.devices) {
    ordered_json users = ordered_json::array();
    for (const DeviceUserSummary& user : device.users) {
      users.push_back({{"pid", user.pid},
                       {"name", valid_utf8(user.name)},
                       {"state", word(user.state)},
                       {"dram_bytes", json_of(user.dram_bytes)}});
    }
    devices.push_back(
        {{"region", valid_utf8(device.region)},
         {"directory", device.directory ? ordered_json(valid_utf8(*device.directory)) : ordered_json()},
         {"layout_version", json_of(device.layout_version)},
         {"asic_id", json_of(device.asic_id)},
         {"device_id", json_of(device.device_id)},
         {"is_remote", json_of(device.is_remote)},
         {"peak_dram_bytes", json_of(device.peak_dram_bytes)},
         {"last_dram_bytes", json_of(device.last.dram_bytes)},
         {"last_live_bytes", json_of(device.last.live_bytes)},
         {"last_ghost_bytes", json_of(device.last.ghost_bytes)},
         {"unreadable_reason",
          device.unreadable_reason ? ordered_json(valid_utf8(*device.unreadable_reason)) : ordered_json()},
         {"users", std::move(users)}});
  }
  return devices;
}

}  // namespace memlog
