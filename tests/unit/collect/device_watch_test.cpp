// SPDX-License-Identifier: Apache-2.0
#include "collect/device_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/region_bytes.h"
#include "unit/collect/fake_tree.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::kV3;
using test::RegionBytes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int32_t kDeadPid = 0x3FFFFFFE;  // beyond any pid_max

class DeviceWatchOf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reader_sees_every_process())
      GTEST_SKIP() << "a dead process cannot be told from a hidden one in a pid namespace";
  }
  void look(int times = 1) {
    if (!watch_) {
      DeviceWatch::Options options;
      options.directory = shm_.root();
      options.key_of = [this](pid_t pid) { return pid == recorded_pid_ ? ProcessKey{9} : ProcessKey{0}; };
      watch_.emplace(std::move(options));
    }
    for (int i = 0; i < times; ++i) {
      records_.clear();
      time_ns_ = boot_now_ns();
      watch_->sample(time_ns_, {[this](Record record) { records_.push_back(std::move(record)); },
                                [this](std::string line) { said_.push_back(std::move(line)); }});
    }
  }
  // Of the last look.
  template <typename Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Record& record : records_) {
      if (const auto* it = std::get_if<Kind>(&record)) found.push_back(*it);
    }
    return found;
  }
  void region(int number, const RegionBytes& bytes) {
    shm_.file("tt_device_" + std::to_string(number) + "_memory", bytes);
  }
  static std::string region_name(int number) { return "tt_device_" + std::to_string(number) + "_memory"; }

  test::FakeTree shm_;
  std::optional<DeviceWatch> watch_;
  pid_t recorded_pid_ = 0;
  int64_t time_ns_ = 0;
  std::vector<Record> records_;
  std::vector<std::string> said_;
};

TEST_F(DeviceWatchOf, NoRegionsIsOneCalmLineAndNoRows) {
  look(3);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0],
              AllOf(HasSubstr("no device memory regions"), HasSubstr("TT_METAL_SHM_TRACKING_DISABLED")));
  EXPECT_THAT(records_, IsEmpty());
}

TEST_F(DeviceWatchOf, AStaleRegionIsToldOnceWithTheCommandThatClearsIt) {
  region(7, RegionBytes(kV3).totals(4 * kGiB).user(0, kDeadPid, 4 * kGiB));
  look();
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0],
              HasSubstr("ghost 4.00 GiB of a dead process 1073741822 (worker) in tt_device_7_memory"));
  EXPECT_THAT(said_[0], HasSubstr("rm '" + shm_.path(region_name(7)) + "'"));
  ASSERT_EQ(all<Event>().size(), 1U);
  EXPECT_EQ(all<Event>()[0].kind, EventKind::note);
  EXPECT_THAT(all<Event>()[0].detail, HasSubstr("ghost 4.00 GiB"));
  look(5);
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(shm_.path(region_name(7))));
}

TEST_F(DeviceWatchOf, ManyStaleRegionsOfOneProcessAreOneLine) {
  for (int i = 0; i < 32; ++i) region(i, RegionBytes(kV3).totals(kGiB).user(0, kDeadPid, kGiB));
  look();
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], AllOf(HasSubstr("ghost 32.0 GiB"), HasSubstr("tt_device_0_memory and 31 more")));
}

