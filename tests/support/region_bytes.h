// SPDX-License-Identifier: Apache-2.0
// A device memory region written as literals, for every layout.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace memlog::test {

struct RegionLayout {
  const char* name;
  uint32_t version;
  size_t size;
  size_t first_chip;
  size_t chip_stride;
  size_t first_user;
  size_t user_stride;
  size_t user_update;
};
inline constexpr RegionLayout kV1WithKernel{"v1 with kernel", 1, 9280, 96, 56, 992, 128, 56};
inline constexpr RegionLayout kV1{"v1", 1, 8640, 88, 48, 856, 120, 48};
inline constexpr RegionLayout kV2{"v2", 2, 8576, 88, 48, 856, 120, 48};
inline constexpr RegionLayout kV3{"v3", 3, 8576, 88, 48, 856, 120, 48};
inline constexpr RegionLayout kV4{"v4", 4, 8576, 88, 48, 856, 120, 48};
inline const std::vector<RegionLayout> kEveryLayout = {kV1WithKernel, kV1, kV2, kV3, kV4};

class RegionBytes {
 public:
  // As a writer leaves it when it has made it: device 0, asic 77, one local chip 0, nobody inside.
  explicit RegionBytes(const RegionLayout& layout) : layout_(layout), bytes_(layout.size, '\0') {
    u32(0, layout.version);
    u64(8, kMade);
    u64(32, 77);
    if (layout.version >= 3) {
      for (size_t slot = 0; slot < 16; ++slot)
        u32(layout_.first_chip + slot * layout_.chip_stride, 0xFFFFFFFF);
      chip(0, 0, false, 0);
    }
    if (layout.version == 4) u32(8536, 0x52454459);
  }
  static constexpr uint64_t kMade = 1'780'662'896'000'000'000;

  RegionBytes& u32(size_t at, uint32_t value) { return put(at, value); }
  RegionBytes& u64(size_t at, uint64_t value) { return put(at, value); }
  RegionBytes& last_update(uint64_t wall_ns) { return u64(8, wall_ns); }
  RegionBytes& device_id(uint32_t id) { return u32(40, id); }
  RegionBytes& totals(uint64_t dram, uint64_t l1 = 0, uint64_t l1_small = 0, uint64_t trace = 0,
                      uint64_t cb = 0) {
    return u64(48, dram).u64(56, l1).u64(64, l1_small).u64(72, trace).u64(80, cb);
  }
  RegionBytes& chip(size_t slot, uint32_t id, bool is_remote, uint64_t dram) {
    const size_t at = layout_.first_chip + slot * layout_.chip_stride;
    return u32(at, id).u32(at + 4, is_remote ? 1 : 0).u64(at + 8, dram);
  }
  RegionBytes& user(size_t slot, int32_t pid, uint64_t dram, std::string_view name = "worker",
                    uint64_t update = kMade) {
    const size_t at = layout_.first_user + slot * layout_.user_stride;
    u32(at, static_cast<uint32_t>(pid)).u64(at + 8, dram).u64(at + layout_.user_update, update);
    std::memcpy(bytes_.data() + at + layout_.user_update + 8, name.data(), name.size());
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  operator std::string_view() const { return bytes_; }  // NOLINT(google-explicit-constructor)

 private:
  template <typename Word>
  RegionBytes& put(size_t at, Word value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }

  RegionLayout layout_;
  std::string bytes_;
};

}  // namespace memlog::test
