// SPDX-License-Identifier: Apache-2.0
#include "collect/device_driver.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "unit/collect/fake_tree.h"

namespace memlog {
namespace {

TEST(DeviceDriver, NamesEachProcessOnceAndNoneThatIsNotSeenFromHere) {
  test::FakeTree proc;
  proc.file("driver/tenstorrent/0/pids", "0\n4711\n12\n4711\n0\n");
  proc.file("driver/tenstorrent/1/pids", "");
  EXPECT_EQ(*read_device_users(proc.root(), 0), (std::vector<pid_t>{12, 4711}));
  EXPECT_TRUE(read_device_users(proc.root(), 1)->empty());
}

TEST(DeviceDriver, LinesThatAreNoPidAreLeftOut) {
  test::FakeTree proc;
  proc.file("driver/tenstorrent/0/pids", "x\n-5\n99999999999\n 7 \n8");
  EXPECT_EQ(*read_device_users(proc.root(), 0), (std::vector<pid_t>{7, 8}));
}

TEST(DeviceDriver, WhereItIsNotThereIsNothing) {
  test::FakeTree empty;
  const Result<std::vector<pid_t>> users = read_device_users(empty.root(), 0);
  ASSERT_FALSE(users.ok());
  EXPECT_EQ(users.error().code, ENOENT);
  EXPECT_TRUE(list_driver_devices(empty.root()).empty());
  EXPECT_FALSE(read_card_identity(empty.root(), 0).has_value());
}

TEST(DeviceDriver, ListsItsCardsByNumber) {
  test::FakeTree proc;
  proc.directory("driver/tenstorrent/10")
      .directory("driver/tenstorrent/2")
      .directory("driver/tenstorrent/other");
  EXPECT_EQ(list_driver_devices(proc.root()), (std::vector<int>{2, 10}));
}

TEST(DeviceDriver, TellsWhichCardItIsAsFarAsItKnows) {
  test::FakeTree sys;
  sys.file("class/tenstorrent/tenstorrent!3/tt_card_type", "n300\n")
      .file("class/tenstorrent/tenstorrent!3/tt_serial", "0100014211703020\n");
  sys.file("class/tenstorrent/tenstorrent!3/tt_asic_id", "");
  const std::optional<CardIdentity> card = read_card_identity(sys.root(), 3);
  ASSERT_TRUE(card.has_value());
  EXPECT_EQ(card->card_type, "n300");
  EXPECT_EQ(card->serial, "0100014211703020");
  EXPECT_EQ(card->asic_id, std::nullopt);
  EXPECT_EQ(card->firmware, std::nullopt);
}

}  // namespace
}  // namespace memlog
