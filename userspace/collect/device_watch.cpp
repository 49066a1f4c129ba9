// SPDX-License-Identifier: Apache-2.0
#include "collect/device_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr int64_t kNotReadyPatienceNs = 3 * kNsPerSecond;
constexpr size_t kSpreadTicks = 10;      // before chips that differ are told
constexpr int64_t kSpreadDivisor = 256;  // smaller differences are allocations under way

DeviceChipSample chip_sample(DeviceKey key, const DeviceChip& chip, int64_t time_ns) {
  return {key,
          chip.chip_id,
          time_ns,
          chip.is_remote ? 1 : 0,
          chip.memory.dram_bytes,
          chip.memory.l1_bytes,
          chip.memory.l1_small_bytes,
          chip.memory.trace_bytes,
          chip.memory.cb_bytes};
}

bool says_the_same(const DeviceChipSample& a, const DeviceChipSample& b) {
  return a.is_remote == b.is_remote && a.dram_bytes == b.dram_bytes && a.l1_bytes == b.l1_bytes &&
         a.l1_small_bytes == b.l1_small_bytes && a.trace_bytes == b.trace_bytes && a.cb_bytes == b.cb_bytes;
}

bool is_same_memory(const DeviceMemory& a, const DeviceMemory& b) {
  return a.dram_bytes == b.dram_bytes && a.l1_bytes == b.l1_bytes && a.l1_small_bytes == b.l1_small_bytes &&
         a.trace_bytes == b.trace_bytes && a.cb_bytes == b.cb_bytes;
}

// The flag of the chip that the region is about: its own device, or its only chip.
Nullable remote_flag(const DeviceRegion& region) {
  for (const DeviceChip& chip : region.chips()) {
    if (region.device_id == Nullable(chip.chip_id)) return chip.is_remote ? 1 : 0;
  }
  if (region.chip_count == 1) return region.chips()[0].is_remote ? 1 : 0;
  return {};
}

std::string in_words(const std::vector<std::string>& regions) {
  if (regions.size() == 1) return regions[0];
  return fmt::format("{} and {} more", regions[0], regions.size() - 1);
}

// "a dead process 4711 (worker)", "dead processes 4711 (worker), 4712 (worker)".
std::string dead_in_words(const std::vector<DeviceUser>& users) {
  std::vector<std::string> dead;
  for (const DeviceUser& user : users) {
    if (user.state == DeviceUserState::dead)
      dead.push_back(fmt::format("{} ({})", user.slot.pid, printable(user.slot.name)));
  }
  if (dead.empty()) return "processes that are gone";
  const size_t count = dead.size();
  if (count > 4) dead.resize(4);
  return fmt::format("{} {}{}", count == 1 ? "a dead process" : "dead processes", fmt::join(dead, ", "),
                     count > 4 ? fmt::format(" and {} more", count - 4) : "");
}

}  // namespace

DeviceWatch::DeviceWatch(Options options)
    : options_(std::move(options)),
      sampler_({options_.directory,
                options_.kept_file_limit,
                256,
                {options_.proc, reader_sees_every_process(options_.proc), options_.kept_pidfd_limit}}) {}

void DeviceWatch::sample(int64_t boot_ns, const Sink& sink) {
  ++tick_;
  Tick tick;
  tick.boot_ns = boot_ns;
  tick.time_ns = options_.clock.time_ns(boot_ns);
  tick.sink = &sink;
  const ClockPair clocks = read_clock_pair();
  const Status listed = sampler_.sample(boot_ns, clocks.wall_ns - clocks.boot_ns,
                                        [&](const DeviceReading& reading) { take(reading, tick); });
  if (!listed && !has_told_listing_)
    tell(tick, fmt::format("no device memory: {}: {}", listed.error().doing, listed.error().reason));
  has_told_listing_ = !listed.ok();
  if (listed) end_tick(tick);
}

