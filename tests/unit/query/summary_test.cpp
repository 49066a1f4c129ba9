// SPDX-License-Identifier: Apache-2.0
#include "query/summary.h"

#include <gmock/gmock.h>

#include "support/literal_story.h"

namespace memlog::testing {
namespace {

class SummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int64_t run_id = record_story(path_);
    Result<Database> database = Database::open(path_, Database::Mode::read);
    ASSERT_TRUE(database);
    Result<RunSummary> summary = run_summary(*database, run_id);
    ASSERT_TRUE(summary) << summary.error().reason;
    summary_ = *std::move(summary);
    EXPECT_FALSE(database->in_transaction());
  }
  const ProcessSummary& process(const std::string& name) const {
    for (const ProcessSummary& candidate : summary_.processes) {
      if (candidate.name == name) return candidate;
    }
    ADD_FAILURE() << "no process " << name;
    return summary_.processes.front();
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  RunSummary summary_;
};

TEST_F(SummaryTest, AProcessHasItsLastKnownValuesPeakAndEnd) {
  const ProcessSummary& main = process("train.py");
  EXPECT_EQ(main.last.rss_bytes, Nullable(180 * kMib));
  EXPECT_EQ(main.last.oom_score, Nullable(602));
  EXPECT_EQ(main.last.oom_score_adj, Nullable());
  EXPECT_EQ(main.peak_rss_bytes, Nullable(190 * kMib));
  EXPECT_EQ(main.peak_source, PeakSource::kernel);
  EXPECT_EQ(main.end_reason, EndReason::exited);
  EXPECT_EQ(main.exit_status, Nullable(3));
  EXPECT_EQ(main.duration_ns(), Nullable(7 * kNsPerSecond));  // from its start, not from its first sight
  EXPECT_EQ(process("eater").parent_process_id, Nullable(main.id));
}

TEST_F(SummaryTest, AProcessWithoutSamplesHasNoLastValuesRatherThanZeros) {
  EXPECT_EQ(process("cc1plus").last.rss_bytes, Nullable());
  EXPECT_EQ(process("cc1plus").sample_count, 0);
}

TEST_F(SummaryTest, AnOomKillIsThereWithItsLimit) {
  ASSERT_EQ(summary_.oom_kills.size(), 1U);
  const OomKillSummary& kill = summary_.oom_kills.front();
  EXPECT_EQ(kill.process_id, Nullable(process("eater").id));
  EXPECT_EQ(kill.limit_cgroup, "/jobs/small");
  EXPECT_EQ(kill.limit_bytes, Nullable(32 * kMib));
  EXPECT_EQ(kill.rss_bytes(), Nullable(31 * kMib));
}

TEST_F(SummaryTest, ACgroupHasItsPeakLimitAndKillsDuringTheRun) {
  ASSERT_EQ(summary_.cgroups.size(), 1U);
  const CgroupSummary& cgroup = summary_.cgroups.front();
  EXPECT_EQ(cgroup.peak_bytes, Nullable(32 * kMib));
  EXPECT_EQ(cgroup.current_bytes, Nullable(31 * kMib));
  EXPECT_EQ(cgroup.limit_bytes, Nullable(32 * kMib));
  EXPECT_EQ(cgroup.oom_kill_count, Nullable(1));
}

TEST_F(SummaryTest, GapsAreSummedByKind) {
  ASSERT_EQ(summary_.gaps.size(), 2U);
  EXPECT_EQ(summary_.gaps[0].kind, "missed_ticks");
  EXPECT_EQ(summary_.gaps[0].total_ns, kNsPerSecond);
  EXPECT_EQ(summary_.gaps[0].lost_count, Nullable(1));
  EXPECT_EQ(summary_.gaps[1].kind, "unreadable");
  EXPECT_EQ(summary_.gaps[1].lost_count, Nullable());
}

TEST_F(SummaryTest, WhatOverlapsCountsOnce) {
  Result<Database> database = Database::open(path_, Database::Mode::write);
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->execute(
      "INSERT INTO gap (run_id, started_ns, ended_ns, kind) SELECT min(id), 10, 14, 'storage' FROM run UNION "
      "ALL "
      "SELECT min(id), 11, 12, 'storage' FROM run UNION ALL SELECT min(id), 13, 16, 'storage' FROM run"));
  const Result<RunSummary> summary = run_summary(*database, summary_.run.id);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->gaps[1].kind, "storage");
  EXPECT_EQ(summary->gaps[1].total_ns, 6);
  EXPECT_EQ(summary->gaps[1].longest_ns, 4);
  EXPECT_EQ(summary->gaps[1].span_count, 3);
}

TEST_F(SummaryTest, TheHostsWorstMomentsAreThere) {
  EXPECT_EQ(summary_.host.least_available_bytes, Nullable(512 * kMib));
  EXPECT_EQ(summary_.host.least_available_at_ns, Nullable(kStart + 2 * kNsPerSecond));
  EXPECT_EQ(summary_.host.most_swap_used_bytes, Nullable(124 * kMib));
  EXPECT_EQ(summary_.host.psi_some_ns, Nullable(1500 * kNsPerMs));
}

TEST_F(SummaryTest, NotesAndMarksAreInTheOrderOfTime) {
  ASSERT_EQ(summary_.notes.size(), 2U);
  EXPECT_EQ(summary_.notes[0].text, "the clock stepped by -1 h");
  EXPECT_EQ(summary_.notes[1].kind, "mark");
}

TEST(Summary, OfARunWithoutAnythingIsEmptyAndUnknown) {
  const TemporaryDirectory directory;
  const auto writer = RunWriter::begin(directory / "memlog.db", literal_run());
  ASSERT_TRUE(writer);
  Result<Database> database = Database::open(directory / "memlog.db", Database::Mode::read);
  ASSERT_TRUE(database);
  const Result<RunSummary> summary = run_summary(*database, (*writer)->run_id());
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->processes.empty());
  EXPECT_EQ(summary->host.mem_total_bytes, Nullable());
  EXPECT_EQ(summary->run.peak_rss_bytes, Nullable());
}

}  // namespace
}  // namespace memlog::testing
