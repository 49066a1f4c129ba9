// SPDX-License-Identifier: Apache-2.0
// Regions in a directory of this test's own, kept by real processes or written as literals.
#include "collect/device_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/clock.h"
#include "support/region_bytes.h"
#include "unit/collect/fake_tree.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::kV3;
using test::RegionBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr const char* kRegion7 = "tt_device_7_memory";
constexpr int32_t kDeadPid = 0x3FFFFFFE;  // beyond any pid_max

struct Seen {
  uint64_t number = 0;
  bool is_gone = false;
  bool is_made_anew = false;
  int error_code = 0;
  std::string reason;
  Nullable dram, live, ghost, unknown;
  size_t user_count = 0;
};

class DeviceSamplerOf : public ::testing::Test {
 protected:
  std::vector<Seen> look() {
    std::vector<Seen> all;
    const ClockPair clocks = read_clock_pair();
    const Status status =
        sampler_.sample(clocks.boot_ns, clocks.wall_ns - clocks.boot_ns, [&](const DeviceReading& reading) {
          all.push_back({reading.number, reading.is_gone, reading.is_made_anew, reading.error_code,
                         reading.reason, reading.region ? reading.region->totals.dram_bytes : Nullable(),
                         reading.live_bytes, reading.ghost_bytes, reading.unknown_bytes,
                         reading.users.size()});
        });
    EXPECT_EQ(status.ok(), expects_listing_);
    return all;
  }
  Seen look_at_one() {
    const std::vector<Seen> all = look();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Seen{} : all[0];
  }
  test::WorkloadProcess writer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), shm_.root());
    return test::WorkloadProcess(std::move(arguments), MEMLOG_DEVICE_WRITER);
  }

  test::FakeTree shm_;
  DeviceSampler sampler_{DeviceSampler::Options{shm_.root(), 64, 256, {"/proc", true, 64}}};
  bool expects_listing_ = true;
};

class WriterOf : public DeviceSamplerOf, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Layouts, WriterOf, ::testing::Values("v1k", "v1", "v2", "v3", "v4"));

TEST_P(WriterOf, IsSeenLiveThenCleanedUp) {
  auto process = writer({"7", GetParam(), "dram", std::to_string(3 * kGiB), "say", "x", "read-line", "close",
                         "say", "x", "read-line"});
  process.line();
  Seen seen = look_at_one();
  EXPECT_EQ(seen.reason, "");
  EXPECT_EQ(seen.dram, Nullable(3 * kGiB));
  EXPECT_EQ(seen.live, Nullable(3 * kGiB));
  EXPECT_EQ(seen.ghost, Nullable(0));
  EXPECT_EQ(seen.unknown, Nullable(0));
  EXPECT_EQ(seen.user_count, 1U);
  process.go_on();
  process.line();
  seen = look_at_one();
  EXPECT_EQ(seen.dram, Nullable(0));
  EXPECT_EQ(seen.user_count, 0U);
}

TEST_P(WriterOf, LeavesAGhostWhenItIsKilled) {
  auto first = writer({"7", GetParam(), "dram", std::to_string(4 * kGiB), "say", "x", "read-line"});
  first.line();
  auto second = writer({"7", GetParam(), "dram", std::to_string(kGiB), "say", "x", "read-line"});
  second.line();
  EXPECT_EQ(look_at_one().live, Nullable(5 * kGiB));
  first.kill_and_reap();
  const Seen seen = look_at_one();
  EXPECT_EQ(seen.dram, Nullable(5 * kGiB));
  EXPECT_EQ(seen.live, Nullable(kGiB));
  EXPECT_EQ(seen.ghost, Nullable(4 * kGiB));
  EXPECT_EQ(seen.user_count, 2U);
}

TEST_F(DeviceSamplerOf, AZombieHoldsNothingAlive) {
  auto process = writer({"7", "v3", "dram", std::to_string(kGiB), "say", "x", "read-line"});
  process.line();
  EXPECT_EQ(look_at_one().live, Nullable(kGiB));
  kill(process.pid(), SIGKILL);
  process.await_zombie();
  EXPECT_EQ(look_at_one().ghost, Nullable(kGiB));
}

TEST_F(DeviceSamplerOf, OnlyRegionsAreLookedAt) {
  shm_.file("tt_device_9_memory", RegionBytes(kV3))
      .file(kRegion7, RegionBytes(kV3))
      .file("tt_device_7_util", "x")
      .file("sem.x", "");
  const std::vector<Seen> all = look();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].number, 7U);
  EXPECT_EQ(all[1].number, 9U);
}

