// SPDX-License-Identifier: Apache-2.0
#include "collect/cgroup_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/columns.h"
#include "unit/collect/fake_tree.h"
#include "unit/collect/memory_cgroup.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::FakeTree;
using test::MemoryCgroup;
using test::WorkloadProcess;

constexpr int64_t kMiB = int64_t{1024} * 1024;

CgroupSample stale_sample() {
  CgroupSample sample;
  sample.key = 3;
  sample.time_ns = 77;
  for (const auto& column : kCgroupColumns) sample.*column.field = 424242;
  return sample;
}

bool all_unknown(const CgroupSample& sample) {
  for (const auto& column : kCgroupColumns) {
    if ((sample.*column.field).has_value()) return false;
  }
  return true;
}

TEST(CgroupSamplerV2, ReadsEachFile) {
  FakeTree tree;
  tree.file("job/memory.current", "8192\n")
      .file("job/memory.peak", "12288\n")
      .file("job/memory.max", "1048576\n")
      .file("job/memory.events.local", "low 0\nhigh 0\nmax 5\noom 2\noom_kill 7\noom_group_kill 0\n");
  CgroupSampler sampler({tree.root(), "/", 2}, "/job");
  CgroupSample sample = stale_sample();
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sampler.path(), "/job");
  EXPECT_EQ(sample.key, 3U);
  EXPECT_EQ(sample.time_ns, 77);
  EXPECT_EQ(sample.current_bytes, Nullable(8192));
  EXPECT_EQ(sample.peak_bytes, Nullable(12288));
  EXPECT_EQ(sample.limit_bytes, Nullable(1048576));
  EXPECT_EQ(sample.oom_kill_count, Nullable(7));
}

TEST(CgroupSamplerV2, TheLimitIsTheTightestOfAllAncestors) {
  FakeTree tree;
  tree.file("memory.current", "1\n")
      .file("a/memory.max", "4096\n")
      .file("a/b/memory.max", "max\n")
      .file("a/b/c/memory.max", "8192\n")
      .file("a/b/c/memory.current", "1\n");
  CgroupSampler sampler({tree.root(), "/", 2}, "/a/b/c");
  CgroupSample sample;
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.limit_bytes, Nullable(4096));
  tree.file("a/memory.max", "max\n");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.limit_bytes, Nullable(8192));
  tree.file("a/b/c/memory.max", "max\n");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_FALSE(sample.limit_bytes.has_value());
}

TEST(CgroupSamplerV2, WhatAnOldKernelLacksIsUnknown) {
  FakeTree tree;
  tree.file("job/memory.current", "8192\n");
  CgroupSampler sampler({tree.root(), "/", 2}, "/job");
  CgroupSample sample = stale_sample();
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.current_bytes, Nullable(8192));
  EXPECT_FALSE(sample.peak_bytes.has_value());
  EXPECT_FALSE(sample.limit_bytes.has_value());
  EXPECT_FALSE(sample.oom_kill_count.has_value());
}

TEST(CgroupSamplerV2, TheRootHasNoFilesOfItsOwnAndIsNotGone) {
  FakeTree tree;
  CgroupSampler sampler({tree.root(), "/", 2}, "/");
  CgroupSample sample = stale_sample();
  EXPECT_TRUE(sampler.sample(sample));
  EXPECT_TRUE(all_unknown(sample));
}

TEST(CgroupSamplerV1, ReadsEachFile) {
  FakeTree tree;
  tree.file("job/memory.usage_in_bytes", "8192\n")
      .file("job/memory.max_usage_in_bytes", "12288\n")
      .file("job/memory.stat", "cache 5\nhierarchical_memory_limit 1048576\nhierarchical_memsw_limit 5\n")
      .file("job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  CgroupSampler sampler({tree.root(), "/", 1}, "/job");
  CgroupSample sample;
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.current_bytes, Nullable(8192));
  EXPECT_EQ(sample.peak_bytes, Nullable(12288));
  EXPECT_EQ(sample.limit_bytes, Nullable(1048576));
  EXPECT_EQ(sample.oom_kill_count, Nullable(7));
}

TEST(CgroupSamplerV1, TheHugeNumberThatStandsForNoLimitIsUnknown) {
  FakeTree tree;
  for (const char* none : {"9223372036854771712", "9223372036854710272", "18446744073709551615"}) {
    tree.file("memory.stat", std::string("hierarchical_memory_limit ") + none + "\n");
    CgroupSampler sampler({tree.root(), "/", 1}, "/");
    CgroupSample sample;
    ASSERT_TRUE(sampler.sample(sample));
    EXPECT_FALSE(sample.limit_bytes.has_value()) << none;
  }
}