void DeviceWatch::take(const DeviceReading& reading, Tick& tick) {
  const auto [found, is_new] = devices_.try_emplace(reading.number);
  Device& device = found->second;
  if (is_new) {
    if (reading.is_gone) return void(devices_.erase(found));
    device.facts.key = ++last_key_;
    device.facts.directory = options_.directory;
    device.facts.region = reading.name;
    device.facts.first_seen_ns = tick.time_ns;
  }
  take_facts(device, reading, is_new, tick);
  DeviceSample sample;
  sample.key = device.facts.key;
  sample.time_ns = tick.time_ns;
  if (reading.region != nullptr) {
    const DeviceRegion& region = *reading.region;
    const DeviceMemory& totals = region.totals;
    sample.dram_bytes = totals.dram_bytes;
    sample.l1_bytes = totals.l1_bytes;
    sample.l1_small_bytes = totals.l1_small_bytes;
    sample.trace_bytes = totals.trace_bytes;
    sample.cb_bytes = totals.cb_bytes;
    sample.live_bytes = reading.live_bytes;
    sample.ghost_bytes = reading.ghost_bytes;
    sample.unknown_bytes = reading.unknown_bytes;
    sample.user_count = static_cast<int64_t>(region.user_count);
    sample.last_update_ns = region.last_update_ns;
  }
  if (!reading.reason.empty()) sample.unreadable_reason = reading.reason;
  tick.sink->record(std::move(sample));
  if (!reading.is_gone) ++tick.region_count;
  take_region(device, reading, tick);
}

void DeviceWatch::take_region(Device& device, const DeviceReading& reading, Tick& tick) {
  if (reading.region != nullptr) {
    take_chips(device, *reading.region, tick);
    take_users(device, reading, tick);
    add_to_total(reading, tick);
    note_ghost(device, reading, tick);
    note_lockstep(reading, tick);
  } else if (reading.is_gone) {
    take_users(device, reading, tick);
    device.chips.clear();
    device.has_told_ghost = false;
  }
  note_problem(device, reading, tick);
}

void DeviceWatch::take_facts(Device& device, const DeviceReading& reading, bool is_new, const Tick& tick) {
  DeviceStart facts = device.facts;
  if (reading.region != nullptr) {
    const DeviceRegion& region = *reading.region;
    facts.layout_version = region.version;
    facts.board_serial = region.board_serial;
    facts.asic_id = region.asic_id;
    facts.device_id = region.device_id;
    facts.is_remote = remote_flag(region);
  }
  const bool has_changed =
      facts.layout_version != device.facts.layout_version || facts.asic_id != device.facts.asic_id ||
      facts.board_serial != device.facts.board_serial || facts.device_id != device.facts.device_id ||
      facts.is_remote != device.facts.is_remote;
  device.facts = facts;
  if (is_new || has_changed) tick.sink->record(device.facts);
}

void DeviceWatch::take_chips(Device& device, const DeviceRegion& region, const Tick& tick) {
  // The usual region has one chip, and its statistics are the totals again.
  if (region.chip_count == 1 && is_same_memory(region.chips()[0].memory, region.totals)) return;
  for (const DeviceChip& chip : region.chips()) {
    const DeviceChipSample sample = chip_sample(device.facts.key, chip, tick.time_ns);
    const auto [last, is_new] = device.chips.try_emplace(chip.chip_id, sample);
    if (!is_new && says_the_same(last->second, sample)) continue;
    last->second = sample;
    tick.sink->record(sample);
  }
}