TEST_F(DeviceSamplerOf, ADeadProcesssBytesAreAGhost) {
  shm_.file(kRegion7, RegionBytes(kV3).totals(4 * kGiB).user(0, kDeadPid, 4 * kGiB));
  const std::string before = RegionBytes(kV3).totals(4 * kGiB).user(0, kDeadPid, 4 * kGiB).bytes();
  const Seen seen = look_at_one();
  EXPECT_EQ(seen.dram, Nullable(4 * kGiB));
  EXPECT_EQ(seen.live, Nullable(0));
  EXPECT_EQ(seen.ghost, Nullable(4 * kGiB));
  std::ifstream file(shm_.path(kRegion7), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), before) << "a region is never written to";
}

TEST_F(DeviceSamplerOf, AWrappedTotalLeavesTheGhostUnknownToo) {
  shm_.file(kRegion7, RegionBytes(kV3).totals(0xFFFFFFFFFFFFF000).user(0, kDeadPid, kGiB));
  const Seen seen = look_at_one();
  EXPECT_EQ(seen.dram, Nullable());
  EXPECT_EQ(seen.ghost, Nullable());
  EXPECT_EQ(seen.live, Nullable(0));
  EXPECT_THAT(seen.reason, HasSubstr("wrapped"));
}

TEST_F(DeviceSamplerOf, BytesBeyondFullSlotsAreNotCalledGhosts) {
  RegionBytes bytes(kV3);
  for (size_t slot = 0; slot < 64; ++slot) bytes.user(slot, kDeadPid - static_cast<int32_t>(slot), kGiB);
  shm_.file(kRegion7, bytes.totals(70 * kGiB));
  const Seen seen = look_at_one();
  EXPECT_EQ(seen.ghost, Nullable(64 * kGiB));
  EXPECT_EQ(seen.unknown, Nullable(6 * kGiB));
}

TEST_F(DeviceSamplerOf, WhoCannotBeJudgedIsUnknownAndTheRestAGhostOnceItHasStayed) {
  DeviceSampler blind({shm_.root(), 64, 256, {"/proc", false, 64}});
  shm_.file(kRegion7, RegionBytes(kV3).totals(4 * kGiB).user(0, kDeadPid, 3 * kGiB));
  Nullable ghost;
  Nullable unknown;
  bool is_settling = false;
  const auto look = [&](int64_t now_ns) {
    const Status status = blind.sample(now_ns, 0, [&](const DeviceReading& reading) {
      ghost = reading.ghost_bytes;
      unknown = reading.unknown_bytes;
      is_settling = reading.is_settling;
    });
    EXPECT_TRUE(status.ok());
  };
  look(kNsPerSecond);
  EXPECT_EQ(unknown, Nullable(4 * kGiB));
  EXPECT_EQ(ghost, Nullable(0));
  EXPECT_TRUE(is_settling);
  look(2 * kNsPerSecond);
  EXPECT_EQ(unknown, Nullable(3 * kGiB));
  EXPECT_EQ(ghost, Nullable(kGiB));
  EXPECT_FALSE(is_settling);
}

TEST_F(DeviceSamplerOf, ARegionAppearsIsCutAndVanishes) {
  EXPECT_TRUE(look().empty());
  shm_.file(kRegion7, "");
  EXPECT_EQ(look_at_one().error_code, kRegionNotReady);
  shm_.file(kRegion7, RegionBytes(kV3).totals(5));
  EXPECT_EQ(look_at_one().dram, Nullable(5));
  std::filesystem::resize_file(shm_.path(kRegion7), 40);
  Seen seen = look_at_one();
  EXPECT_EQ(seen.error_code, kRegionNotReady);
  EXPECT_EQ(seen.dram, Nullable());
  EXPECT_FALSE(seen.is_gone);
  std::filesystem::remove(shm_.path(kRegion7));
  EXPECT_TRUE(look_at_one().is_gone);
  EXPECT_TRUE(look().empty());
}

TEST_F(DeviceSamplerOf, ARegionMadeAnewIsReadAnew) {
  shm_.file(kRegion7, RegionBytes(kV3).totals(5));
  EXPECT_FALSE(look_at_one().is_made_anew);
  shm_.file("new", RegionBytes(test::kV4).totals(6));  // made while the old one is open: surely another inode
  std::filesystem::rename(shm_.path("new"), shm_.path(kRegion7));
  const Seen seen = look_at_one();
  EXPECT_TRUE(seen.is_made_anew);
  EXPECT_EQ(seen.dram, Nullable(6));
  EXPECT_FALSE(look_at_one().is_made_anew);
}

