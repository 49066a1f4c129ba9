// SPDX-License-Identifier: Apache-2.0
#include "collect/device_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/clock.h"

namespace memlog {
namespace {

struct Layout {
  uint32_t version;
  size_t size;
  size_t first_chip;
  size_t chip_stride;
  size_t first_user;
  size_t user_stride;
  size_t user_update_at;  // in a user slot; its name follows
};

constexpr size_t kVersionAt = 0;
constexpr size_t kProcessCountAt = 4;
constexpr size_t kLastUpdateAt = 8;
constexpr size_t kBoardSerialAt = 24;
constexpr size_t kAsicIdAt = 32;
constexpr size_t kDeviceIdAt = 40;
constexpr size_t kTotalsAt = 48;
constexpr size_t kChipRemoteAt = 4;
constexpr size_t kSlotMemoryAt = 8;  // in chip and user slots
constexpr size_t kNameBytes = 64;
constexpr size_t kInitStateAt = 8536;  // version 4
constexpr uint32_t kInitReady = 0x52454459;
constexpr uint32_t kNoChip = 0xFFFFFFFF;
constexpr uint64_t kYear2100Ns = uint64_t{4'102'444'800} * 1'000'000'000;

constexpr std::array<Layout, 5> kLayouts = {{
    {1, 9280, 96, 56, 992, 128, 56},  // with kernel bytes in the totals and in each slot
    {1, 8640, 88, 48, 856, 120, 48},
    {2, 8576, 88, 48, 856, 120, 48},
    {3, 8576, 88, 48, 856, 120, 48},
    {4, 8576, 88, 48, 856, 120, 48},
}};
constexpr uint32_t kNewestVersion = 4;

constexpr bool fits(const Layout& layout) {
  return layout.size <= kMostRegionBytes &&
         layout.first_chip + kRegionChipSlots * layout.chip_stride <= layout.first_user &&
         layout.first_user + kRegionUserSlots * layout.user_stride <= layout.size &&
         layout.user_update_at + 8 + kNameBytes <= layout.user_stride;
}
static_assert(std::all_of(kLayouts.begin(), kLayouts.end(), fits));

template <typename Word>
Word word_at(std::span<const char> bytes, size_t at) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "regions are little-endian");
  Word word{};
  std::memcpy(&word, bytes.subspan(at, sizeof word).data(), sizeof word);
  return word;
}

Nullable byte_count(uint64_t raw) {
  return raw > static_cast<uint64_t>(kMostDeviceBytes) ? Nullable() : Nullable(static_cast<int64_t>(raw));
}

Nullable wall_time(uint64_t raw) {
  return raw == 0 || raw > kYear2100Ns ? Nullable() : Nullable(static_cast<int64_t>(raw));
}

Nullable identity(uint64_t raw) {
  return raw > static_cast<uint64_t>(INT64_MAX) ? Nullable() : Nullable(static_cast<int64_t>(raw));
}

DeviceMemory memory_at(std::span<const char> bytes, size_t at) {
  const auto count = [&](size_t i) { return byte_count(word_at<uint64_t>(bytes, at + 8 * i)); };
  return {count(0), count(1), count(2), count(3), count(4)};
}

bool holds_bytes(std::span<const char> bytes, size_t at) {
  for (size_t i = 0; i < 5; ++i) {
    if (word_at<uint64_t>(bytes, at + 8 * i) != 0) return true;
  }
  return false;
}

std::string doubt_of_totals(std::span<const char> bytes) {
  constexpr std::array<const char*, 5> names = {"DRAM", "L1", "L1_SMALL", "trace", "CB"};
  std::string doubt;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto raw = word_at<uint64_t>(bytes, kTotalsAt + 8 * i);
    if (byte_count(raw).has_value()) continue;
    doubt += fmt::format("{}the {} total has wrapped ({})", doubt.empty() ? "" : ", ", names[i], raw);
  }
  return doubt;
}

// Which chip slots are empty changed over time: id 0 in version 1, later 0xFFFFFFFF; version 2 was written
// both ways.
bool is_chip(const Layout& layout, size_t slot, uint32_t chip_id, bool has_bytes) {
  if (chip_id == kNoChip) return false;
  if (chip_id != 0 || has_bytes || layout.version >= 3) return true;
  return layout.version == 2 && slot == 0;
}

