// SPDX-License-Identifier: Apache-2.0
// Real kills by the kernel's OOM killer, each inside a small memory cgroup.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "bpf/listener.h"

namespace memlog {
namespace {

using testing::SizeIs;

constexpr int64_t kMiB = int64_t{1024} * 1024;
constexpr int64_t kLimitBytes = 32 * kMiB;

#define MEMLOG_CGROUP_OR_SKIP(cgroup) \
  if (!(cgroup).ok()) GTEST_SKIP() << "no memory cgroup can be made here"

TEST(BpfOom, NamesTheVictimWithItsMemoryAndTheLimitThatWasHit) {
  Stage stage;
  Listener listener({.comms = {own("hog")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  MemoryCgroup cgroup("memlog_oom", kLimitBytes);
  MEMLOG_CGROUP_OR_SKIP(cgroup);
  Child child({stage.actor(own("hog")), "hog"}, cgroup.procs_file());
  EXPECT_EQ(child.wait(), SIGKILL);

  const auto marks = listener.of(child.pid(), KernelEventKind::oom_victim);
  ASSERT_THAT(marks, SizeIs(1));
  const OomFacts& oom = marks[0].facts.oom;
  EXPECT_EQ(marks[0].comm, own("hog"));
  EXPECT_EQ(marks[0].facts.cgroup_id, cgroup.inode());
  EXPECT_EQ(oom.victim_tid, child.pid());
  EXPECT_EQ(oom.trigger_pid, child.pid());
  EXPECT_EQ(marks[0].trigger_comm, own("hog"));
  EXPECT_GT(oom.anon_bytes.value_or(0), 20 * kMiB);
  EXPECT_LE(oom.anon_bytes.value_or(0), kLimitBytes);
  EXPECT_GT(oom.total_vm_bytes.value_or(0), oom.anon_bytes.value_or(0));
  EXPECT_GT(oom.file_bytes.value_or(0), 0);
  EXPECT_EQ(oom.shmem_bytes, Nullable(0));
  EXPECT_EQ(oom.swap_bytes, Nullable(0));
  EXPECT_GT(oom.page_table_bytes.value_or(0), 0);
  EXPECT_EQ(oom.oom_score_adj, Nullable(0));

  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_TRUE(exits[0].facts.exit.is_oom_victim);
  EXPECT_EQ(exits[0].facts.exit.wait_status, SIGKILL);
  EXPECT_GE(exits[0].facts.exit.peak_rss_bytes.value_or(0), oom.anon_bytes.value_or(0));
}

// Kernels without the cgroup-v1 code keep no lock to tell it by: the limit is then unknown, never another
// cgroup's.
TEST(BpfOom, FindsTheAncestorWhoseLimitWasHit) {
  Stage stage;
  Listener listener({.comms = {own("nested")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  MemoryCgroup limited("memlog_limited", kLimitBytes);
  MEMLOG_CGROUP_OR_SKIP(limited);
  MemoryCgroup roomy("memlog_roomy", 512 * kMiB, &limited);
  MEMLOG_CGROUP_OR_SKIP(roomy);
  Child child({stage.actor(own("nested")), "hog"}, roomy.procs_file());
  EXPECT_EQ(child.wait(), SIGKILL);

  const auto marks = listener.of(child.pid(), KernelEventKind::oom_victim);
  ASSERT_THAT(marks, SizeIs(1));
  const OomFacts& oom = marks[0].facts.oom;
  EXPECT_EQ(marks[0].facts.cgroup_id, roomy.inode());
  if (oom.limit_cgroup_id == 0) GTEST_SKIP() << "this kernel does not tell whose limit was hit";
  EXPECT_EQ(oom.limit_cgroup_id, limited.inode());
  EXPECT_EQ(oom.limit_bytes, Nullable(kLimitBytes));
  EXPECT_GT(oom.usage_bytes.value_or(0), kLimitBytes - kMiB);
  EXPECT_LE(oom.usage_bytes.value_or(0), kLimitBytes);
}

TEST(BpfOom, IsTheProcesssWhereTheVictimIsNotItsLeader) {
  Stage stage;
  Listener listener({.comms = {own("headless")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  MemoryCgroup cgroup("memlog_headless", kLimitBytes);
  MEMLOG_CGROUP_OR_SKIP(cgroup);
  Child child({stage.actor(own("headless")), "thread-hog"}, cgroup.procs_file());
  EXPECT_EQ(child.wait(), SIGKILL);

  const auto marks = listener.of(child.pid(), KernelEventKind::oom_victim);
  ASSERT_THAT(marks, SizeIs(1));
  EXPECT_NE(marks[0].facts.oom.victim_tid, child.pid());
  EXPECT_GT(marks[0].facts.oom.anon_bytes.value_or(0), 20 * kMiB);
  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_TRUE(exits[0].facts.exit.is_oom_victim);
}

TEST(BpfOom, OfAnUntrackedProcessIsSeen) {
  Stage stage;
  Listener listener(EventFilter{});
  MEMLOG_LISTENER_OR_SKIP(listener);
  MemoryCgroup cgroup("memlog_stranger", kLimitBytes);
  MEMLOG_CGROUP_OR_SKIP(cgroup);
  Child child({stage.actor(own("stranger")), "hog"}, cgroup.procs_file());
  child.wait();
  EXPECT_EQ(kinds(listener.of(child.pid())), "oom_victim");
}

TEST(BpfOom, IsNotAKillByHand) {
  Stage stage;
  Listener listener({.comms = {own("byhand")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("byhand")), "pause"});
  child.wait_until_sleeping();
  EXPECT_EQ(child.kill_and_wait(SIGKILL), SIGKILL);
  const auto events = listener.of(child.pid());
  ASSERT_EQ(kinds(events), "exec exit");
  EXPECT_FALSE(events[1].facts.exit.is_oom_victim);
}

}  // namespace
}  // namespace memlog
