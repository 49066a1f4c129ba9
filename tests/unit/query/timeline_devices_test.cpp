// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "query/devices.h"
#include "query/timeline.h"
#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TimelineDevices : public ::testing::Test {
 protected:
  TimelineDevices() : writer_(*RunWriter::begin(path_, literal_run())) {}
  void write(const std::vector<Record>& records) const {
    const Status status = writer_->write(records);
    if (!status) ADD_FAILURE() << status.error().reason;
  }
  Timeline read(int64_t end_tick, int64_t points = 1200) const {
    EXPECT_TRUE(writer_->end({kStart + end_tick * kNsPerSecond, "duration"}).ok());
    Result<Database> database = Database::open(path_, Database::Mode::read);
    TimelineRequest request;
    request.points = points;
    Result<Timeline> timeline = read_timeline(*database, writer_->run_id(), request);
    if (!timeline) {
      ADD_FAILURE() << timeline.error().reason;
      return {};
    }
    return *std::move(timeline);
  }
  static const TimelineSeries& find(const std::vector<TimelineSeries>& series, const std::string& name) {
    static const TimelineSeries none;
    for (const TimelineSeries& one : series)
      if (one.name == name) return one;
    ADD_FAILURE() << "no series " << name;
    return none;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  std::unique_ptr<RunWriter> writer_;
};

TEST_F(TimelineDevices, AllTogetherEachOneAndTheirAverageBetweenLeastAndMost) {
  write(story_of_processes());
  write(story_of_devices());
  const Timeline timeline = read(5);
  EXPECT_EQ(timeline.device_count, 2);
  const TimelineSeries& total = find(timeline.device_totals, "dram_bytes");
  ASSERT_THAT(total.points, SizeIs(3));
  EXPECT_EQ(total.points[2].mean, 7168 * kMib);
  EXPECT_EQ(total.peak, Nullable(7168 * kMib));
  EXPECT_EQ(find(timeline.device_totals, "live_bytes").points[0].mean, 1024 * kMib);
  EXPECT_EQ(find(timeline.device_totals, "ghost_bytes").points[0].mean, 4096 * kMib);
  const TimelineSeries& chips = find(timeline.device_totals, "dram_chip_bytes");
  ASSERT_THAT(chips.points, SizeIs(3));
  EXPECT_EQ(chips.points[0].min, 1024 * kMib);
  EXPECT_EQ(chips.points[0].mean, 2560 * kMib);
  EXPECT_EQ(chips.points[0].max, 4096 * kMib);
  EXPECT_EQ(chips.peak, Nullable(4096 * kMib));
  ASSERT_THAT(timeline.devices, SizeIs(3));
  EXPECT_EQ(timeline.devices[0].name, "device 0");
  EXPECT_EQ(find(timeline.devices[0].series, "dram_bytes").peak, Nullable(3072 * kMib));
  EXPECT_EQ(timeline.devices[2].name, "9");
  EXPECT_THAT(timeline.devices[2].series, IsEmpty());
  EXPECT_EQ(timeline.devices[2].unreadable_reason, "Permission denied");
  ASSERT_FALSE(timeline.processes.empty());
  EXPECT_EQ(timeline.processes[0].peak_device_bytes, Nullable(3072 * kMib));
}

TEST_F(TimelineDevices, WhatIsStaleOddOrUnreadableIsSaid) {
  write(story_of_processes());
  write(story_of_devices());
  const Timeline timeline = read(5);
  EXPECT_THAT(timeline.device_ghosts,
              ElementsAre("ghost 4.00 GiB of a dead process 4711 (worker) in tt_device_8_memory"));
  EXPECT_EQ(timeline.device_spread,
            "2 devices of one workload not in lockstep: 1.00 GiB in device 0 to 4.00 GiB in device 1");
  EXPECT_THAT(timeline.notes, Contains("device memory unknown: tt_device_9_memory: Permission denied"));
}

TEST_F(TimelineDevices, ATickWithoutAnyReadableDeviceIsABreak) {
  write({story_device(1, "tt_device_7_memory", 0)});
  for (const int64_t tick : {0, 1, 2}) {
    DeviceTotal total{kStart + tick * kNsPerSecond, 1, 5, 5, 5, 5, 0};
    if (tick == 1) total = {kStart + kNsPerSecond, {}, {}, {}, {}, {}, {}};
    write({total});
  }
  const Timeline timeline = read(2);
  const TimelineSeries& total = find(timeline.device_totals, "dram_bytes");
  ASSERT_THAT(total.points, SizeIs(2));
  EXPECT_TRUE(total.points[1].follows_a_break);
}

