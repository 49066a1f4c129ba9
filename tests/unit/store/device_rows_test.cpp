// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_fixture.h"

namespace memlog {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMiB = int64_t{1024} * 1024;

class DeviceRowsOf : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, testing::literal_run());
    ASSERT_TRUE(writer.ok()) << writer.error().reason;
    writer_ = std::move(*writer);
  }
  void write(std::vector<Record> records) {
    const Status status = writer_->write(records);
    ASSERT_TRUE(status.ok()) << status.error().reason;
  }
  std::vector<std::string> rows(const std::string& sql) { return testing::rows_of(path_, sql); }

  static DeviceStart device(DeviceKey key, const std::string& region) {
    DeviceStart start;
    start.key = key;
    start.region = region;
    start.first_seen_ns = testing::kStart;
    return start;
  }
  static DeviceSample sample(DeviceKey key, int64_t tick, Nullable dram_bytes) {
    DeviceSample sample;
    sample.key = key;
    sample.time_ns = testing::kStart + tick * kNsPerSecond;
    sample.dram_bytes = dram_bytes;
    return sample;
  }

  testing::TemporaryDirectory directory_;
  std::string path_ = directory_ / "db";
  std::unique_ptr<RunWriter> writer_;
};

TEST_F(DeviceRowsOf, ADeviceIsOneRowWithItsLatestFacts) {
  DeviceStart unreadable = device(1, "tt_device_7_memory");
  DeviceStart readable = unreadable;
  readable.layout_version = 3;
  readable.asic_id = 7;
  DeviceStart again = device(5, "tt_device_7_memory");
  again.layout_version = 4;
  write({unreadable});
  write({readable, sample(1, 0, 10), again, sample(5, 1, 20)});
  EXPECT_THAT(rows("SELECT region, layout_version, asic_id FROM device"),
              ElementsAre("tt_device_7_memory|4|7"));
  EXPECT_THAT(rows("SELECT dram_bytes FROM device_sample ORDER BY time_ns"), ElementsAre("10", "20"));
}

TEST_F(DeviceRowsOf, AnUnreadableSampleIsNullWithItsReason) {
  DeviceSample unreadable = sample(1, 0, {});
  unreadable.unreadable_reason = "Permission denied";
  write({device(1, "a"), unreadable, sample(9, 0, 5)});
  EXPECT_THAT(rows("SELECT dram_bytes, unreadable_reason FROM device_sample"),
              ElementsAre("NULL|Permission denied"));
}

TEST_F(DeviceRowsOf, ChipsAndUsersKeepTheirWords) {
  DeviceChipSample chip;
  chip.key = 1;
  chip.chip_id = 4;
  chip.time_ns = testing::kStart;
  chip.is_remote = 1;
  chip.dram_bytes = 6;
  write(
      {device(1, "a"), chip, DeviceUserChange{1, testing::kStart, 4711, "worker", DeviceUserState::dead, 9}});
  EXPECT_THAT(rows("SELECT chip_id, is_remote, dram_bytes, l1_bytes FROM device_chip_sample"),
              ElementsAre("4|1|6|NULL"));
  EXPECT_THAT(rows("SELECT pid, name, state, dram_bytes FROM device_user"),
              ElementsAre("4711|worker|dead|9"));
}