TEST_F(DeviceWatchOf, EachTickHasARowADeviceAndOneOfAll) {
  region(7, RegionBytes(kV3).totals(3 * kGiB, 5, 6, 7, 8));
  region(8, RegionBytes(kV3).totals(kGiB).device_id(1));
  look();
  ASSERT_EQ(all<DeviceStart>().size(), 2U);
  EXPECT_EQ(all<DeviceStart>()[0].region, region_name(7));
  EXPECT_EQ(all<DeviceStart>()[0].layout_version, Nullable(3));
  EXPECT_EQ(all<DeviceStart>()[0].asic_id, Nullable(77));
  EXPECT_EQ(all<DeviceStart>()[0].is_remote, Nullable(0));
  look();
  EXPECT_THAT(all<DeviceStart>(), IsEmpty());
  const auto samples = all<DeviceSample>();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].time_ns, time_ns_);
  EXPECT_EQ(samples[0].dram_bytes, Nullable(3 * kGiB));
  EXPECT_EQ(samples[0].cb_bytes, Nullable(8));
  EXPECT_EQ(samples[0].user_count, Nullable(0));
  EXPECT_EQ(samples[0].unreadable_reason, std::nullopt);
  const auto totals = all<DeviceTotal>();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].time_ns, time_ns_);
  EXPECT_EQ(totals[0].device_count, Nullable(2));
  EXPECT_EQ(totals[0].dram_bytes, Nullable(4 * kGiB));
  EXPECT_EQ(totals[0].dram_min_bytes, Nullable(kGiB));
  EXPECT_EQ(totals[0].dram_max_bytes, Nullable(3 * kGiB));
}

TEST_F(DeviceWatchOf, UnknownVersionsAreNullAndRefusedByNumberOnce) {
  region(7, RegionBytes(kV3).u32(0, 5).totals(kGiB));
  region(8, RegionBytes(kV3).u32(0, 5).totals(kGiB));
  look(3);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], AllOf(HasSubstr("layout version 5"), HasSubstr("tt_device_7_memory and 1 more")));
  const auto samples = all<DeviceSample>();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].dram_bytes, Nullable());
  EXPECT_THAT(samples[0].unreadable_reason.value_or(""), HasSubstr("layout version 5"));
  ASSERT_EQ(all<DeviceTotal>().size(), 1U);
  EXPECT_EQ(all<DeviceTotal>()[0].device_count, Nullable());
  EXPECT_EQ(all<DeviceTotal>()[0].dram_bytes, Nullable());
}

TEST_F(DeviceWatchOf, AnotherUsersRegionIsOneLineAndNull) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become two users";
  region(7, RegionBytes(kV3));
  chmod(shm_.root().c_str(), 0755);
  chmod(shm_.path(region_name(7)).c_str(), 0600);
  ASSERT_EQ(seteuid(65534), 0);
  look(3);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("Permission denied"));
  ASSERT_EQ(all<DeviceSample>().size(), 1U);
  EXPECT_EQ(all<DeviceSample>()[0].unreadable_reason, "Permission denied");
}

TEST_F(DeviceWatchOf, ARegionBeingMadeIsNotWorthALine) {
  shm_.file(region_name(7), "");
  look(3);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_THAT(all<DeviceSample>()[0].unreadable_reason.value_or(""), HasSubstr("being made"));
  region(7, RegionBytes(kV3).totals(5));
  look();
  ASSERT_EQ(all<DeviceStart>().size(), 1U);  // its facts are known now
  EXPECT_EQ(all<DeviceStart>()[0].layout_version, Nullable(3));
  EXPECT_EQ(all<DeviceStart>()[0].key, all<DeviceSample>()[0].key);
}

TEST_F(DeviceWatchOf, AWrappedTotalIsToldOnceAndLeftOutOfTheSum) {
  region(7, RegionBytes(kV3).totals(0xFFFFFFFFFFFFF000));
  region(8, RegionBytes(kV3).totals(kGiB));
  look(3);
  EXPECT_THAT(said_,
              UnorderedElementsAre(HasSubstr("wrapped (18446744073709547520)"), HasSubstr("ghost 1.00 GiB")));
  EXPECT_EQ(all<DeviceTotal>()[0].device_count, Nullable(1));
  EXPECT_EQ(all<DeviceTotal>()[0].dram_bytes, Nullable(kGiB));
}

