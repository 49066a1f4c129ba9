// SPDX-License-Identifier: Apache-2.0
#include "collect/process_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/small_file.h"
#include "collect/process_facts.h"
#include "model/columns.h"
#include "unit/collect/fake_tree.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::FakeTree;
using test::WorkloadProcess;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr const char* kStatus =
    "Name:\tx\nVmHWM:\t 50000 kB\nVmRSS:\t 49072 kB\nRssAnon:\t 40000 kB\nRssFile:\t 9000 kB\nRssShmem:\t 72 "
    "kB\n"
    "VmData:\t 360 kB\nVmPTE:\t 48 kB\nVmSwap:\t 4 kB\nHugetlbPages:\t 2097152 kB\nThreads:\t3\n";
constexpr const char* kStat = "7 (x) S 1 7 7 0 -1 0 112 7 3 9 250 50 1 2 20 0 3 0 500 0 0\n";

std::string exec_workload(const char* step) { return std::string(step) + MEMLOG_WORKLOAD; }

// The columns that are set, by name.
std::vector<std::string> known_columns(const ProcessSample& sample) {
  std::vector<std::string> names;
  for (const auto& column : kProcessColumns) {
    if ((sample.*column.field).has_value()) names.emplace_back(column.name);
  }
  return names;
}

FakeTree& add_process(FakeTree& proc) {
  return proc.file("7/status", kStatus)
      .file("7/oom_score", "0\n")
      .file("7/oom_score_adj", "-1000\n")
      .file("7/stat", kStat)
      .file("7/task/7/stat", kStat);
}

// A sample whose every field is set, so that a test sees what was left untouched.
ProcessSample stale_sample() {
  ProcessSample sample;
  sample.key = 5;
  sample.time_ns = 77;
  for (const auto& column : kProcessColumns) sample.*column.field = 424242;
  return sample;
}

TEST(ProcessSampler, FillsEveryColumnFromItsFile) {
  FakeTree proc;
  add_process(proc);
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample = stale_sample();
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_EQ(sample.key, 5U);
  EXPECT_EQ(sample.time_ns, 77);
  EXPECT_EQ(sample.rss_bytes, Nullable(49072 * kKiB));
  EXPECT_EQ(sample.hugetlb_bytes, Nullable(2097152 * kKiB));
  EXPECT_EQ(sample.hwm_bytes, Nullable(50000 * kKiB));
  EXPECT_EQ(sample.page_table_bytes, Nullable(48 * kKiB));
  EXPECT_EQ(sample.threads, Nullable(3));
  EXPECT_EQ(sample.minor_faults, Nullable(112));
  EXPECT_EQ(sample.major_faults, Nullable(3));
  EXPECT_EQ(sample.cpu_ns, Nullable(300 * (kNsPerSecond / sysconf(_SC_CLK_TCK))));
  EXPECT_FALSE(sample.pss_bytes.has_value());
}

TEST(ProcessSampler, TheScoreAdjustmentKeepsItsSign) {
  FakeTree proc;
  add_process(proc);
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_EQ(sample.oom_score, Nullable(0));
  EXPECT_EQ(sample.oom_score_adj, Nullable(-1000));
}

TEST(ProcessSampler, BetweenTheReadsOfStatItsColumnsAreUnknown) {
  FakeTree proc;
  add_process(proc);
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  ASSERT_TRUE(sample.cpu_ns.has_value());
  ASSERT_EQ(sampler.sample(kNsPerSecond + 1, sample), SampleOutcome::sampled);
  EXPECT_FALSE(sample.cpu_ns.has_value());
  EXPECT_FALSE(sample.minor_faults.has_value());
  EXPECT_FALSE(sample.major_faults.has_value());
  EXPECT_TRUE(sample.rss_bytes.has_value());
  EXPECT_EQ(sampler.sample(kNsPerSecond * 1000, sample), SampleOutcome::sampled);
  EXPECT_TRUE(sample.cpu_ns.has_value());
}

