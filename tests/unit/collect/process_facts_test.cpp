// SPDX-License-Identifier: Apache-2.0
#include "collect/process_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "unit/collect/fake_tree.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::FakeTree;
using test::WorkloadProcess;

constexpr const char* kStat =
    "23745 () R 1 () R 23723 23745 23723 34816 23745 4194304 112 7 3 9 250 50 1 2 20 0 1 0 88328 3133440 393 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ParseStat, CutsTheNameAtTheLastParenthesis) {
  const Result<StatFields> fields = parse_stat(kStat);
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->comm, ") R 1 (");
  EXPECT_EQ(fields->state, 'R');
  EXPECT_EQ(fields->parent_pid, 23723);
}

TEST(ParseStat, TakesTheNumbersFromTheirPlaces) {
  const Result<StatFields> fields = parse_stat(kStat);
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->flags, 4194304);
  EXPECT_EQ(fields->minor_faults, 112);
  EXPECT_EQ(fields->major_faults, 3);
  EXPECT_EQ(fields->cpu_ticks, 300);
  EXPECT_EQ(fields->threads, 1);
  EXPECT_EQ(fields->start_ticks, 88328);
}

TEST(ParseStat, RefusesEveryCutAndStrangeText) {
  const std::string whole = kStat;
  const size_t start_ticks_end = whole.find(" 3133440");
  for (size_t length = 0; length + 5 <= start_ticks_end; ++length) {
    EXPECT_FALSE(parse_stat(whole.substr(0, length)).ok()) << length;
  }
  EXPECT_TRUE(parse_stat(whole.substr(0, start_ticks_end)).ok());
  for (const char* bad : {"", ")(", "1 (a)", "1 (a) ", "1 (a) R", "1 (a) R ", "1 (a) R x 2 3", ") R 1 2 3",
                          "1 (a) R 99999999999999999999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"}) {
    EXPECT_FALSE(parse_stat(bad).ok()) << bad;
  }
}

TEST(ParseMemoryCgroup, PrefersTheHierarchyOfTheMemoryController) {
  EXPECT_EQ(parse_memory_cgroup("9:name=systemd:/init\n5:cpu,memory:/job:1/a\n0::/unified\n"), "/job:1/a");
  EXPECT_EQ(parse_memory_cgroup("0::/user.slice/a b\n"), "/user.slice/a b");
  EXPECT_EQ(parse_memory_cgroup("4:name=memory:/no\n3:memory_x:/no\n0::/\n"), "/");
}

TEST(ParseMemoryCgroup, FindsNoneInOtherText) {
  for (const char* bad : {"", "\n", "0:", "0::", "4:memory", "4:memory:", "memory:/a", "5:cpu:/a\n"}) {
    EXPECT_EQ(parse_memory_cgroup(bad), std::nullopt) << bad;
  }
}

TEST(FullName, GivesBackWhatTheKernelCut) {
  constexpr const char* comm = "this_is_a_reall";
  EXPECT_EQ(full_name(comm, "/opt/this_is_a_really_long_worker_name", "x"),
            "this_is_a_really_long_worker_name");
  EXPECT_EQ(full_name(comm, "/usr/bin/python3", "./this_is_a_really_long_script"),
            "this_is_a_really_long_script");
  EXPECT_EQ(full_name("VLLM::EngineCor", "/usr/bin/python3", "VLLM::EngineCore"), "VLLM::EngineCore");
}

TEST(FullName, KeepsTheNameWhereNothingLongerFits) {
  EXPECT_EQ(full_name("worker", "/opt/worker-long", "worker-long"), "worker");
  EXPECT_EQ(full_name("this_is_a_reall", "/opt/other", "another"), "this_is_a_reall");
  EXPECT_EQ(full_name("this_is_a_reall", "/opt/this_is_a_reall", std::nullopt), "this_is_a_reall");
  EXPECT_EQ(full_name("this_is_a_reall", std::nullopt, std::nullopt), "this_is_a_reall");
  EXPECT_EQ(full_name("", "/", ""), "");
}

FakeTree& add_process(FakeTree& proc) {
  return proc.file("23745/stat", kStat)
      .file("23745/status", "Name:\tx\nUid:\t1000\t0\t0\t0\nNSpid:\t23745\t12\t3\n")
      .file("23745/cgroup", "0::/job\n");
}

TEST(ReadProcessFacts, ReadsAProcTreeOfLiterals) {
  FakeTree proc;
  add_process(proc)
      .link("23745/exe", "/opt/worker (deleted)")
      .file("23745/cmdline", std::string("a\0b c\0\0\0", 8));
  const Result<ProcessFacts> facts = read_process_facts(proc.root(), 23745);
  ASSERT_TRUE(facts.ok()) << facts.error().reason;
  EXPECT_EQ(facts->start_ticks, 88328);
  EXPECT_EQ(facts->parent_pid, 23723);
  EXPECT_EQ(facts->comm, ") R 1 (");
  EXPECT_EQ(facts->exe, "/opt/worker");
  EXPECT_EQ(facts->cmdline, "a b c");
  EXPECT_EQ(facts->argv0, "a");
  EXPECT_EQ(facts->memory_cgroup, "/job");
  EXPECT_EQ(facts->uid, Nullable(1000));
  EXPECT_EQ(facts->namespace_pid, Nullable(3));
  EXPECT_FALSE(facts->is_kernel_thread);
}