TEST_F(DeviceSamplerOf, ARegionMovedAwayIsNotReadUnderItsOldName) {
  shm_.file(kRegion7, RegionBytes(kV3).totals(5));
  look();
  std::filesystem::rename(shm_.path(kRegion7), shm_.path("kept"));
  shm_.file(kRegion7, RegionBytes(kV3).totals(6));
  EXPECT_EQ(look_at_one().dram, Nullable(6));
}

TEST_F(DeviceSamplerOf, LinksAndPipesAreNotOpened) {
  shm_.file("secret", RegionBytes(kV3).totals(5)).link(kRegion7, shm_.path("secret"));
  ASSERT_EQ(mkfifo(shm_.path("tt_device_8_memory").c_str(), 0600), 0);
  shm_.directory("tt_device_9_memory");
  const std::vector<Seen> all = look();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].error_code, ELOOP);
  EXPECT_THAT(all[1].reason, HasSubstr("not a regular file"));
  EXPECT_THAT(all[2].reason, HasSubstr("not a regular file"));
  for (const Seen& seen : all) EXPECT_EQ(seen.dram, Nullable());
}

TEST_F(DeviceSamplerOf, ADirectoryThatVanishesTakesItsRegionsWithIt) {
  shm_.file(kRegion7, RegionBytes(kV3).totals(5));
  EXPECT_EQ(look_at_one().dram, Nullable(5));
  std::filesystem::rename(shm_.root(), shm_.root() + ".away");
  expects_listing_ = false;
  EXPECT_TRUE(look_at_one().is_gone);
  EXPECT_TRUE(look().empty());
  std::filesystem::rename(shm_.root() + ".away", shm_.root());
  expects_listing_ = true;
  EXPECT_EQ(look_at_one().dram, Nullable(5));
}

TEST_F(DeviceSamplerOf, NeedsNoKeptFiles) {
  DeviceSampler frugal({shm_.root(), 0, 256, {"/proc", true, 0}});
  auto process = writer({"7,8", "v3", "dram", "5", "say", "x", "read-line"});
  process.line();
  for (int i = 0; i < 3; ++i) {
    std::vector<int64_t> live;
    ASSERT_TRUE(
        frugal
            .sample(boot_now_ns(), wall_now_ns() - boot_now_ns(),
                    [&](const DeviceReading& reading) { live.push_back(reading.live_bytes.value_or(-1)); })
            .ok());
    EXPECT_THAT(live, ElementsAre(5, 5));
  }
}

TEST_F(DeviceSamplerOf, MoreRegionsThanItTakesAreCounted) {
  DeviceSampler small({shm_.root(), 64, 2, {"/proc", true, 64}});
  for (int i = 0; i < 5; ++i) shm_.file("tt_device_" + std::to_string(i) + "_memory", RegionBytes(kV3));
  int seen = 0;
  ASSERT_TRUE(small.sample(1, 0, [&](const DeviceReading&) { ++seen; }).ok());
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(small.left_out_count(), 3U);
}

// Allocations of 64 MiB come and go at kHz while totals, slots and times are written one after the other. A writer that
// the kernel puts to sleep between two of these stores cannot be told from one that has finished: rare, never a spike.
TEST_F(DeviceSamplerOf, ChangesUnderWayAreNoSpikesAndHardlyEverGhosts) {
  auto process =
      writer({"7", "v3", "dram", std::to_string(kGiB), "say", "x", "churn", "100000", "1500", "say", "x"});
  process.line();
  constexpr int64_t step_bytes = int64_t{64} << 20;
  int looks = 0;
  int ghosts = 0;
  const int64_t end_ns = boot_now_ns() + kNsPerSecond;
  while (boot_now_ns() < end_ns) {
    const Seen seen = look_at_one();
    ASSERT_TRUE(seen.dram == Nullable(kGiB) || seen.dram == Nullable(kGiB + step_bytes))
        << seen.dram.value_or(-1);
    ASSERT_LE(seen.ghost.value_or(0), step_bytes);
    ++looks;
    if (seen.ghost != Nullable(0)) ++ghosts;
  }
  EXPECT_LE(ghosts * 50, looks) << ghosts << " of " << looks;
}

// Needs another user than root for itself.
TEST_F(DeviceSamplerOf, AnotherUsersRegionIsUnreadable) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become two users";
  shm_.file(kRegion7, RegionBytes(kV3).totals(5));
  chmod(shm_.root().c_str(), 0755);
  chmod(shm_.path(kRegion7).c_str(), 0600);
  ASSERT_EQ(seteuid(65534), 0);
  const Seen seen = look_at_one();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(seen.error_code, EACCES);
  EXPECT_EQ(seen.dram, Nullable());
  EXPECT_FALSE(seen.is_gone);
  EXPECT_EQ(look_at_one().dram, Nullable(5)) << "it is tried again";
}

}  // namespace
}  // namespace memlog