TEST(ProcessSampler, PssIsReadOnlyWhereAskedForAndBacksOff) {
  FakeTree proc;
  add_process(proc).file("7/smaps_rollup",
                         "0-1 ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss:                5 kB\n");
  ProcessSampler sampler(proc.root(), 7, {.pss = true});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_EQ(sample.pss_bytes, Nullable(5 * kKiB));
  ASSERT_EQ(sampler.sample(kNsPerSecond + 1, sample), SampleOutcome::sampled);
  EXPECT_FALSE(sample.pss_bytes.has_value());
  ProcessSampler plain(proc.root(), 7, {});
  ASSERT_EQ(plain.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_FALSE(sample.pss_bytes.has_value());
}

TEST(ProcessSampler, AStatusLongerThanTheBufferIsReadWhole) {
  FakeTree proc;
  add_process(proc).file("7/status", "Groups:\t" + std::string(700000, '1') + "\n" + kStatus);
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_EQ(sample.rss_bytes, Nullable(49072 * kKiB));
}

TEST(ProcessSampler, AMissingFileLeavesItsColumnUnknown) {
  FakeTree proc;
  proc.file("7/status", "VmRSS:\t8 kB\nThreads:\t1\n");
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample = stale_sample();
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  EXPECT_THAT(known_columns(sample), testing::ElementsAre("rss_bytes", "threads"));
}

TEST(ProcessSampler, ADeniedProcessIsUnreadableAndAllUnknown) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  FakeTree proc;
  add_process(proc);
  std::filesystem::permissions(proc.path("7/status"), std::filesystem::perms::none);
  ASSERT_EQ(setfsuid(65534), 0);  // this thread loses root's way around permissions
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample = stale_sample();
  const SampleOutcome outcome = sampler.sample(kNsPerSecond, sample);
  setfsuid(0);
  EXPECT_EQ(outcome, SampleOutcome::unreadable);
  EXPECT_THAT(known_columns(sample), testing::IsEmpty());
}

TEST(ProcessSampler, AProcessThatIsDeniedOnceIsReadAgainLater) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  FakeTree proc;
  add_process(proc);
  std::filesystem::permissions(proc.path("7/status"), std::filesystem::perms::none);
  ASSERT_EQ(setfsuid(65534), 0);
  ProcessSampler sampler(proc.root(), 7, {});
  ProcessSample sample;
  const SampleOutcome denied = sampler.sample(kNsPerSecond, sample);
  setfsuid(0);
  EXPECT_EQ(denied, SampleOutcome::unreadable);
  EXPECT_EQ(sampler.sample(2 * kNsPerSecond, sample), SampleOutcome::sampled);
}

TEST(ProcessSampler, AnotherStartMeansAnotherProcess) {
  FakeTree proc;
  add_process(proc);
  ProcessSample sample;
  EXPECT_EQ(ProcessSampler(proc.root(), 7, {.start_ticks = 500}).sample(kNsPerSecond, sample),
            SampleOutcome::sampled);
  EXPECT_EQ(ProcessSampler(proc.root(), 7, {.start_ticks = 499}).sample(kNsPerSecond, sample),
            SampleOutcome::gone);
}

TEST(ProcessSampler, WithoutKeptFilesAReusedPidIsNotTaken) {
  FakeTree proc;
  add_process(proc);
  ProcessSampler sampler(proc.root(), 7, {.keep_files = false});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  proc.file("7/task/7/stat", "7 (x) S 1 7 7 0 -1 0 112 7 3 9 250 50 1 2 20 0 3 0 501 0 0\n");
  EXPECT_EQ(sampler.sample(2 * kNsPerSecond, sample), SampleOutcome::gone);
  EXPECT_THAT(known_columns(sample), testing::IsEmpty());
}

class ProcessSamplerOnReal : public testing::TestWithParam<bool> {
 protected:
  ProcessSampler sampler_for(pid_t pid) { return ProcessSampler("/proc", pid, {.keep_files = GetParam()}); }
  ProcessSample sample_;
};
INSTANTIATE_TEST_SUITE_P(KeptAndNot, ProcessSamplerOnReal, testing::Bool());

TEST_P(ProcessSamplerOnReal, SeesMemoryComeAndGo) {
  WorkloadProcess process(
      {"print=small", "read-line", "grow=48M", "print=grown", "read-line", "free", "print=freed", "pause"});
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(process.line(), "small");
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  const int64_t small_bytes = sample_.anon_bytes.value();
  process.go_on();
  ASSERT_EQ(process.line(), "grown");
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_GE(sample_.anon_bytes.value(), small_bytes + 48 * kMiB);
  EXPECT_LT(sample_.anon_bytes.value(), small_bytes + 56 * kMiB);
  process.go_on();
  ASSERT_EQ(process.line(), "freed");
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_LT(sample_.anon_bytes.value(), small_bytes + 8 * kMiB);
  EXPECT_GE(sample_.hwm_bytes.value(), small_bytes + 48 * kMiB);
}

