// SPDX-License-Identifier: Apache-2.0
// memlog devices: the device memory regions that are there, who uses them, and what is stale in them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/talk.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "collect/device_driver.h"
#include "collect/device_sampler.h"

namespace memlog {
namespace {

constexpr int kMostDriverDevices = 64;

struct User {
  int64_t pid = 0;
  std::string name;
  DeviceUserState state = DeviceUserState::unknown;
  Nullable dram_bytes;
};

// One region, kept beyond the look at it.
struct Region {
  std::string name;
  std::string reason;  // why it, or a part of it, cannot be read
  bool is_readable = false;
  int64_t version = 0;
  Nullable device_id;
  Nullable last_update_ns;
  DeviceMemory totals;
  Nullable live_bytes;
  Nullable ghost_bytes;
  Nullable unknown_bytes;
  std::vector<User> users;
};

Region region_from(const DeviceReading& reading) {
  Region region;
  region.name = reading.name;
  region.reason = reading.reason;
  region.is_readable = reading.region != nullptr;
  if (!region.is_readable) return region;
  region.version = reading.region->version;
  region.device_id = reading.region->device_id;
  region.last_update_ns = reading.region->last_update_ns;
  region.totals = reading.region->totals;
  region.live_bytes = reading.live_bytes;
  region.ghost_bytes = reading.ghost_bytes;
  region.unknown_bytes = reading.unknown_bytes;
  for (const DeviceUser& user : reading.users) {
    region.users.push_back(
        {user.slot.pid, std::string(user.slot.name), user.state, user.slot.memory.dram_bytes});
  }
  return region;
}

std::string bytes_or_unknown(Nullable bytes) { return bytes.has_value() ? format_bytes(bytes.value()) : "?"; }

std::string users_in_words(const std::vector<User>& users) {
  std::vector<std::string> words;
  for (const User& user : users) {
    const std::string state = user.state == DeviceUserState::live ? "" : std::string(", ") + word(user.state);
    words.push_back(fmt::format("{} ({}{})", user.pid, user.name, state));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string table_of(const std::vector<Region>& regions) {
  TextTable table({{"REGION"},
                   {"VERSION", Align::right},
                   {"DEVICE", Align::right},
                   {"DRAM", Align::right},
                   {"LIVE", Align::right},
                   {"GHOST", Align::right},
                   {"UNKNOWN", Align::right},
                   {"L1", Align::right},
                   {"LAST UPDATE (UTC)"},
                   {"USERS", Align::left, 24}});
  for (const Region& region : regions) {
    if (!region.is_readable) {
      table.add_row({region.name, "?", "?", "?", "?", "?", "?", "?", "?", "unreadable: " + region.reason});
      continue;
    }
    std::string users = users_in_words(region.users);
    if (!region.reason.empty()) users += (users.empty() ? "" : "; ") + region.reason;
    table.add_row({region.name, std::to_string(region.version),
                   region.device_id.has_value() ? std::to_string(region.device_id.value()) : "?",
                   bytes_or_unknown(region.totals.dram_bytes), bytes_or_unknown(region.live_bytes),
                   bytes_or_unknown(region.ghost_bytes), bytes_or_unknown(region.unknown_bytes),
                   bytes_or_unknown(region.totals.l1_bytes),
                   region.last_update_ns.has_value() ? format_utc(region.last_update_ns.value()) : "?",
                   users});
  }
  return table.render(stdout_columns());
}

bool is_stale(const Region& region) { return region.ghost_bytes.value_or(0) > 0; }

bool has_user(const Region& region) {
  for (const User& user : region.users) {
    if (user.state != DeviceUserState::dead) return true;
  }
  return false;
}

std::string path_of(const DevicesOptions& options, const Region& region) {
  return options.device_dir + "/" + region.name;
}

// What can be done about what is stale: the command, after the user has made sure.
std::string advice(const DevicesOptions& options, const std::vector<Region>& regions) {
  std::vector<std::string> paths;
  int64_t ghost_bytes = 0;
  size_t used_count = 0;
  for (const Region& region : regions) {
    if (!is_stale(region)) continue;
    ghost_bytes += region.ghost_bytes.value();
    if (has_user(region)) {
      ++used_count;
    } else {
      paths.push_back(quoted_for_shell(path_of(options, region)));
    }
  }
  std::string text;
  if (!paths.empty()) {
    text += fmt::format(
        "\nStale regions hold bytes of processes that are dead. When you have made sure that nobody uses "
        "these devices:\n"
        "  rm {}\n",
        fmt::join(paths, " "));
  }
  if (used_count > 0) {
    text += fmt::format("\n{} stale region{} still in use: end the workload first.\n", used_count,
                        used_count == 1 ? " is" : "s are");
  }
  if (ghost_bytes > 0)
    text += fmt::format("Ghosts in all: {}. memlog never counts them as used and never removes a region.\n",
                        format_bytes(ghost_bytes));
  return text;
}

nlohmann::json json_number(Nullable value) {
  return value.has_value() ? nlohmann::json(value.value()) : nlohmann::json(nullptr);
}

nlohmann::json json_of(const DevicesOptions& options, const Region& region) {
  nlohmann::json json = {
      {"region", region.name},
      {"path", path_of(options, region)},
      {"readable", region.is_readable},
      {"unreadable_reason", region.reason.empty() ? nlohmann::json(nullptr) : nlohmann::json(region.reason)}};
  if (!region.is_readable) return json;
  json["layout_version"] = region.version;
  json["device_id"] = json_number(region.device_id);
  json["last_update_ns"] = json_number(region.last_update_ns);
  json["dram_bytes"] = json_number(region.totals.dram_bytes);
  json["l1_bytes"] = json_number(region.totals.l1_bytes);
  json["l1_small_bytes"] = json_number(region.totals.l1_small_bytes);
  json["trace_bytes"] = json_number(region.totals.trace_bytes);
  json["cb_bytes"] = json_number(region.totals.cb_bytes);
  json["live_bytes"] = json_number(region.live_bytes);
  json["ghost_bytes"] = json_number(region.ghost_bytes);
  json["unknown_bytes"] = json_number(region.unknown_bytes);
  json["users"] = nlohmann::json::array();
  for (const User& user : region.users) {
    json["users"].push_back({{"pid", user.pid},
                             {"name", user.name},
                             {"state", word(user.state)},
                             {"dram_bytes", json_number(user.dram_bytes)}});
  }
  return json;
}

// The cards of the driver, where there is one; else empty.
std::vector<std::string> cards_in_words() {
  std::vector<std::string> lines;
  for (const int number : list_driver_devices("/proc")) {
    if (lines.size() == kMostDriverDevices) break;
    const std::optional<CardIdentity> card = read_card_identity("/sys", number);
    const Result<std::vector<pid_t>> users = read_device_users("/proc", number);
    std::string line = fmt::format("/dev/tenstorrent/{}", number);
    if (card && card->card_type) line += " " + printable(*card->card_type);
    if (card && card->serial) line += ", serial " + printable(*card->serial);
    if (users) line += users->empty() ? ", not open" : fmt::format(", open in {}", fmt::join(*users, ", "));
    lines.push_back(line);
  }
  return lines;
}

std::string report(const DevicesOptions& options, const std::vector<Region>& regions) {
  if (options.json) {
    nlohmann::json json = {{"directory", options.device_dir}, {"regions", nlohmann::json::array()}};
    for (const Region& region : regions) json["regions"].push_back(json_of(options, region));
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::string text = regions.empty() ? "" : table_of(regions) + advice(options, regions);
  for (const std::string& line : cards_in_words()) text += line + "\n";
  return text;
}

}  // namespace

int run_devices(const DevicesOptions& options) {
  DeviceSampler::Options sampling;
  sampling.directory = options.device_dir;
  sampling.users.sees_every_process = reader_sees_every_process();
  DeviceSampler sampler(std::move(sampling));
  std::vector<Region> regions;
  bool is_settling = false;
  const auto look = [&] {
    const ClockPair clocks = read_clock_pair();
    regions.clear();
    is_settling = false;
    return sampler.sample(clocks.boot_ns, clocks.wall_ns - clocks.boot_ns, [&](const DeviceReading& reading) {
      if (!reading.is_gone) regions.push_back(region_from(reading));
      is_settling = is_settling || reading.is_settling;
    });
  };
  Status listed = look();
  if (listed && is_settling) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    listed = look();
  }
  if (!listed) throw FatalError(listed.error());
  if (regions.empty()) {
    say(
        fmt::format("no device memory regions in {}: no tt-metal workload has made any, or it runs with "
                    "TT_METAL_SHM_TRACKING_DISABLED",
                    printable(options.device_dir)));
  }
  if (sampler.left_out_count() > 0)
    warn(fmt::format("{} more regions are left out", sampler.left_out_count()));
  Output output;
  output.put(report(options, regions));
  output.flush();
  return 0;
}

}  // namespace memlog