TEST(ReadProcessFacts, WhatCannotBeReadIsUnknown) {
  FakeTree proc;
  proc.file("23745/stat", kStat).file("23745/cmdline", "");
  const Result<ProcessFacts> facts = read_process_facts(proc.root(), 23745);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->exe, std::nullopt);
  EXPECT_EQ(facts->cmdline, std::nullopt);
  EXPECT_EQ(facts->argv0, std::nullopt);
  EXPECT_EQ(facts->memory_cgroup, std::nullopt);
  EXPECT_FALSE(facts->uid.has_value());
  EXPECT_FALSE(facts->namespace_pid.has_value());
}

TEST(ReadProcessFacts, NamesTheVanishedProcess) {
  WorkloadProcess ended({"exit=0"});
  ended.kill_and_reap();
  const Result<ProcessFacts> facts = read_process_facts("/proc", ended.pid());
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, ENOENT);
  EXPECT_THAT(facts.error().doing, testing::HasSubstr("/proc/" + std::to_string(ended.pid())));
}

TEST(ReadProcessFacts, KnowsARealProcessThatRenamedItselfToLookLikeAnother) {
  WorkloadProcess process({"name=) R 1 (", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  const Result<ProcessFacts> facts = read_process_facts("/proc", process.pid());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->comm, ") R 1 (");
  EXPECT_THAT(facts->state, testing::AnyOf('R', 'S'));
  EXPECT_EQ(facts->parent_pid, getpid());
  EXPECT_EQ(facts->exe, std::filesystem::canonical(MEMLOG_WORKLOAD).string());
  EXPECT_EQ(facts->cmdline, MEMLOG_WORKLOAD " name=) R 1 ( print=ready pause");
  EXPECT_EQ(facts->uid, Nullable(getuid()));
}

TEST(ReadProcessFacts, ALongNameIsKnownFromTheRunningFile) {
  FakeTree directory;
  const std::string program = directory.path("this_is_a_really_long_worker_name");
  std::filesystem::copy_file(MEMLOG_WORKLOAD, program);
  WorkloadProcess process({"print=ready", "pause"}, program);
  ASSERT_EQ(process.line(), "ready");
  std::filesystem::remove(program);  // deleted while it runs: the name stays
  const Result<ProcessFacts> facts = read_process_facts("/proc", process.pid());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->comm, "this_is_a_reall");
  EXPECT_EQ(facts->exe, program);
  EXPECT_EQ(full_name(facts->comm, facts->exe, std::nullopt), "this_is_a_really_long_worker_name");
}

TEST(ReadProcessFacts, AZombieHasNoArguments) {
  WorkloadProcess process({"exit=3"});
  process.await_zombie();
  const Result<ProcessFacts> facts = read_process_facts("/proc", process.pid());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->state, 'Z');
  EXPECT_EQ(facts->cmdline, std::nullopt);
  EXPECT_EQ(facts->exe, std::nullopt);
}

TEST(ReadProcessFacts, KnowsAKernelThread) {
  const Result<ProcessFacts> facts = read_process_facts("/proc", 2);
  if (!facts.ok() || facts->comm != "kthreadd") GTEST_SKIP() << "pid 2 is no kernel thread in this container";
  EXPECT_TRUE(facts->is_kernel_thread);
  EXPECT_EQ(facts->exe, std::nullopt);
  EXPECT_EQ(facts->cmdline, std::nullopt);
}

TEST(ReadProcessFacts, AnotherUsersExecutableIsUnknownAndTheRestIsThere) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  WorkloadProcess process({"print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  EXPECT_EQ(test::as_nobody([&] {
              const Result<ProcessFacts> facts = read_process_facts("/proc", process.pid());
              if (!facts.ok()) return 1;
              if (facts->exe.has_value()) return 2;
              return facts->comm == "workload" && facts->cmdline.has_value() ? 0 : 3;
            }),
            0);
}

TEST(ReadComm, KeepsEveryByteOfTheName) {
  WorkloadProcess process({"name=a\nb\n", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  const Result<std::string> comm = read_comm("/proc", process.pid());
  ASSERT_TRUE(comm.ok());
  EXPECT_EQ(*comm, "a\nb\n");
}

TEST(ReadComm, IsTheLeadersNotAThreads) {
  WorkloadProcess process({"name=rn", "thread-name=worker", "print=ready", "pause"});
  ASSERT_EQ(process.line(), "ready");
  EXPECT_EQ(*read_comm("/proc", process.pid()), "rn");
}

TEST(ListPids, AreThoseOfTheTreeInOrder) {
  FakeTree proc;
  proc.directory("20").directory("3").directory("self").directory("0").directory("-4").directory("7x");
  EXPECT_THAT(*list_pids(proc.root()), testing::ElementsAre(3, 20));
  EXPECT_FALSE(list_pids(proc.path("none")).ok());
  const Result<std::vector<pid_t>> real = list_pids("/proc");
  ASSERT_TRUE(real.ok());
  EXPECT_TRUE(std::binary_search(real->begin(), real->end(), getpid()));
}

}  // namespace
}  // namespace memlog
