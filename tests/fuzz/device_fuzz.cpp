// SPDX-License-Identifier: Apache-2.0
// The parser of device memory regions on any bytes: as they come, and laid into a region of each layout.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "collect/device_region.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const memlog::DeviceMemory& memory) {
  for (const memlog::Nullable bytes :
       {memory.dram_bytes, memory.l1_bytes, memory.l1_small_bytes, memory.trace_bytes, memory.cb_bytes}) {
    require(!bytes.has_value() || (bytes.value() >= 0 && bytes.value() <= memlog::kMostDeviceBytes));
  }
}

void parse(std::span<const char> bytes) {
  const memlog::Result<memlog::DeviceRegion> region = memlog::parse_device_region(bytes);
  if (!region) {
    require(!region.error().reason.empty() && region.error().code < 0);
    return;
  }
  check(region->totals);
  for (const memlog::DeviceChip& chip : region->chips()) check(chip.memory);
  for (const memlog::DeviceSlot& slot : region->users()) {
    check(slot.memory);
    require(slot.pid > 0);
    require(slot.name.empty() || (slot.name.data() >= bytes.data() &&
                                  slot.name.data() + slot.name.size() <= bytes.data() + bytes.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const char*>(data);
  parse({begin, size});
  (void)memlog::parse_region_name({begin, size});
  for (const auto& [version, length] :
       {std::pair<uint32_t, size_t>{1, 9280}, {1, 8640}, {2, 8576}, {3, 8576}, {4, 8576}}) {
    std::vector<char> bytes(length);
    std::memcpy(bytes.data(), &version, sizeof version);
    if (size > 0) std::memcpy(bytes.data() + sizeof version, data, std::min(size, length - sizeof version));
    parse(bytes);
  }
  return 0;
}
