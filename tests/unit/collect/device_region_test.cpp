// SPDX-License-Identifier: Apache-2.0
#include "collect/device_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/region_bytes.h"

namespace memlog {
namespace {

using test::kEveryLayout;
using test::kV1;
using test::kV1WithKernel;
using test::kV2;
using test::kV3;
using test::kV4;
using test::RegionBytes;
using test::RegionLayout;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30U;

// Never a bit pattern that a quantity could not have.
void expect_sane(const DeviceRegion& region) {
  const auto expect_bytes = [](const DeviceMemory& memory) {
    for (const Nullable bytes :
         {memory.dram_bytes, memory.l1_bytes, memory.l1_small_bytes, memory.trace_bytes, memory.cb_bytes}) {
      if (!bytes.has_value()) continue;
      EXPECT_GE(bytes.value(), 0);
      EXPECT_LE(bytes.value(), kMostDeviceBytes);
    }
  };
  expect_bytes(region.totals);
  for (const DeviceChip& chip : region.chips()) expect_bytes(chip.memory);
  for (const DeviceSlot& slot : region.users()) {
    expect_bytes(slot.memory);
    EXPECT_GT(slot.pid, 0);
    EXPECT_LE(slot.name.size(), 64U);
    EXPECT_GT(slot.last_update_ns.value_or(1), 0);
  }
  EXPECT_LE(region.chip_count, kRegionChipSlots);
  EXPECT_LE(region.user_count, kRegionUserSlots);
  EXPECT_GT(region.last_update_ns.value_or(1), 0);
  EXPECT_GE(region.device_id.value_or(0), 0);
  EXPECT_GE(region.asic_id.value_or(0), 0);
}

class EveryLayout : public ::testing::TestWithParam<RegionLayout> {};
INSTANTIATE_TEST_SUITE_P(Region, EveryLayout, ::testing::ValuesIn(kEveryLayout), [](const auto& tested) {
  std::string name = tested.param.name;
  for (char& letter : name) letter = letter == ' ' ? '_' : letter;
  return name;
});

TEST_P(EveryLayout, IsReadWhole) {
  RegionBytes bytes(GetParam());
  bytes.device_id(3).totals(4 * kGiB, 5, 6, 7, 8).last_update(RegionBytes::kMade + 9);
  bytes.chip(0, 3, false, kGiB).chip(1, 9, true, 3 * kGiB);
  bytes.user(0, 4711, kGiB, "worker").user(63, 4712, 3 * kGiB, std::string(64, 'x'), RegionBytes::kMade + 5);
  const Result<DeviceRegion> region = parse_device_region(bytes.bytes());
  ASSERT_TRUE(region.ok()) << region.error().reason;
  EXPECT_EQ(region->version, GetParam().version);
  EXPECT_EQ(region->device_id, Nullable(3));
  EXPECT_EQ(region->asic_id, Nullable(77));
  EXPECT_EQ(region->board_serial, Nullable());
  EXPECT_EQ(region->last_update_ns, Nullable(static_cast<int64_t>(RegionBytes::kMade + 9)));
  EXPECT_EQ(region->totals.dram_bytes, Nullable(4 * static_cast<int64_t>(kGiB)));
  EXPECT_EQ(region->totals.l1_bytes, Nullable(5));
  EXPECT_EQ(region->totals.l1_small_bytes, Nullable(6));
  EXPECT_EQ(region->totals.trace_bytes, Nullable(7));
  EXPECT_EQ(region->totals.cb_bytes, Nullable(8));
  ASSERT_EQ(region->chip_count, 2U);
  EXPECT_EQ(region->chips()[1].chip_id, 9);
  EXPECT_TRUE(region->chips()[1].is_remote);
  EXPECT_EQ(region->chips()[1].memory.dram_bytes, Nullable(3 * static_cast<int64_t>(kGiB)));
  ASSERT_EQ(region->user_count, 2U);
  EXPECT_EQ(region->users()[0].pid, 4711);
  EXPECT_EQ(region->users()[0].name, "worker");
  EXPECT_EQ(region->users()[1].memory.dram_bytes, Nullable(3 * static_cast<int64_t>(kGiB)));
  EXPECT_EQ(region->users()[1].name, std::string(64, 'x'));
  EXPECT_EQ(region->users()[1].last_update_ns, Nullable(static_cast<int64_t>(RegionBytes::kMade + 5)));
  EXPECT_EQ(region->doubt, "");
}

TEST_P(EveryLayout, IsRefusedAtAnyOtherLength) {
  const std::string bytes =
      RegionBytes(GetParam()).totals(kGiB).user(0, 7, kGiB).bytes() + std::string(300, '\0');
  for (size_t length = 0; length < bytes.size(); ++length) {
    const bool is_whole = length == GetParam().size ||
                          (GetParam().version == 1 && (length == kV1.size || length == kV1WithKernel.size));
    const Result<DeviceRegion> region = parse_device_region(std::span(bytes).first(length));
    EXPECT_EQ(region.ok(), is_whole) << length;
    if (region.ok()) expect_sane(*region);
    EXPECT_NE(region.ok(), !region.ok() && !region.error().reason.empty());
  }
}

TEST_P(EveryLayout, StaysSaneWhateverByteIsFlipped) {
  std::string bytes =
      RegionBytes(GetParam()).totals(kGiB).chip(0, 0, false, kGiB).user(0, 7, kGiB).user(5, 8, 0).bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    const char before = bytes[at];
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      bytes[at] = static_cast<char>(static_cast<unsigned char>(before) ^ flip);
      const Result<DeviceRegion> region = parse_device_region(bytes);
      if (region.ok()) expect_sane(*region);
    }
    bytes[at] = before;
  }
}