TEST_P(ProcessSamplerOnReal, RssIsTheSumOfItsKinds) {
  WorkloadProcess process({"grow=8M", "shmem=16M", "threads=2", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_EQ(sample_.rss_bytes, sample_.anon_bytes + sample_.file_bytes + sample_.shmem_bytes);
  EXPECT_GE(sample_.shmem_bytes.value(), 16 * kMiB);
  EXPECT_GE(sample_.anon_bytes.value(), 8 * kMiB);
  EXPECT_EQ(sample_.threads, Nullable(3));
  EXPECT_EQ(sample_.hugetlb_bytes, Nullable(0));
}

TEST_P(ProcessSamplerOnReal, CountsCpuTimeAndFaults) {
  WorkloadProcess process({"spin=100ms", "grow=16M", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_GE(sample_.cpu_ns.value(), 80 * kNsPerMs);
  EXPECT_GT(sample_.minor_faults.value(), 0);
}

TEST_P(ProcessSamplerOnReal, AZombieHasNoMemoryAndIsGoneOnceReaped) {
  WorkloadProcess process({"grow=4M", "read-line", "exit=3"});
  ProcessSampler sampler = sampler_for(process.pid());
  process.go_on();
  process.await_zombie();
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::no_memory);
  EXPECT_THAT(known_columns(sample_),
              testing::ElementsAre("oom_score", "oom_score_adj", "minor_faults", "major_faults", "cpu_ns"));
  process.reap();
  sample_ = stale_sample();
  EXPECT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::gone);
  EXPECT_THAT(known_columns(sample_), testing::IsEmpty());
}

TEST_P(ProcessSamplerOnReal, AProcessKilledBetweenOpenAndReadIsGoneAndItsNeighbourIsNot) {
  WorkloadProcess victim({"pause"});
  WorkloadProcess neighbour({"pause"});
  ProcessSampler of_victim = sampler_for(victim.pid());
  ProcessSampler of_neighbour = sampler_for(neighbour.pid());
  victim.kill_and_reap();
  EXPECT_EQ(of_victim.sample(boot_now_ns(), sample_), SampleOutcome::gone);
  EXPECT_EQ(of_neighbour.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_EQ(of_victim.sample(boot_now_ns(), sample_), SampleOutcome::gone);
}

TEST_P(ProcessSamplerOnReal, APidThatIsNotThereIsGone) {
  WorkloadProcess ended({"exit=0"});
  ended.kill_and_reap();
  ProcessSampler sampler = sampler_for(ended.pid());
  EXPECT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::gone);
}

TEST_P(ProcessSamplerOnReal, ADeadLeaderIsReadThroughALiveThread) {
  WorkloadProcess process({"grow=32M", "threads=1", "leader-exit", "print=ready", "read-line", "end-threads",
                           "print=alone", "pause"});
  ASSERT_EQ(process.line(), "ready");
  const std::string status = "/proc/" + std::to_string(process.pid()) + "/status";
  ASSERT_TRUE(
      test::eventually([&] { return read_small_file(status)->find("State:\tZ") != std::string::npos; }));
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_GE(sample_.rss_bytes.value(), 32 * kMiB);
  EXPECT_EQ(sample_.threads, Nullable(3));
  EXPECT_TRUE(sample_.cpu_ns.has_value());
  EXPECT_GT(sample_.oom_score.value(), 0);
  // Whichever thread it was read through: one of the two ends, and the other one must do.
  process.go_on();
  ASSERT_EQ(process.line(), "alone");
  ASSERT_TRUE(test::eventually([&] {
    return sampler.sample(boot_now_ns(), sample_) == SampleOutcome::sampled && sample_.threads == Nullable(2);
  }));
  EXPECT_GE(sample_.rss_bytes.value(), 32 * kMiB);
  process.kill_and_reap();
  EXPECT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::gone);
}

TEST_P(ProcessSamplerOnReal, ALeaderThatComesBackByExecIsReadAgain) {
  WorkloadProcess process({"grow=32M", "leader-exit", "print=ready", "read-line", exec_workload("exec="),
                           "grow=8M", "print=new-image", "pause"});
  ASSERT_EQ(process.line(), "ready");
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  process.go_on();
  ASSERT_EQ(process.line(), "new-image");
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_GE(sample_.rss_bytes.value(), 8 * kMiB);
  EXPECT_LT(sample_.rss_bytes.value(), 32 * kMiB);
  EXPECT_EQ(sample_.threads, Nullable(1));
}

TEST_P(ProcessSamplerOnReal, AnExecKeepsTheProcess) {
  WorkloadProcess process({"threads=1", "print=ready", "read-line", exec_workload("exec-thread="), "grow=8M",
                           "print=new-image", "pause"});
  ASSERT_EQ(process.line(), "ready");
  ProcessSampler sampler = sampler_for(process.pid());
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_EQ(sample_.threads, Nullable(2));
  process.go_on();
  ASSERT_EQ(process.line(), "new-image");
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::sampled);
  EXPECT_GE(sample_.rss_bytes.value(), 8 * kMiB);
  EXPECT_EQ(sample_.threads, Nullable(1));
}