TEST(CgroupSampler, ACgroupThatIsNotShownIsGone) {
  FakeTree tree;
  for (const char* path : {"/none", "/../x", "", "relative"}) {
    CgroupSampler sampler({tree.root(), "/", 2}, path);
    CgroupSample sample = stale_sample();
    EXPECT_FALSE(sampler.sample(sample)) << path;
    EXPECT_TRUE(all_unknown(sample)) << path;
  }
}

TEST(CgroupSampler, TextThatIsNoNumberIsUnknown) {
  FakeTree tree;
  tree.file("job/memory.current", "")
      .file("job/memory.peak", "-1\n")
      .file("job/memory.max", "99999999999999999999\n")
      .file("job/memory.events.local", "oom_kill\noom_kill x\n");
  CgroupSampler sampler({tree.root(), "/", 2}, "/job");
  CgroupSample sample = stale_sample();
  EXPECT_TRUE(sampler.sample(sample));
  EXPECT_TRUE(all_unknown(sample));
}

TEST(RealCgroup, ShowsUsePeakAndTheTightestLimit) {
  MEMLOG_NEEDS_CGROUP_V1();
  const CgroupMount& mount = *found_mount;
  MemoryCgroup outer(mount, "/memlog-unit-sample-" + std::to_string(getpid()));
  if (!outer.is_made()) GTEST_SKIP() << "cannot make a memory cgroup here";
  MemoryCgroup inner(mount, outer.path() + "/inner");
  ASSERT_TRUE(inner.is_made());
  CgroupSampler sampler(mount, inner.path());
  CgroupSample sample;
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_FALSE(sample.limit_bytes.has_value());
  EXPECT_EQ(sample.oom_kill_count, Nullable(0));

  outer.limit("64M");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.limit_bytes, Nullable(64 * kMiB));
  inner.limit("48M");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.limit_bytes, Nullable(48 * kMiB));

  WorkloadProcess process({"cgroup=" + inner.directory(), "grow=24M", "print=grown", "read-line", "free",
                           "print=freed", "pause"});
  ASSERT_EQ(process.line(), "grown");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_GE(sample.current_bytes.value(), 24 * kMiB);
  process.go_on();
  ASSERT_EQ(process.line(), "freed");
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_LT(sample.current_bytes.value(), 24 * kMiB);
  EXPECT_GE(sample.peak_bytes.value(), 24 * kMiB);
}

TEST(RealCgroup, CountsItsOomKills) {
  MEMLOG_NEEDS_CGROUP_V1();
  const CgroupMount& mount = *found_mount;
  MemoryCgroup cgroup(mount, "/memlog-unit-oom-" + std::to_string(getpid()));
  if (!cgroup.is_made()) GTEST_SKIP() << "cannot make a memory cgroup here";
  cgroup.limit("16M");
  CgroupSampler sampler(mount, cgroup.path());
  WorkloadProcess victim({"cgroup=" + cgroup.directory(), "grow=64M", "exit=0"});
  const int status = victim.reap();
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  CgroupSample sample;
  ASSERT_TRUE(sampler.sample(sample));
  EXPECT_EQ(sample.oom_kill_count, Nullable(1));
  EXPECT_EQ(sample.limit_bytes, Nullable(16 * kMiB));
}

TEST(RealCgroup, ARemovedCgroupIsGoneAlsoWhereItsPathIsTakenAgain) {
  MEMLOG_NEEDS_CGROUP_V1();
  const CgroupMount& mount = *found_mount;
  MemoryCgroup cgroup(mount, "/memlog-unit-gone-" + std::to_string(getpid()));
  if (!cgroup.is_made()) GTEST_SKIP() << "cannot make a memory cgroup here";
  CgroupSampler sampler(mount, cgroup.path());
  CgroupSample sample;
  ASSERT_TRUE(sampler.sample(sample));
  ASSERT_TRUE(cgroup.remove());
  const MemoryCgroup again(mount, cgroup.path());
  ASSERT_TRUE(again.is_made());
  sample = stale_sample();
  EXPECT_FALSE(sampler.sample(sample));
  EXPECT_TRUE(all_unknown(sample));
}

}  // namespace
}  // namespace memlog