TEST_P(EveryLayout, StaysSaneWhenFilledWithNoise) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = RegionBytes(GetParam()).bytes();
    for (size_t at = 4; at < 8536; ++at) bytes[at] = static_cast<char>(random());
    const Result<DeviceRegion> region = parse_device_region(bytes);
    ASSERT_TRUE(region.ok()) << region.error().reason;
    expect_sane(*region);
  }
}

TEST(DeviceRegion, BeingMadeIsNotChipZero) {
  for (const std::string& bytes :
       {std::string(), std::string(2, '\0'), std::string(40, '\0'), std::string(8575, '\0'),
        std::string(8576, '\0'), std::string(9280, '\0')}) {
    const Result<DeviceRegion> region = parse_device_region(bytes);
    ASSERT_FALSE(region.ok()) << bytes.size();
    EXPECT_EQ(region.error().code, kRegionNotReady) << bytes.size();
  }
}

TEST(DeviceRegion, CutShortIsNotReady) {
  const Result<DeviceRegion> region = parse_device_region(std::span(RegionBytes(kV3).bytes()).first(8575));
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, kRegionNotReady);
  EXPECT_THAT(region.error().reason, HasSubstr("8575 bytes"));
}

TEST(DeviceRegion, OfVersion4IsReadyWhenItsWriterSaysSo) {
  for (const uint32_t state : {0U, 1U, 2U}) {
    const Result<DeviceRegion> region = parse_device_region(RegionBytes(kV4).u32(8536, state).bytes());
    ASSERT_FALSE(region.ok());
    EXPECT_EQ(region.error().code, kRegionNotReady);
  }
  EXPECT_TRUE(parse_device_region(RegionBytes(kV3).u32(8536, 1).bytes()).ok());  // padding there
}

TEST(DeviceRegion, OfAnUnknownVersionIsRefusedByItsNumber) {
  for (const uint32_t version : {5U, 0x01000000U, 0xFFFFFFFFU}) {
    const Result<DeviceRegion> region = parse_device_region(RegionBytes(kV3).u32(0, version).bytes());
    ASSERT_FALSE(region.ok());
    EXPECT_EQ(region.error().code, kRegionUnknown);
    EXPECT_THAT(region.error().reason, HasSubstr("version " + std::to_string(version)));
  }
  EXPECT_EQ(parse_device_region(RegionBytes(kV3).u32(0, 0).bytes()).error().code,
            kRegionUnknown);  // zero, but not all
}