void read_chips(const Layout& layout, std::span<const char> bytes, DeviceRegion& region) {
  for (size_t slot = 0; slot < kRegionChipSlots; ++slot) {
    const size_t at = layout.first_chip + slot * layout.chip_stride;
    const auto chip_id = word_at<uint32_t>(bytes, at);
    if (!is_chip(layout, slot, chip_id, holds_bytes(bytes, at + kSlotMemoryAt))) continue;
    region.chip_slots[region.chip_count++] = {chip_id, word_at<uint32_t>(bytes, at + kChipRemoteAt) != 0,
                                              memory_at(bytes, at + kSlotMemoryAt)};
  }
}

void read_users(const Layout& layout, std::span<const char> bytes, DeviceRegion& region) {
  size_t taken = 0;
  for (size_t slot = 0; slot < kRegionUserSlots; ++slot) {
    const size_t at = layout.first_user + slot * layout.user_stride;
    const auto pid = word_at<int32_t>(bytes, at);
    if (pid != 0) ++taken;
    if (pid <= 0) continue;
    const char* name = bytes.subspan(at + layout.user_update_at + 8, kNameBytes).data();
    region.user_slots[region.user_count++] = {pid, memory_at(bytes, at + kSlotMemoryAt),
                                              wall_time(word_at<uint64_t>(bytes, at + layout.user_update_at)),
                                              std::string_view(name, strnlen(name, kNameBytes))};
  }
  region.is_full = taken == kRegionUserSlots;
}

// The layout of these bytes, or why there is none.
Result<const Layout*> layout_of(std::span<const char> bytes) {
  const std::string doing = "reading a device memory region";
  if (bytes.empty()) return Error{doing, "it is empty: being made", "", kRegionNotReady};
  if (bytes.size() < sizeof(uint32_t)) return Error{doing, "it is cut short", "", kRegionNotReady};
  const auto version = word_at<uint32_t>(bytes, kVersionAt);
  if (version == 0 && std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; })) {
    return Error{doing, "it is all zero: being made", "", kRegionNotReady};
  }
  if (version == 0 || version > kNewestVersion) {
    return Error{doing, fmt::format("layout version {} is unknown to this memlog", version), "",
                 kRegionUnknown};
  }
  size_t largest = 0;
  for (const Layout& layout : kLayouts) {
    if (layout.version != version) continue;
    if (layout.size == bytes.size()) return &layout;
    largest = std::max(largest, layout.size);
  }
  if (bytes.size() < largest) {
    return Error{doing,
                 fmt::format("it has {} bytes where layout version {} has {}: cut short", bytes.size(),
                             version, largest),
                 "", kRegionNotReady};
  }
  return Error{
      doing,
      fmt::format("layout version {} of more than {} bytes is unknown to this memlog", version, largest), "",
      kRegionUnknown};
}

}  // namespace

Result<DeviceRegion> parse_device_region(std::span<const char> bytes) {
  const Result<const Layout*> found = layout_of(bytes);
  if (!found) return found.error();
  const Layout& layout = **found;
  if (layout.version == 4 && word_at<uint32_t>(bytes, kInitStateAt) != kInitReady) {
    return Error{"reading a device memory region", "its writer has not finished making it", "",
                 kRegionNotReady};
  }
  DeviceRegion region;
  region.version = layout.version;
  region.last_update_ns = wall_time(word_at<uint64_t>(bytes, kLastUpdateAt));
  region.process_count = word_at<uint32_t>(bytes, kProcessCountAt);
  region.board_serial = identity(word_at<uint64_t>(bytes, kBoardSerialAt));
  if (region.board_serial == Nullable(0)) region.board_serial = {};
  region.asic_id = identity(word_at<uint64_t>(bytes, kAsicIdAt));
  const auto device_id = word_at<int32_t>(bytes, kDeviceIdAt);
  if (device_id >= 0) region.device_id = device_id;
  region.totals = memory_at(bytes, kTotalsAt);
  region.doubt = doubt_of_totals(bytes);
  read_chips(layout, bytes, region);
  read_users(layout, bytes, region);
  return region;
}

std::optional<uint64_t> parse_region_name(std::string_view name) {
  constexpr std::string_view prefix = "tt_device_";
  constexpr std::string_view suffix = "_memory";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;  // no writer pads it
  return number;
}

}  // namespace memlog
