// SPDX-License-Identifier: Apache-2.0
// A fake /proc, so that namespaces, names and start times are literals. Clock ticks are 10 ms, boot was at
// wall time 0.
#include "collect/device_users.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "unit/collect/fake_tree.h"

namespace memlog {
namespace {

constexpr FileIdentity kRegion{0x1A, 35};  // 00:1a
constexpr const char* kMapsRegion = "7f00-7f03 rw-s 00000000 00:1a 35    /dev/shm/tt_device_7_memory\n";
constexpr const char* kMapsOther =
    "7f00-7f03 rw-s 00000000 00:1a 36    /dev/shm/tt_device_8_memory\n7f05-7f06 r--p 0 00:00 0\n";

class DeviceUsersOf : public ::testing::Test {
 protected:
  static std::string stat(int pid, const std::string& name, char state, int64_t start_ticks) {
    return std::to_string(pid) + " (" + name + ") " + state + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
           std::to_string(start_ticks) + " 0 0\n";
  }
  void process(int pid, const std::string& name, int64_t start_ticks, const std::string& maps = "",
               char state = 'S', const std::string& pids = "") {
    const std::string directory = std::to_string(pid);
    proc_.file(directory + "/stat", stat(pid, name, state, start_ticks));
    proc_.file(directory + "/comm", name + "\n");
    proc_.file(directory + "/maps", maps);
    proc_.file(directory + "/status",
               "Name:\t" + name + "\nNSpid:\t" + (pids.empty() ? directory : pids) + "\nThreads:\t1\n");
  }
  void gone(int pid) { std::filesystem::remove_all(proc_.path(std::to_string(pid))); }

  DeviceUsers::Verdict judge(int32_t pid, const std::string& name = "worker", int64_t update_s = 100) {
    DeviceSlot slot;
    slot.pid = pid;
    slot.name = name;
    slot.last_update_ns = update_s * kNsPerSecond;
    if (!users_) users_.emplace(DeviceUsers::Options{proc_.root(), sees_all_, 0});
    now_ns_ += 100 * kNsPerMs;
    users_->begin_tick(now_ns_, 0);
    return users_->judge(slot, kRegion);
  }

  test::FakeTree proc_;
  bool sees_all_ = true;
  std::optional<DeviceUsers> users_;
  int64_t now_ns_ = 200 * kNsPerSecond;
};

TEST_F(DeviceUsersOf, AProcessOfThatNameThatStartedInTimeIsLive) {
  process(7, "worker", 9000);
  const auto verdict = judge(7);
  EXPECT_EQ(verdict.state, DeviceUserState::live);
  EXPECT_EQ(verdict.pid, 7);
}

TEST_F(DeviceUsersOf, NoProcessIsDeadWhereEveryProcessIsSeen) {
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, NoProcessIsUnknownWhereSomeMayBeHidden) {
  sees_all_ = false;
  EXPECT_EQ(judge(7).state, DeviceUserState::unknown);
}

TEST_F(DeviceUsersOf, OneThatWasLiveHereIsDeadWhenItIsGoneEvenWhereSomeMayBeHidden) {
  sees_all_ = false;
  process(7, "worker", 9000);
  EXPECT_EQ(judge(7).state, DeviceUserState::live);
  gone(7);
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, AZombieIsDead) {
  process(7, "worker", 9000, "", 'Z');
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, AStrangerThatStartedAfterTheLastUpdateIsNotTheUser) {
  process(7, "worker", 10500, kMapsOther);  // 5 s after
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, AUserThatHasTheRegionMappedIsLiveWhateverTheClockSays) {
  process(7, "worker", 10500, kMapsRegion);  // the wall clock was stepped
  EXPECT_EQ(judge(7).state, DeviceUserState::live);
}

TEST_F(DeviceUsersOf, AStrangerOfAnotherNameIsNotTheUser) {
  process(7, "bash", 9000, kMapsOther);
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, ARenamedUserIsKnownByItsMapping) {
  process(7, "renamed", 9000, kMapsRegion);
  EXPECT_EQ(judge(7).state, DeviceUserState::live);
}

TEST_F(DeviceUsersOf, AStrangerWhoseMappingsAreNotOursToReadIsUnknown) {
  process(7, "renamed", 9000);
  std::filesystem::remove(proc_.path("7/maps"));
  EXPECT_EQ(judge(7).state, DeviceUserState::unknown);
}

TEST_F(DeviceUsersOf, AProcessInAContainerIsFoundByItsInnerPid) {
  process(7, "bash", 9000, kMapsOther);
  process(500, "worker", 9000, kMapsOther, 'S', "500\t7");  // another container's
  process(501, "worker", 9000, kMapsRegion, 'S', "501\t40\t7");
  const auto verdict = judge(7);
  EXPECT_EQ(verdict.state, DeviceUserState::live);
  EXPECT_EQ(verdict.pid, 501);
}

TEST_F(DeviceUsersOf, AReusedPidIsAnotherProcess) {
  process(7, "worker", 9000);
  EXPECT_EQ(judge(7).state, DeviceUserState::live);
  process(7, "worker", 15000, kMapsOther);
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
}

TEST_F(DeviceUsersOf, ADeadSlotThatIsWrittenAgainIsJudgedAgain) {
  EXPECT_EQ(judge(7).state, DeviceUserState::dead);
  process(7, "worker", 20100);
  for (int i = 0; i < 12; ++i) judge(7, "worker", 202);
  EXPECT_EQ(judge(7, "worker", 202).state, DeviceUserState::live);
}

TEST(EveryProcess, IsNotSeenThroughAFakeProc) {
  test::FakeTree proc;
  EXPECT_FALSE(reader_sees_every_process(proc.root()));
}

}  // namespace
}  // namespace memlog
