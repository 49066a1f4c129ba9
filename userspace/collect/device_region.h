// SPDX-License-Identifier: Apache-2.0
// What one device memory region says: the file /dev/shm/tt_device_<number>_memory that a tt-metal workload
// keeps for each chip, from its bytes.
//
// A region has no magic number: the first word is the layout's version, and the two layouts of version 1
// differ by size only. Numbers are little-endian. Any bytes may be met (a region being made, cut short, or
// made by something else), so every offset is checked against the layout's size and no value is believed that
// could not be true: byte counts beyond 2^48 (a counter that was subtracted from below 0 wraps near 2^64) are
// NULL.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/nullable.h"

namespace memlog {

inline constexpr size_t kMostRegionBytes = 9280;  // of the largest layout
inline constexpr size_t kRegionChipSlots = 16;
inline constexpr size_t kRegionUserSlots = 64;
inline constexpr int64_t kMostDeviceBytes = int64_t{1} << 48;

struct DeviceMemory {
  Nullable dram_bytes;
  Nullable l1_bytes;
  Nullable l1_small_bytes;
  Nullable trace_bytes;
  Nullable cb_bytes;  // the last storing process's own value: not a sum over processes
};

struct DeviceChip {
  int64_t chip_id = 0;
  bool is_remote = false;
  DeviceMemory memory;
};

// A process that has claimed a slot of the region. `pid` is as that process knows itself: in its own pid
// namespace.
struct DeviceSlot {
  int32_t pid = 0;
  DeviceMemory memory;
  Nullable last_update_ns;  // wall clock
  std::string_view name;    // its comm when it claimed the slot; a view of the parsed bytes
};

struct DeviceRegion {
  int64_t version = 0;
  Nullable last_update_ns;    // wall clock; NULL: never, or absurd
  int64_t process_count = 0;  // as counted by the writers; kills leave it too high
  Nullable board_serial;      // NULL where the layout leaves it 0
  Nullable asic_id;
  Nullable device_id;
  DeviceMemory totals;
  std::string
      doubt;  // why a total is NULL: "the DRAM total has wrapped (18446744073709547520)"; empty: none is
  std::array<DeviceChip, kRegionChipSlots> chip_slots;
  std::array<DeviceSlot, kRegionUserSlots> user_slots;
  size_t chip_count = 0;
  size_t user_count = 0;
  bool is_full = false;  // every user slot is taken: further processes add to the totals only

  std::span<const DeviceChip> chips() const { return std::span(chip_slots).first(chip_count); }
  std::span<const DeviceSlot> users() const { return std::span(user_slots).first(user_count); }
};

// The codes of parse_device_region()'s errors: no errno is negative.
inline constexpr int kRegionNotReady = -1;  // being made; may be readable in a moment
inline constexpr int kRegionUnknown = -2;   // a layout that this memlog does not know; the reason names it

// Slots of processes that are letting go (pid -1) and empty ones are left out. `bytes` is the whole file; of
// a file that is longer than kMostRegionBytes, one byte more than that is enough.
Result<DeviceRegion> parse_device_region(std::span<const char> bytes);

// The number in "tt_device_<number>_memory"; nullopt for any other name.
std::optional<uint64_t> parse_region_name(std::string_view name);

}  // namespace memlog
