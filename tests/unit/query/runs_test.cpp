// SPDX-License-Identifier: Apache-2.0
#include "query/runs.h"

#include <gmock/gmock.h>

#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using ::testing::HasSubstr;

class RunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    record_story(path_, "nightly");
    record_story(path_, "weekly");
    record_story(path_, "nightly");
    record_story(path_, "2");
  }
  Database open() const {
    Result<Database> database = Database::open(path_, Database::Mode::read);
    if (!database) ADD_FAILURE() << database.error().reason;
    return *std::move(database);
  }
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

TEST_F(RunsTest, AreListedNewestFirstUpToTheLimit) {
  Database database = open();
  const Result<std::vector<memlog::Run>> two = list_runs(database, 2);
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ(two->at(0).id, 4);
  EXPECT_EQ(two->at(1).id, 3);
  EXPECT_EQ(list_runs(database, 0)->size(), 4U);
  EXPECT_FALSE(database.in_transaction());
}

TEST_F(RunsTest, CarryTheirFactsAndCounts) {
  Database database = open();
  const Result<memlog::Run> run = get_run(database, 1);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->label, "nightly");
  EXPECT_EQ(run->target, "name worker");
  EXPECT_EQ(run->state, RunState::ended);
  EXPECT_EQ(run->end_reason, "the last process ended");
  EXPECT_EQ(run->duration_ns(), 5 * kNsPerSecond);
  EXPECT_EQ(run->peak_rss_bytes, Nullable(190 * kMib));
  EXPECT_EQ(run->process_count, 5);
  EXPECT_EQ(run->oom_kill_count, 1);
  EXPECT_EQ(run->gap_count, 2);
}

TEST_F(RunsTest, AreFoundByIdLabelAndLast) {
  Database database = open();
  EXPECT_EQ(*find_run(database, "1"), 1);
  EXPECT_EQ(*find_run(database, "weekly"), 2);
  EXPECT_EQ(*find_run(database, "nightly"), 3);  // the newest of that label
  EXPECT_EQ(*find_run(database, "last"), 4);
  EXPECT_EQ(*find_run(database, "2"), 4);  // a label wins over an id
}

TEST_F(RunsTest, ARunThatIsNotThereIsAnErrorThatNamesWhatIs) {
  Database database = open();
  EXPECT_THAT(find_run(database, "nightl").error().hint, HasSubstr("nightly"));
  EXPECT_THAT(find_run(database, "weakly").error().hint, HasSubstr("weekly"));
  EXPECT_THAT(find_run(database, "99").error().hint, HasSubstr("1 to 4"));
  for (const char* bad : {"", "0", "-1", "1 OR 1", "9999999999999999999999", "%", "'; DROP TABLE run"}) {
    EXPECT_FALSE(find_run(database, bad).ok()) << bad;
  }
}

TEST_F(RunsTest, AReaderWhoMayNotWriteSeesADeadRecordersRunAsInterrupted) {
  RunStart dead = literal_run("dead");
  dead.recorder_start_ticks = 1;
  const auto writer = RunWriter::begin(path_, dead);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->write(std::vector<Record>{literal_process(1), literal_sample(1, 3, 1)}));
  Database database = open();
  const Result<memlog::Run> run = get_run(database, (*writer)->run_id());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->state, RunState::interrupted);
  EXPECT_EQ(run->ended_ns, Nullable(kStart + 3 * kNsPerSecond));
}

TEST_F(RunsTest, ARunningRunHasNoEndAndLastsUntilItsLatestRecord) {
  const auto writer = RunWriter::begin(path_, literal_run("live"));
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->write(std::vector<Record>{literal_process(1), literal_sample(1, 3, 1)}));
  Database database = open();
  const Result<memlog::Run> run = get_run(database, (*writer)->run_id());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->state, RunState::running);
  EXPECT_FALSE(run->ended_ns.has_value());
  EXPECT_EQ(run->duration_ns(), 3 * kNsPerSecond);
}

}  // namespace
}  // namespace memlog::testing