TEST_F(DeviceWatchOf, ALostRegionEndsWithANullAndTheSameDeviceComesBack) {
  region(7, RegionBytes(kV3));
  look();
  const DeviceKey key = all<DeviceStart>()[0].key;
  std::filesystem::remove(shm_.path(region_name(7)));
  look();
  ASSERT_EQ(all<DeviceSample>().size(), 1U);
  EXPECT_EQ(all<DeviceSample>()[0].unreadable_reason, "it is gone");
  look();
  EXPECT_THAT(records_, IsEmpty());
  region(7, RegionBytes(kV3));
  look();
  ASSERT_EQ(all<DeviceSample>().size(), 1U);
  EXPECT_EQ(all<DeviceSample>()[0].key, key);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(DeviceWatchOf, WhatARecordedProcessHoldsIsItsOwnRow) {
  test::WorkloadProcess recorded(
      {shm_.root(), "7,8", "v3", "dram", "500", "dram-on", "1", "100", "say", "x", "read-line"},
      MEMLOG_DEVICE_WRITER);
  recorded.line();
  test::WorkloadProcess other({shm_.root(), "7", "v3", "dram", "40", "say", "x", "read-line"},
                              MEMLOG_DEVICE_WRITER);
  other.line();
  recorded_pid_ = recorded.pid();
  look();
  const auto held = all<DeviceProcessSample>();
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].process_key, 9U);
  EXPECT_EQ(held[0].time_ns, time_ns_);
  EXPECT_EQ(held[0].dram_bytes, Nullable(500));
  EXPECT_EQ(held[1].dram_bytes, Nullable(600));
  EXPECT_EQ(all<DeviceUserChange>().size(), 3U);
  look();
  EXPECT_THAT(all<DeviceUserChange>(), IsEmpty());
  recorded.kill_and_reap();
  look();
  EXPECT_THAT(all<DeviceProcessSample>(), IsEmpty());
  const auto changes = all<DeviceUserChange>();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].state, DeviceUserState::dead);
  EXPECT_EQ(changes[0].pid, recorded.pid());
  EXPECT_EQ(changes[0].name, "device_writer");
  EXPECT_EQ(changes[0].dram_bytes, Nullable(500));
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("of a dead process " + std::to_string(recorded.pid())));
  EXPECT_THAT(said_[0],
              AllOf(HasSubstr("end the workload"), Not(HasSubstr("rm "))));  // another one is inside
}

TEST_F(DeviceWatchOf, AChipBehindAnotherHasRowsOfItsOwnWhenItChanges) {
  region(7, RegionBytes(kV3).totals(8).chip(0, 0, false, 3).chip(1, 4, true, 5));
  look();
  const auto chips = all<DeviceChipSample>();
  ASSERT_EQ(chips.size(), 2U);
  EXPECT_EQ(chips[1].chip_id, 4);
  EXPECT_EQ(chips[1].is_remote, Nullable(1));
  EXPECT_EQ(chips[1].dram_bytes, Nullable(5));
  look();
  EXPECT_THAT(all<DeviceChipSample>(), IsEmpty());
}

TEST_F(DeviceWatchOf, DevicesOfOneWorkloadThatDifferArePointedOutOnce) {
  test::WorkloadProcess workload({shm_.root(), "7,8,9", "v3", "dram", std::to_string(kGiB), "dram-on", "1",
                                  std::to_string(kGiB), "say", "x", "read-line"},
                                 MEMLOG_DEVICE_WRITER);
  workload.line();
  look(9);
  EXPECT_THAT(said_, IsEmpty());
  look(20);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], AllOf(HasSubstr("3 devices"), HasSubstr("1.00 GiB in tt_device_7_memory"),
                              HasSubstr("2.00 GiB in tt_device_8_memory")));
}

TEST_F(DeviceWatchOf, DevicesThatMoveTogetherOrBelongToOthersAreNot) {
  test::WorkloadProcess workload(
      {shm_.root(), "7,8", "v3", "dram", std::to_string(kGiB), "say", "x", "read-line"},
      MEMLOG_DEVICE_WRITER);
  workload.line();
  look(20);
  EXPECT_THAT(said_, IsEmpty());
  test::WorkloadProcess other({shm_.root(), "9", "v3", "dram", "5", "say", "x", "read-line"},
                              MEMLOG_DEVICE_WRITER);
  other.line();
  look(20);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(DeviceWatchOf, AMissingDirectoryIsOneLine) {
  DeviceWatch::Options options;
  options.directory = shm_.path("nowhere");
  watch_.emplace(std::move(options));
  look(3);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace memlog