TEST_F(DeviceRowsOf, TheMemoryViewShowsDevicesBesideTheProcess) {
  DeviceTotal total;
  total.time_ns = testing::kStart;
  total.device_count = 3;
  total.dram_bytes = 10 * kMiB;
  total.dram_min_bytes = kMiB;
  total.dram_max_bytes = 6 * kMiB;
  DeviceTotal unreadable;
  unreadable.time_ns = testing::kStart + kNsPerSecond;
  const auto held = [](DeviceKey key, int64_t bytes) {
    return DeviceProcessSample{key, 1, testing::kStart, bytes, {}, {}, {}, {}};
  };
  write({testing::literal_process(1), device(1, "a"), device(2, "b"), testing::literal_sample(1, 0, 0), total,
         held(1, kMiB), held(2, 2 * kMiB), DeviceProcessSample{1, 77, testing::kStart, 5, {}, {}, {}, {}},
         testing::literal_sample(1, 1, 0), unreadable, testing::literal_sample(1, 2, 0)});
  EXPECT_THAT(rows("SELECT dram_chip_count, dram_total_mib, dram_avg_mib, dram_min_mib, dram_max_mib, "
                   "device_dram_mib FROM memory"),
              ElementsAre("3|10.0|3.333|1.0|6.0|3.0", "NULL|NULL|NULL|NULL|NULL|NULL",
                          "NULL|NULL|NULL|NULL|NULL|NULL"));
}

TEST_F(DeviceRowsOf, AProcessKeepsTheMostThatItEverHeldOnAllDevices) {
  const auto held = [](DeviceKey key, int64_t tick, int64_t bytes) {
    return DeviceProcessSample{key, 1, testing::kStart + tick * kNsPerSecond, bytes, {}, {}, {}, {}};
  };
  // One tick's records may come in two batches.
  write({testing::literal_process(1), testing::literal_process(2), device(1, "a"), device(2, "b"),
         held(1, 0, 5), held(2, 0, 5), held(1, 1, 8)});
  write({held(2, 1, 9), held(1, 2, 10), held(2, 2, 1)});
  EXPECT_THAT(rows("SELECT peak_device_bytes FROM process ORDER BY id"), ElementsAre("17", "NULL"));
}

TEST_F(DeviceRowsOf, EachDeviceAndAllTogetherAreRolledUp) {
  std::vector<Record> records = {device(1, "a"), device(2, "b")};
  for (int64_t tick = 0; tick < 16; ++tick) {
    records.emplace_back(sample(1, tick, tick));
    records.emplace_back(sample(2, tick, tick == 3 ? 900 : 100));
    DeviceTotal total;
    total.time_ns = testing::kStart + tick * kNsPerSecond;
    total.device_count = 2;
    total.dram_bytes = tick + (tick == 3 ? 900 : 100);
    records.emplace_back(total);
  }
  write(records);
  EXPECT_THAT(
      rows("SELECT level, dram_bytes_min, dram_bytes_range, ghost_bytes_min FROM device_rollup ORDER BY "
           "device_id"),
      ElementsAre("1|0|15|NULL", "1|100|800|NULL"));
  EXPECT_THAT(
      rows("SELECT level, device_count_min, dram_bytes_min, dram_bytes_range FROM device_total_rollup"),
      ElementsAre("1|2|100|803"));
}

TEST_F(DeviceRowsOf, ARemovedRunTakesThemAlong) {
  DeviceTotal total;
  total.time_ns = testing::kStart;
  write({testing::literal_process(1), device(1, "a"), sample(1, 0, 1), total,
         DeviceProcessSample{1, 1, testing::kStart, 5, {}, {}, {}, {}},
         DeviceUserChange{1, testing::kStart, 4711, "worker", DeviceUserState::left, {}}});
  writer_.reset();
  Result<Database> database = Database::open(path_, Database::Mode::write);
  ASSERT_TRUE(database->execute("DELETE FROM run").ok());
  for (const char* table :
       {"device", "device_sample", "device_process_sample", "device_user", "device_total"}) {
    EXPECT_THAT(testing::rows_of(*database, std::string("SELECT count(*) FROM ") + table), ElementsAre("0"))
        << table;
  }
}

TEST_F(DeviceRowsOf, AnOlderDatabaseGainsThem) {
  const std::string old_path = directory_ / "old";
  testing::make_database_of_version(old_path, 2);
  Result<Database> database = Database::open(old_path, Database::Mode::write);
  ASSERT_TRUE(database.ok()) << database.error().reason;
  EXPECT_THAT(testing::rows_of(*database, "SELECT count(*) FROM device_sample"), ElementsAre("0"));
}

}  // namespace
}  // namespace memlog
