// SPDX-License-Identifier: Apache-2.0
#include "store/rollup.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kRssSql =
    "SELECT level, (begin_ns - 1780662896000000000) / 1000000000, span_ns / 1000000000, longest_step_ns / "
    "1000000000, rss_bytes_min, rss_bytes_range, rss_bytes_mean, rss_bytes_last "
    "FROM process_rollup ORDER BY level, begin_ns";

class RollupTest : public ::testing::Test {
 protected:
  RollupTest() {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, literal_run());
    if (!writer) {
      ADD_FAILURE() << writer.error().reason;
      return;
    }
    writer_ = *std::move(writer);
    write({literal_process(1)});
  }
  void write(const std::vector<Record>& records) const {
    const Status status = writer_->write(records);
    if (!status) ADD_FAILURE() << status.error().doing << ": " << status.error().reason;
  }
  // Samples of process 1 at `from`, ..., `to` - 1 seconds, each as large as its second.
  static std::vector<Record> ramp(int64_t from, int64_t to) {
    std::vector<Record> records;
    for (int64_t tick = from; tick < to; ++tick) records.emplace_back(literal_sample(1, tick, tick));
    return records;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  std::unique_ptr<RunWriter> writer_;
};

TEST_F(RollupTest, OnlyFullSpansAreStored) {
  write(ramp(0, 15));
  EXPECT_THAT(rows_of(path_, kRssSql), IsEmpty());
  write(ramp(15, 17));
  EXPECT_THAT(rows_of(path_, kRssSql), ElementsAre("1|0|15|1|0|15|7|15"));
}

TEST_F(RollupTest, FourSpansMakeOneOfTheNextLevelHoweverTheyWereBatched) {
  for (int64_t tick = 0; tick < 64; ++tick) write(ramp(tick, tick + 1));
  EXPECT_THAT(rows_of(path_, kRssSql),
              ElementsAre("1|0|15|1|0|15|7|15", "1|16|15|1|16|15|7|15", "1|32|15|1|32|15|7|15",
                          "1|48|15|1|48|15|7|15", "2|0|63|1|0|63|31|63"));
}

TEST_F(RollupTest, ASpikeAndAPauseInsideASpanAreKept) {
  std::vector<Record> records = ramp(0, 8);
  records.emplace_back(literal_sample(1, 100, 9000));
  for (int64_t tick = 101; tick < 108; ++tick) records.emplace_back(literal_sample(1, tick, 0));
  write(records);
  EXPECT_THAT(rows_of(path_, kRssSql), ElementsAre("1|0|107|93|0|9000|564|0"));
}

TEST_F(RollupTest, UnknownValuesAreLeftOutOfASpanAndASpanOfThemIsUnknown) {
  std::vector<Record> records;
  for (int64_t tick = 0; tick < 16; ++tick) {
    ProcessSample sample = literal_sample(1, tick, Nullable());
    if (tick < 2) sample.swap_bytes = 10 * (tick + 1);
    records.emplace_back(sample);
  }
  write(records);
  EXPECT_THAT(
      rows_of(path_,
              "SELECT rss_bytes_min, rss_bytes_range, rss_bytes_mean, rss_bytes_last, swap_bytes_min, "
              "swap_bytes_range, swap_bytes_mean, swap_bytes_last FROM process_rollup"),
      ElementsAre("NULL|NULL|NULL|NULL|10|10|5|10"));
}

TEST_F(RollupTest, AFailedWriteThatIsHandedInAgainCountsOnce) {
  write(ramp(0, 10));
  {
    Database other = *Database::open(path_, Database::Mode::write);
    ASSERT_TRUE(other
                    .execute("CREATE TRIGGER no_room BEFORE INSERT ON process_sample WHEN NEW.rss_bytes = 15 "
                             "BEGIN SELECT RAISE(ABORT, 'no room'); END")
                    .ok());
    EXPECT_FALSE(writer_->write(ramp(10, 20)).ok());
    ASSERT_TRUE(other.execute("DROP TRIGGER no_room").ok());
  }
  write(ramp(10, 20));
  EXPECT_THAT(rows_of(path_, kRssSql), ElementsAre("1|0|15|1|0|15|7|15"));
}

TEST_F(RollupTest, SamplesOutOfOrderLoseTheRollupsUntilTheRunEndsAndThenGetTrueOnes) {
  write(ramp(0, 16));
  write({literal_sample(1, 5, 700)});  // replaces what was stored for that instant
  write(ramp(16, 20));
  EXPECT_THAT(rows_of(path_, kRssSql), IsEmpty());
  ASSERT_TRUE(writer_->end({kStart + 20 * kNsPerSecond, "duration"}).ok());
  EXPECT_THAT(rows_of(path_, kRssSql), ElementsAre("1|0|15|1|0|700|50|15"));
}

TEST_F(RollupTest, TheHostAndEachCgroupHaveTheirOwn) {
  write({CgroupStart{1, "/box", 2}, CgroupStart{2, "/den", 2}});
  std::vector<Record> records;
  for (int64_t tick = 0; tick < 16; ++tick) {
    HostSample host;
    host.time_ns = kStart + tick;
    host.mem_available_bytes = 100 - tick;
    records.emplace_back(host);
    records.emplace_back(CgroupSample{1, kStart + tick, tick, {}, {}, {}});
    records.emplace_back(CgroupSample{2, kStart + tick, 2 * tick, {}, 64, {}});
  }
  write(records);
  EXPECT_THAT(rows_of(path_, "SELECT mem_available_bytes_min, mem_available_bytes_range FROM host_rollup"),
              ElementsAre("85|15"));
  EXPECT_THAT(
      rows_of(path_, "SELECT current_bytes_range, limit_bytes_min FROM cgroup_rollup ORDER BY cgroup_id"),
      ElementsAre("15|NULL", "30|64"));
}

TEST_F(RollupTest, ARecorderKilledInTheMiddleLeavesRowsThatAgreeWithTheSamples) {
  const std::string path = directory_ / "killed.db";
  const pid_t child = fork();
  if (child == 0) {
    auto writer = RunWriter::begin(path, literal_run());
    static_cast<void>((*writer)->write(std::vector<Record>{literal_process(1)}));
    for (int64_t tick = 0;; ++tick) static_cast<void>((*writer)->write(ramp(tick * 3, tick * 3 + 3)));
  }
  while (access(path.c_str(), F_OK) != 0 || std::filesystem::file_size(path) == 0) usleep(1000);
  usleep(200'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Database database = *Database::open(path, Database::Mode::write);
  const std::vector<std::string> counts = rows_of(
      database,
      "SELECT (SELECT count(*) FROM process_sample) / 16 - (SELECT count(*) FROM process_rollup WHERE level "
      "= 1), "
      "(SELECT count(*) FROM process_sample) / 64 - (SELECT count(*) FROM process_rollup WHERE level = 2)");
  EXPECT_THAT(counts, ElementsAre("0|0"));
  EXPECT_GT(database.integer("SELECT count(*) FROM process_rollup WHERE level = 1")->value_or(0), 0);
  EXPECT_THAT(
      rows_of(database,
              "SELECT count(*) FROM process_rollup AS r WHERE rss_bytes_min + rss_bytes_range <> (SELECT "
              "max(rss_bytes) FROM process_sample AS s WHERE s.process_id = r.process_id AND s.time_ns "
              "BETWEEN r.begin_ns AND r.begin_ns + r.span_ns)"),
      ElementsAre("0"));
}

}  // namespace
}  // namespace memlog::testing
