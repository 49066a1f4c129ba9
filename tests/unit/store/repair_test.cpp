// SPDX-License-Identifier: Apache-2.0
#include "store/repair.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;

TEST(RecorderMayLive, IsTrueOfThisProcessAndOfNoOtherWithItsPid) {
  RecorderIdentity recorder = *this_process_identity();
  EXPECT_TRUE(recorder_may_live(recorder));
  ++recorder.start_ticks;
  EXPECT_FALSE(recorder_may_live(recorder));
}

TEST(RecorderMayLive, IsFalseAfterAnotherBoot) {
  RecorderIdentity recorder = *this_process_identity();
  recorder.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(recorder_may_live(recorder));
}

TEST(RecorderMayLive, CannotBeDeniedFromAnotherPidNamespace) {
  RecorderIdentity recorder = *this_process_identity();
  ++recorder.pid_namespace;
  recorder.start_ticks = 0;
  EXPECT_TRUE(recorder_may_live(recorder));
}

TEST(RecorderMayLive, IsFalseOfAZombie) {
  int identity[2];
  ASSERT_EQ(pipe(identity), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int64_t start_ticks = this_process_identity()->start_ticks;
    _exit(write(identity[1], &start_ticks, sizeof start_ticks) < 0 ? 1 : 0);
  }
  RecorderIdentity recorder = *this_process_identity();
  recorder.pid = child;
  ASSERT_EQ(read(identity[0], &recorder.start_ticks, sizeof recorder.start_ticks),
            static_cast<ssize_t>(sizeof recorder.start_ticks));
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(recorder_may_live(recorder));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(recorder_may_live(recorder));
  close(identity[0]);
  close(identity[1]);
}

class RepairTest : public ::testing::Test {
 protected:
  // A run whose recorder is gone, with a process that ended and one that did not.
  void record_dead_run() const {
    RunStart run = literal_run("dead");
    run.recorder_start_ticks = 1;
    const auto writer = RunWriter::begin(path_, run);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(std::vector<Record>{
        literal_process(1), literal_process(2), literal_sample(1, 0, 7), literal_sample(1, 4, 5),
        ProcessEnd{2, kStart + 1, EndReason::exited, 0, {}, {}, 3, PeakSource::kernel},
        Event{kStart + 5 * kNsPerSecond, EventKind::note, 0, "{}"}}));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

TEST_F(RepairTest, AReaderMarksTheRunOfADeadRecorderAsInterrupted) {
  record_dead_run();
  Result<Database> database = open_for_reading(path_);
  ASSERT_TRUE(database);
  EXPECT_THAT(rows_of(*database, "SELECT state, (ended_ns - started_ns) / 1000000000, end_reason FROM run"),
              ElementsAre("interrupted|5|NULL"));
  EXPECT_THAT(rows_of(*database,
                      "SELECT end_reason, ended_ns IS NULL, peak_rss_bytes, peak_source FROM process "
                      "ORDER BY id"),
              ElementsAre("unseen|1|7|sampled", "exited|0|3|kernel"));
}

TEST_F(RepairTest, TheNextRecorderDoesToo) {
  record_dead_run();
  const auto writer = RunWriter::begin(path_, literal_run("alive"));
  ASSERT_TRUE(writer);
  EXPECT_THAT(rows_of(path_, "SELECT label, state FROM run ORDER BY id"),
              ElementsAre("dead|interrupted", "alive|running"));
}

TEST_F(RepairTest, ALiveRunIsLeftAlone) {
  const auto writer = RunWriter::begin(path_, literal_run());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(open_for_reading(path_));
  EXPECT_THAT(rows_of(path_, "SELECT state, ended_ns FROM run"), ElementsAre("running|NULL"));
}

TEST_F(RepairTest, ARunThatEndedKeepsItsRunningProcesses) {
  {
    RunStart run = literal_run();
    run.recorder_start_ticks = 1;
    const auto writer = RunWriter::begin(path_, run);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(std::vector<Record>{literal_process(1)}));
    ASSERT_TRUE((*writer)->end({kStart, "SIGINT"}));
  }
  ASSERT_TRUE(open_for_reading(path_));
  EXPECT_THAT(rows_of(path_, "SELECT end_reason FROM process"), ElementsAre("running"));
}

}  // namespace
}  // namespace memlog::testing