void DeviceWatch::take_users(Device& device, const DeviceReading& reading, const Tick& tick) {
  for (const DeviceUser& user : reading.users) {
    const auto [known, is_new] = device.users.try_emplace(user.slot.pid);
    const bool has_changed = is_new || known->second.state != user.state || known->second.pid != user.pid;
    if (has_changed) known->second = {std::string(user.slot.name), user.state, user.pid, tick_};
    known->second.seen_tick = tick_;
    if (has_changed) {
      tick.sink->record(DeviceUserChange{device.facts.key, tick.time_ns, user.slot.pid, known->second.name,
                                         user.state, user.slot.memory.dram_bytes});
    }
    if (user.state != DeviceUserState::live || user.pid == 0) continue;
    const ProcessKey process = options_.key_of(user.pid);
    if (process == 0) continue;
    const DeviceMemory& memory = user.slot.memory;
    tick.sink->record(DeviceProcessSample{device.facts.key, process, tick.time_ns, memory.dram_bytes,
                                          memory.l1_bytes, memory.l1_small_bytes, memory.trace_bytes,
                                          memory.cb_bytes});
  }
  for (auto user = device.users.begin(); user != device.users.end();) {
    if (user->second.seen_tick == tick_) {
      ++user;
      continue;
    }
    tick.sink->record(DeviceUserChange{
        device.facts.key, tick.time_ns, user->first, user->second.name, DeviceUserState::left, {}});
    user = device.users.erase(user);
  }
}

void DeviceWatch::add_to_total(const DeviceReading& reading, Tick& tick) const {
  const Nullable dram = reading.region->totals.dram_bytes;
  if (!dram.has_value()) return;
  DeviceTotal& total = tick.total;
  if (!total.device_count.has_value()) {
    total = {tick.time_ns, 1, dram, dram, dram, reading.live_bytes, reading.ghost_bytes};
    return;
  }
  total.device_count = total.device_count + 1;
  total.dram_bytes = total.dram_bytes + dram;
  total.dram_min_bytes = std::min(total.dram_min_bytes.value(), dram.value());
  total.dram_max_bytes = std::max(total.dram_max_bytes.value(), dram.value());
  total.live_bytes = total.live_bytes + reading.live_bytes;
  total.ghost_bytes = total.ghost_bytes + reading.ghost_bytes;
}

void DeviceWatch::note_problem(Device& device, const DeviceReading& reading, Tick& tick) {
  const bool is_not_ready = reading.error_code == kRegionNotReady;
  if (!is_not_ready) device.not_ready_since_ns = 0;
  if (is_not_ready && device.not_ready_since_ns == 0) device.not_ready_since_ns = tick.boot_ns;
  if (!reading.reason.empty() && reading.region != nullptr && !device.has_told_doubt) {
    device.has_told_doubt = true;
    tick.unreadable[reading.reason + ", a defect of the workload's bookkeeping"].regions.emplace_back(
        reading.name);
  }
  if (reading.error_code == 0) device.told_code = 0;
  if (reading.error_code == 0 || reading.is_gone || reading.error_code == device.told_code) return;
  if (is_not_ready && tick.boot_ns - device.not_ready_since_ns < kNotReadyPatienceNs) return;
  device.told_code = reading.error_code;
  tick.unreadable[reading.reason].regions.emplace_back(reading.name);
}

void DeviceWatch::note_ghost(Device& device, const DeviceReading& reading, Tick& tick) {
  if (reading.ghost_bytes.value_or(0) == 0) {
    device.has_told_ghost = false;
    return;
  }
  const bool has_other = std::any_of(reading.users.begin(), reading.users.end(), [](const DeviceUser& user) {
    return user.state != DeviceUserState::dead;
  });
  if (device.has_told_ghost) return;
  device.has_told_ghost = true;
  Finding& finding = tick.ghosts[dead_in_words(reading.users)];
  finding.regions.emplace_back(reading.name);
  finding.bytes += reading.ghost_bytes.value();
  finding.is_in_use = finding.is_in_use || has_other;
}

