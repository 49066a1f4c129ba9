// SPDX-License-Identifier: Apache-2.0
#include "query/live_table.h"

#include "support/literal_story.h"

namespace memlog::testing {
namespace {

class LiveTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, literal_run());
    ASSERT_TRUE(writer);
    writer_ = *std::move(writer);
  }
  void store(const std::vector<Record>& records) { ASSERT_TRUE(writer_->write(records)); }
  Database open() const {
    Result<Database> database = Database::open(path_, Database::Mode::read);
    EXPECT_TRUE(database);
    return *std::move(database);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  std::unique_ptr<RunWriter> writer_;
};

ProcessStart in_cgroup(ProcessKey key, const std::string& path) {
  ProcessStart start = literal_process(key);
  start.cgroup = path;
  return start;
}

TEST_F(LiveTableTest, GrowthIsTheSlopeAndTheLimitIsTheNearest) {
  std::vector<Record> records = {in_cgroup(1, "/jobs/small"), CgroupStart{1, "/jobs/small", 2}};
  HostSample host;
  host.time_ns = kStart;
  host.mem_total_bytes = 8192 * kMib;
  host.mem_available_bytes = 4096 * kMib;
  records.emplace_back(host);
  for (int64_t tick = 0; tick <= 20; ++tick)
    records.emplace_back(literal_sample(1, tick, (100 + 2 * tick) * kMib));
  records.emplace_back(CgroupSample{1, kStart + 20 * kNsPerSecond, 140 * kMib, 140 * kMib, 200 * kMib, 0});
  store(records);
  Database database = open();
  const LiveTable table = *read_live_table(database, 1, 10);
  ASSERT_EQ(table.processes.size(), 1U);
  const LiveProcess& process = table.processes[0];
  EXPECT_EQ(process.last.rss_bytes, Nullable(140 * kMib));
  ASSERT_TRUE(process.growth_bytes_per_s);
  EXPECT_NEAR(*process.growth_bytes_per_s, 2.0 * kMib, 1);
  EXPECT_EQ(process.room_bytes, Nullable(60 * kMib));
  EXPECT_EQ(process.room_of, "/jobs/small");
  EXPECT_NEAR(process.seconds_to_limit().value_or(0), 30, 0.01);
}

TEST_F(LiveTableTest, WhatStandsStillOrHasEndedNeverMeetsItsLimit) {
  HostSample host;
  host.time_ns = kStart;
  host.mem_available_bytes = kMib;
  std::vector<Record> records = {literal_process(1), literal_process(2), host};
  for (int64_t tick = 0; tick <= 20; ++tick) {
    records.emplace_back(literal_sample(1, tick, 100 * kMib));
    records.emplace_back(literal_sample(2, tick, (1 + tick) * kMib));
  }
  records.emplace_back(
      ProcessEnd{2, kStart + 21 * kNsPerSecond, EndReason::exited, 0, {}, {}, 21 * kMib, PeakSource::kernel});
  store(records);
  Database database = open();
  const LiveTable table = *read_live_table(database, 1, 10);
  ASSERT_EQ(table.processes.size(), 2U);
  EXPECT_EQ(table.processes[0].pid, 1001);  // the running one first
  EXPECT_FALSE(table.processes[0].seconds_to_limit());
  EXPECT_FALSE(table.processes[1].growth_bytes_per_s);
  EXPECT_EQ(table.running_count, 1);
}

TEST_F(LiveTableTest, AnUpdateHoldsWhatIsNewAndNothingElse) {
  store({literal_process(1), literal_process(2), literal_sample(1, 0, kMib), literal_sample(2, 0, kMib)});
  Database database = open();
  LiveCursor cursor;
  EXPECT_TRUE(read_live_update(database, 1, 10, cursor)->tail.processes.empty());
  store({literal_sample(1, 1, 3 * kMib), literal_sample(1, 2, 5 * kMib), literal_process(3),
         Event{kStart + 2 * kNsPerSecond, EventKind::mark, 0, R"({"text":"epoch"})"},
         Gap{kStart + kNsPerSecond, kStart + 2 * kNsPerSecond, GapKind::missed_ticks, 0, 1, ""}});
  const LiveUpdate update = *read_live_update(database, 1, 10, cursor);
  ASSERT_EQ(update.tail.processes.size(), 1U);
  const std::vector<TimelinePoint>& points = update.tail.processes[0].series.at(0).points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].mean, 3 * kMib);
  EXPECT_EQ(points[1].mean, 5 * kMib);
  ASSERT_EQ(update.tail.events.size(), 1U);
  EXPECT_EQ(update.tail.events[0].text, "epoch");
  EXPECT_EQ(update.tail.gaps.size(), 1U);
  const LiveUpdate nothing = *read_live_update(database, 1, 10, cursor);
  EXPECT_TRUE(nothing.tail.processes.empty() && nothing.tail.events.empty() && nothing.tail.gaps.empty());
}

TEST_F(LiveTableTest, SamplesOfATickThatComeWithALaterCommitAreNotLost) {
  store({literal_process(1), literal_process(2), literal_sample(1, 0, kMib), literal_sample(2, 0, kMib)});
  Database database = open();
  LiveCursor cursor;
  static_cast<void>(read_live_update(database, 1, 10, cursor));
  store({literal_sample(1, 1, 2 * kMib)});
  static_cast<void>(read_live_update(database, 1, 10, cursor));
  store({literal_sample(2, 1, 7 * kMib)});
  const LiveUpdate update = *read_live_update(database, 1, 10, cursor);
  ASSERT_EQ(update.tail.processes.size(), 1U);
  EXPECT_EQ(update.tail.processes[0].pid, 1002);
  EXPECT_EQ(update.tail.processes[0].series.at(0).points.at(0).mean, 7 * kMib);
}

TEST_F(LiveTableTest, AReaderThatWasAwayForLongIsToldToReadAnew) {
  store({literal_process(1), literal_sample(1, 0, kMib)});
  Database database = open();
  LiveCursor cursor;
  cursor.time_ns = kStart;
  store({literal_sample(1, 100'000, kMib)});
  EXPECT_TRUE(read_live_update(database, 1, 10, cursor)->is_too_much);
}

TEST_F(LiveTableTest, NoTransactionStaysOpen) {
  store({literal_process(1), literal_sample(1, 0, kMib)});
  Database database = open();
  LiveCursor cursor;
  static_cast<void>(read_live_update(database, 1, 10, cursor));
  static_cast<void>(read_live_update(database, 99, 10, cursor));
  EXPECT_FALSE(database.in_transaction());
}

}  // namespace
}  // namespace memlog::testing