TEST_F(TimelineDevices, ALongRunOfManyDevicesIsThinnedAndEverySpikeStays) {
  constexpr int64_t tick_count = 20'000;
  constexpr int64_t device_count = 8;
  std::vector<Record> records;
  for (int64_t device = 1; device <= device_count; ++device)
    records.emplace_back(story_device(device, "tt_device_" + std::to_string(device) + "_memory", device));
  for (int64_t tick = 0; tick < tick_count; ++tick) {
    DeviceTotal total{kStart + tick * kNsPerSecond, device_count, 0, 100, 100, 0, 0};
    for (int64_t device = 1; device <= device_count; ++device) {
      DeviceSample sample;
      sample.key = device;
      sample.time_ns = total.time_ns;
      sample.dram_bytes = device == 5 && tick == 12'345 ? 9000 : 100;
      total.dram_bytes = total.dram_bytes + sample.dram_bytes;
      total.dram_max_bytes = max_known(total.dram_max_bytes, sample.dram_bytes);
      records.emplace_back(sample);
    }
    records.emplace_back(total);
    if (records.size() < 10'000 && tick + 1 < tick_count) continue;
    write(records);
    records.clear();
  }
  const Timeline timeline = read(tick_count - 1, 400);
  const int64_t spike_ns = kStart + 12'345 * kNsPerSecond;
  const TimelineSeries& total = find(timeline.device_totals, "dram_bytes");
  EXPECT_EQ(total.peak, Nullable(device_count * 100 + 8900));
  EXPECT_EQ(total.peak_ns, spike_ns);
  EXPECT_LE(total.points.size(), 420U);
  const TimelineSeries& chips = find(timeline.device_totals, "dram_chip_bytes");
  EXPECT_EQ(chips.peak, Nullable(9000));
  EXPECT_EQ(chips.peak_ns, spike_ns);
  ASSERT_THAT(timeline.devices, SizeIs(device_count));
  const TimelineSeries& fifth = find(timeline.devices[4].series, "dram_bytes");
  EXPECT_EQ(fifth.peak_ns, spike_ns);
  EXPECT_LE(fifth.points.size(), 220U);
  EXPECT_EQ(std::count_if(fifth.points.begin(), fifth.points.end(),
                          [](const TimelinePoint& point) { return point.max == 9000; }),
            1);
}

TEST_F(TimelineDevices, TheCommandThatClearsNamesOnlyWhatNobodyUses) {
  write(story_of_processes());
  write(story_of_devices());
  ASSERT_TRUE(writer_->end({kStart, "duration"}).ok());
  Database database = *Database::open(path_, Database::Mode::write);
  EXPECT_EQ(clearing_command(*device_summaries(database, 1)), "rm '/dev/shm/tt_device_8_memory'");
  ASSERT_TRUE(database
                  .execute("INSERT INTO device_user SELECT device_id, time_ns + 1, 4712, 'worker', 'live', 0 "
                           "FROM device_user WHERE pid = 4711")
                  .ok());
  EXPECT_EQ(clearing_command(*device_summaries(database, 1)), "");
}

TEST_F(TimelineDevices, TwoOfTheSameNumberAreToldApart) {
  write({story_device(1, "tt_device_7_memory", 0), story_device(2, "tt_device_8_memory", 0),
         story_device(3, "tt_device_9_memory", 1)});
  const Timeline timeline = read(0);
  ASSERT_THAT(timeline.devices, SizeIs(3));
  EXPECT_EQ(timeline.devices[0].name, "device 0 (7)");
  EXPECT_EQ(timeline.devices[1].name, "device 0 (8)");
  EXPECT_EQ(timeline.devices[2].name, "device 1");
}

TEST_F(TimelineDevices, OneDeadProcessOnManyDevicesIsOneSentence) {
  std::vector<DeviceSummary> devices(3);
  for (DeviceSummary& device : devices) {
    device.region = "tt_device_" + std::to_string(&device - devices.data()) + "_memory";
    device.last.ghost_bytes = 512 * kMib;
    device.users = {{4711, "worker", DeviceUserState::dead, 512 * kMib}};
  }
  EXPECT_THAT(ghost_sentences(devices),
              ElementsAre("ghost 1.50 GiB of a dead process 4711 (worker) in tt_device_0_memory and 2 more"));
}

}  // namespace
}  // namespace memlog::testing