// Devices that the same processes drive, or that only recorded processes drive, are taken for one workload's.
void DeviceWatch::note_lockstep(const DeviceReading& reading, Tick& tick) {
  std::vector<int64_t> pids;
  for (const DeviceUser& user : reading.users) {
    if (user.state != DeviceUserState::live) continue;
    pids.push_back(user.pid);
    if (options_.key_of(user.pid) == 0) tick.is_all_recorded = false;
  }
  const Nullable dram = reading.region->totals.dram_bytes;
  if (pids.empty() || !dram.has_value()) return;
  std::sort(pids.begin(), pids.end());
  if (tick.busy_count > 0 && pids != tick.busy_pids) tick.is_one_workload = false;
  tick.busy_pids = std::move(pids);
  if (tick.busy_count == 0 || dram.value() < tick.least_bytes) {
    tick.least_bytes = dram.value();
    tick.least_region = reading.name;
  }
  if (tick.busy_count == 0 || dram.value() > tick.most_bytes) {
    tick.most_bytes = dram.value();
    tick.most_region = reading.name;
  }
  ++tick.busy_count;
}

void DeviceWatch::end_tick(Tick& tick) {
  if (tick.region_count > 0) {
    tick.total.time_ns = tick.time_ns;
    tick.sink->record(tick.total);
  }
  if (tick.region_count == 0 && tick_ == 1 && !has_told_none_) {
    has_told_none_ = true;
    tell(tick,
         fmt::format("no device memory regions in {} yet: no tt-metal workload has made any, or it runs with "
                     "TT_METAL_SHM_TRACKING_DISABLED; they are recorded when they appear",
                     printable(options_.directory)));
  }
  tell_ghosts(tick);
  for (const auto& [reason, finding] : tick.unreadable) {
    tell(tick, fmt::format("device memory of {} stays unknown: {}", in_words(finding.regions), reason));
  }
  if (sampler_.left_out_count() > 0 && !has_told_left_out_) {
    has_told_left_out_ = true;
    tell(tick, fmt::format("{} device memory regions are too many and left out", sampler_.left_out_count()));
  }
  tell_spread(tick);
}

void DeviceWatch::tell_ghosts(const Tick& tick) {
  for (const auto& [whose, finding] : tick.ghosts) {
    std::string what_to_do = "; end the workload that still uses it before you clear it";
    if (!finding.is_in_use) {
      what_to_do = ". When you have made sure that nobody uses the device, this clears it: rm";
      for (const std::string& region : finding.regions)
        what_to_do += " " + quoted_for_shell(options_.directory + "/" + region);
    }
    tell(tick,
         fmt::format("ghost {} of {} in {}: not counted as used{}", format_bytes(finding.bytes), whose,
                     in_words(finding.regions), what_to_do),
         {{"about", "ghost"}});
  }
}

void DeviceWatch::tell_spread(const Tick& tick) {
  const bool is_comparable = tick.busy_count >= 2 && (tick.is_one_workload || tick.is_all_recorded);
  const bool is_spread =
      is_comparable && tick.most_bytes - tick.least_bytes > tick.most_bytes / kSpreadDivisor;
  spread_ticks_ = is_spread ? spread_ticks_ + 1 : 0;
  if (spread_ticks_ < kSpreadTicks || has_told_spread_) return;
  has_told_spread_ = true;
  tell(tick,
       fmt::format("the {} devices of this workload do not move in lockstep: from {} in {} to {} in {} "
                   "for {} samples; "
                   "average and minimum may rest on a stale or idle device",
                   tick.busy_count, format_bytes(tick.least_bytes), tick.least_region,
                   format_bytes(tick.most_bytes), tick.most_region, spread_ticks_),
       {{"about", "spread"},
        {"device_count", tick.busy_count},
        {"least_region", tick.least_region},
        {"least_bytes", tick.least_bytes},
        {"most_region", tick.most_region},
        {"most_bytes", tick.most_bytes}});
}

void DeviceWatch::tell(const Tick& tick, const std::string& text) {
  tell(tick, text, nlohmann::json::object());
}

void DeviceWatch::tell(const Tick& tick, const std::string& text, nlohmann::json detail) {
  detail["topic"] = "device";
  detail["text"] = text;
  tick.sink->record(Event{tick.time_ns, EventKind::note, 0,
                          detail.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  tick.sink->say(text);
}

}  // namespace memlog