TEST(DeviceRegion, WrappedTotalsAreNullAndSayWhy) {
  const Result<DeviceRegion> region =
      parse_device_region(RegionBytes(kV3).totals(0xFFFFFFFFFFFFF000, 42).bytes());
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->totals.dram_bytes, Nullable());
  EXPECT_EQ(region->totals.l1_bytes, Nullable(42));
  EXPECT_EQ(region->doubt, "the DRAM total has wrapped (18446744073709547520)");
}

TEST(DeviceRegion, TotalsUpToTheBoundAreBelieved) {
  const auto bound = static_cast<uint64_t>(kMostDeviceBytes);
  EXPECT_EQ(parse_device_region(RegionBytes(kV3).totals(bound).bytes())->totals.dram_bytes,
            Nullable(kMostDeviceBytes));
  EXPECT_EQ(parse_device_region(RegionBytes(kV3).totals(bound + 1).bytes())->totals.dram_bytes, Nullable());
}

TEST(DeviceRegion, ChipSlotsOfVersion2AreEmptyInBothWays) {
  RegionBytes bytes(kV2);
  bytes.chip(0, 0, false, 0)
      .chip(1, 0, false, 0)
      .chip(2, 0xFFFFFFFF, false, 0)
      .chip(3, 0, true, 5)
      .chip(4, 6, true, 0);
  const Result<DeviceRegion> region = parse_device_region(bytes.bytes());
  ASSERT_EQ(region->chip_count, 3U);
  EXPECT_EQ(region->chips()[0].chip_id, 0);
  EXPECT_EQ(region->chips()[1].memory.dram_bytes, Nullable(5));
  EXPECT_EQ(region->chips()[2].chip_id, 6);
}

TEST(DeviceRegion, ChipZeroOfVersion1CountsWithBytesOnly) {
  EXPECT_EQ(parse_device_region(RegionBytes(kV1).bytes())->chip_count, 0U);
  EXPECT_EQ(parse_device_region(RegionBytes(kV1).chip(0, 0, false, 9).bytes())->chip_count, 1U);
}

TEST(DeviceRegion, LeavingAndEmptySlotsAreNoUsers) {
  const Result<DeviceRegion> region =
      parse_device_region(RegionBytes(kV3).user(0, -1, kGiB).user(7, 4711, 1).user(8, -4711, 2).bytes());
  ASSERT_EQ(region->user_count, 1U);
  EXPECT_EQ(region->users()[0].pid, 4711);
  EXPECT_FALSE(region->is_full);
}

TEST(DeviceRegion, KnowsWhenNoSlotIsFree) {
  RegionBytes bytes(kV3);
  for (size_t slot = 0; slot < 64; ++slot) bytes.user(slot, static_cast<int32_t>(slot) + 1, 0);
  EXPECT_TRUE(parse_device_region(bytes.bytes())->is_full);
}

TEST(DeviceRegion, AbsurdTimesAndIdentitiesAreNull) {
  const Result<DeviceRegion> region = parse_device_region(
      RegionBytes(kV3).u64(8, UINT64_MAX).u64(32, UINT64_MAX).device_id(0x80000000).bytes());
  EXPECT_EQ(region->last_update_ns, Nullable());
  EXPECT_EQ(region->asic_id, Nullable());
  EXPECT_EQ(region->device_id, Nullable());
}

TEST(RegionName, IsADecimalNumberInItsFrame) {
  EXPECT_EQ(parse_region_name("tt_device_141176416515936_memory"), 141176416515936U);
  EXPECT_EQ(parse_region_name("tt_device_0_memory"), 0U);
  EXPECT_EQ(parse_region_name("tt_device_18446744073709551615_memory"), UINT64_MAX);
  for (const char* name :
       {"tt_device_7_util", "tt_device__memory", "tt_device_7_memory2", "tt_device_0x7_memory",
        "tt_device_-7_memory", "tt_device_007_memory", "tt_device_18446744073709551616_memory",
        "x_tt_device_7_memory", "", "tt_device_memory"}) {
    EXPECT_EQ(parse_region_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace memlog