TEST_P(ProcessSamplerOnReal, AKernelThreadHasNoMemory) {
  const Result<std::string> comm = read_comm("/proc", 2);
  if (!comm.ok() || *comm != "kthreadd") GTEST_SKIP() << "pid 2 is no kernel thread in this container";
  ProcessSampler sampler = sampler_for(2);
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample_), SampleOutcome::no_memory);
  EXPECT_FALSE(sample_.rss_bytes.has_value());
  EXPECT_FALSE(sample_.hwm_bytes.has_value());
  EXPECT_TRUE(sample_.oom_score_adj.has_value());
}

TEST(ProcessSampler, PssOfARealProcessSplitsWhatItShares) {
  WorkloadProcess process({"grow=8M", "shmem=32M", "fork=1", "print=child", "pause", "end", "pause"});
  ASSERT_EQ(process.line(), "child");
  ProcessSampler sampler("/proc", process.pid(), {.pss = true});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(boot_now_ns(), sample), SampleOutcome::sampled);
  EXPECT_GT(sample.pss_bytes.value(), 8 * kMiB / 2);
  EXPECT_LE(sample.pss_bytes.value(), sample.rss_bytes.value());
}

TEST(ProcessSampler, PssFollowsTheProcessThroughAnExec) {
  WorkloadProcess process(
      {"print=ready", "read-line", exec_workload("exec="), "grow=8M", "print=new-image", "pause"});
  ASSERT_EQ(process.line(), "ready");
  ProcessSampler sampler("/proc", process.pid(), {.pss = true});
  ProcessSample sample;
  ASSERT_EQ(sampler.sample(kNsPerSecond, sample), SampleOutcome::sampled);
  process.go_on();
  ASSERT_EQ(process.line(), "new-image");
  ASSERT_EQ(sampler.sample(kNsPerSecond * 1000, sample), SampleOutcome::sampled);
  EXPECT_GE(sample.pss_bytes.value(), 8 * kMiB);
}

TEST(ProcessSampler, PssThatIsDeniedIsUnknownAndTheRestIsSampled) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  WorkloadProcess process({"print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  EXPECT_EQ(test::as_nobody([&] {
              ProcessSampler sampler("/proc", process.pid(), {.pss = true});
              ProcessSample sample;
              if (sampler.sample(boot_now_ns(), sample) != SampleOutcome::sampled) return 1;
              if (sample.pss_bytes.has_value()) return 2;
              return sample.rss_bytes.has_value() && sample.oom_score.has_value() ? 0 : 3;
            }),
            0);
}

TEST(ProcessSampler, NoSmapsFileIsOpenedUnlessAskedFor) {
  WorkloadProcess process({"leader-exit", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  // A process of which every smaps file is a trap: the tree holds links to the real files and a pipe in place
  // of smaps, at which an open for reading would wait for ever.
  FakeTree proc;
  const std::string pid = std::to_string(process.pid());
  proc.directory(pid);
  for (const char* name : {"status", "stat", "oom_score", "oom_score_adj", "task"}) {
    proc.link(pid + "/" + name, "/proc/" + pid + "/" + name);
  }
  for (const char* trap : {"smaps", "smaps_rollup", "maps", "numa_maps"}) {
    ASSERT_EQ(mkfifo(proc.path(pid + "/" + trap).c_str(), 0600), 0);
  }
  ProcessSampler sampler(proc.root(), process.pid(), {});
  ProcessSample sample;
  ASSERT_TRUE(
      test::eventually([&] { return sampler.sample(boot_now_ns(), sample) == SampleOutcome::sampled; }));
  EXPECT_FALSE(sample.pss_bytes.has_value());
}

TEST(ProcessSampler, ASamplerUsesNoMoreDescriptorsThanItSays) {
  WorkloadProcess process({"print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  ProcessSampler kept("/proc", process.pid(), {.pss = true});
  ProcessSampler not_kept("/proc", process.pid(), {.keep_files = false});
  ProcessSample sample;
  ASSERT_EQ(kept.sample(boot_now_ns(), sample), SampleOutcome::sampled);
  ASSERT_EQ(not_kept.sample(boot_now_ns(), sample), SampleOutcome::sampled);
  EXPECT_EQ(open_files() - before, ProcessSampler::kKeptFiles);
}

}  // namespace
}  // namespace memlog
