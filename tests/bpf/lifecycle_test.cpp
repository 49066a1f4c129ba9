// SPDX-License-Identifier: Apache-2.0
// exec, fork, rename and exit of real processes, through the real kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/clock.h"
#include "bpf/listener.h"

namespace memlog {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr int64_t kMiB = int64_t{1024} * 1024;

TEST(BpfExec, BringsFileNameArgumentsAndIdentity) {
  Stage stage;
  Listener listener({.comms = {own("exec")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  const std::string path = stage.actor(own("exec"));
  const int64_t before_ns = boot_now_ns();
  Child child({path, "rename", "two words", "exit", "0"});
  child.wait();

  const auto execs = listener.of(child.pid(), KernelEventKind::exec);
  ASSERT_THAT(execs, SizeIs(1));
  const SeenEvent& exec = execs[0];
  EXPECT_EQ(exec.comm, own("exec"));
  EXPECT_EQ(exec.exe, path);
  EXPECT_THAT(exec.arguments, ElementsAre(path, "rename", "two words", "exit", "0"));
  EXPECT_EQ(exec.facts.parent_pid, getpid());
  EXPECT_EQ(exec.facts.uid, getuid());
  EXPECT_GE(exec.facts.boot_ns, before_ns);
  EXPECT_LE(exec.facts.boot_ns, boot_now_ns());
  EXPECT_GE(exec.facts.start_boot_ns, before_ns);
  EXPECT_LE(exec.facts.start_boot_ns, exec.facts.boot_ns);
}

TEST(BpfExec, CutsWhatIsTooLong) {
  Stage stage;
  Listener listener({.comms = {own("long")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  const std::string path = stage.actor(own("long"));
  Child child({path, "exit", "0", std::string(2000, 'x')});
  child.wait();

  const auto execs = listener.of(child.pid(), KernelEventKind::exec);
  ASSERT_THAT(execs, SizeIs(1));
  ASSERT_THAT(execs[0].arguments, SizeIs(4));
  EXPECT_EQ(execs[0].arguments[3], std::string(512 - path.size() - 1 - 5 - 2, 'x'));
}

TEST(BpfExec, OfAnotherNameIsNotSeen) {
  Stage stage;
  Listener listener({.comms = {own("wanted")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("unwanted")), "exit", "0"});
  child.wait();
  EXPECT_THAT(listener.all(), SizeIs(0));
}

TEST(BpfExec, OfALongNameMatchesByItsFirst15Bytes) {
  Stage stage;
  Listener listener({.comms = {own("long-worker-name")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("long-worker-name")), "exit", "0"});
  child.wait();
  ASSERT_EQ(kinds(listener.of(child.pid())), "exec exit");
  EXPECT_EQ(listener.all()[0].comm, own("long-worker-name").substr(0, 15));
}

TEST(BpfExec, FromAnotherThreadKeepsTheProcess) {
  Stage stage;
  Listener listener({.comms = {own("threads")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("threads")), "thread-exec", stage.actor(own("second")), "exit", "7"});
  child.wait();

  const auto events = listener.of(child.pid());
  ASSERT_EQ(kinds(events), "exec exec exit");
  EXPECT_EQ(events[1].comm, own("second"));
  EXPECT_EQ(events[1].facts.start_boot_ns, events[0].facts.start_boot_ns);
  EXPECT_EQ(WEXITSTATUS(events[2].facts.exit.wait_status), 7);
}

TEST(BpfFork, OfAMatchingNameIsSeenWithoutAnExec) {
  Stage stage;
  Listener listener({.comms = {own("forks")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("forks")), "fork", "2"});
  child.wait();

  EXPECT_EQ(listener.count(KernelEventKind::fork), 2U);
  for (const SeenEvent& event : listener.all()) {
    if (event.facts.kind != KernelEventKind::fork) continue;
    EXPECT_EQ(event.facts.parent_pid, child.pid());
    EXPECT_EQ(event.comm, own("forks"));
    EXPECT_EQ(kinds(listener.of(event.facts.pid)), "fork exit");
  }
}

TEST(BpfFork, OfAThreadIsNotAProcess) {
  Stage stage;
  Listener listener({.comms = {own("one")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("one")), "thread-rename", own("one")});
  child.wait();
  EXPECT_EQ(kinds(listener.all()), "exec exit");
}

TEST(BpfFork, OfATrackedParentIsFollowedOnlyWhereAsked) {
  Stage stage;
  const std::string parent = stage.actor(own("parent"));
  const std::string other = stage.actor(own("other"));
  for (const bool follow : {false, true}) {
    Listener listener({.comms = {own("parent")}, .follow_children = follow});
    MEMLOG_LISTENER_OR_SKIP(listener);
    // The second child has the parent's name no more when it forks in its turn.
    Child child({parent, "rename", own("renamed"), "child", other, "child", other, "exit", "3"});
    child.wait();
    EXPECT_EQ(listener.count(KernelEventKind::fork), follow ? 2U : 0U);
    EXPECT_EQ(listener.count(KernelEventKind::exit), follow ? 3U : 1U);
  }
}

TEST(BpfRename, ToAMatchingNameBeginsTracking) {
  Stage stage;
  Listener listener({.comms = {own("gunicorn: master [app]")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("before")), "rename", own("gunicorn: master [app]"), "exit", "0"});
  child.wait();
  const auto events = listener.of(child.pid());
  ASSERT_EQ(kinds(events), "rename exit");
  EXPECT_EQ(events[0].comm, own("gunicorn: master [app]").substr(0, 15));
}

TEST(BpfRename, OfATrackedProcessIsSeenWhateverTheNewName) {
  Stage stage;
  Listener listener({.comms = {own("old")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("old")), "rename", own("new"), "exit", "0"});
  child.wait();
  const auto events = listener.of(child.pid());
  ASSERT_EQ(kinds(events), "exec rename exit");
  EXPECT_EQ(events[1].comm, own("new"));
  EXPECT_EQ(events[2].comm, own("new"));
}

TEST(BpfRename, OfAThreadIsNotTheProcesss) {
  Stage stage;
  Listener listener({.comms = {own("worker")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("rn")), "thread-rename", own("worker")});
  child.wait();
  EXPECT_THAT(listener.all(), SizeIs(0));
}

TEST(BpfExit, ComesOnlyWithTheLastThread) {
  Stage stage;
  Listener listener({.comms = {own("leader")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("leader")), "leader-exits", "5"});
  child.wait();
  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_EQ(WEXITSTATUS(exits[0].facts.exit.wait_status), 5);
  EXPECT_GE(exits[0].facts.boot_ns - exits[0].facts.start_boot_ns, 50 * kNsPerMs);
  EXPECT_TRUE(exits[0].facts.exit.peak_rss_bytes.has_value());
}

TEST(BpfExit, IsSeenOnceByTheOlderFormOfTheTracepoint) {
  Stage stage;
  const Result<TracepointForms> forms = read_tracepoint_forms();
  if (!forms.ok()) GTEST_SKIP() << forms.error().reason;
  TracepointForms older = *forms;
  older.exit_has_group_dead = false;
  Listener listener({.comms = {own("older")}}, {.forms = older});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child leader_first({stage.actor(own("older")), "leader-exits", "5"});
  Child plain({stage.actor(own("older")), "thread-rename", "x", "exit", "6"});
  leader_first.wait();
  plain.wait();
  for (const auto& [pid, status] : {std::pair(leader_first.pid(), 5), std::pair(plain.pid(), 6)}) {
    const auto exits = listener.of(pid, KernelEventKind::exit);
    ASSERT_THAT(exits, SizeIs(1));
    EXPECT_EQ(WEXITSTATUS(exits[0].facts.exit.wait_status), status);
    EXPECT_GT(exits[0].facts.exit.peak_rss_bytes.value_or(0), 0);
  }
}

TEST(BpfExit, HasTheStatusThatWaitGives) {
  Stage stage;
  Listener listener({.comms = {own("status")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  const std::string path = stage.actor(own("status"));
  const std::vector<std::vector<std::string>> endings = {{path, "exit", "77"},
                                                         {path, "exit", "0"},
                                                         {path, "raise", std::to_string(SIGSEGV)},
                                                         {path, "raise", std::to_string(SIGKILL)},
                                                         {path, "raise", std::to_string(SIGABRT)}};
  for (const auto& command : endings) {
    Child child(command);
    const int status = child.wait();
    const auto exits = listener.of(child.pid(), KernelEventKind::exit);
    ASSERT_THAT(exits, SizeIs(1));
    EXPECT_EQ(exits[0].facts.exit.wait_status, status) << command[1] << " " << command[2];
    EXPECT_FALSE(exits[0].facts.exit.is_oom_victim);
  }
}

TEST(BpfExit, OfAProcessThatEndsAtOnceHasAPeak) {
  Listener listener({.comms = {"true"}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({"/bin/true"});
  child.wait();
  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_GT(exits[0].facts.exit.peak_rss_bytes.value_or(0), 256 * 1024);
  EXPECT_LT(exits[0].facts.exit.peak_rss_bytes.value_or(0), 32 * kMiB);
}

TEST(BpfExit, KeepsAPeakThatWasFreedLongBefore) {
  Stage stage;
  Listener listener({.comms = {own("spike")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("spike")), "spike", "200", "exit", "0"});
  child.wait();
  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_GE(exits[0].facts.exit.peak_rss_bytes.value_or(0), 200 * kMiB);
  EXPECT_LT(exits[0].facts.exit.peak_rss_bytes.value_or(0), 220 * kMiB);
}

TEST(BpfExit, HasThePeakOfItsOwnImageNotOfTheParents) {
  Stage stage;
  Listener listener({.comms = {own("small")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("fat")), "touch", "300", "child", stage.actor(own("small")), "exit", "0"});
  child.wait();
  const auto& events = listener.all();
  ASSERT_EQ(kinds(events), "exec exit");
  EXPECT_GT(events[1].facts.exit.peak_rss_bytes.value_or(0), 0);
  EXPECT_LT(events[1].facts.exit.peak_rss_bytes.value_or(0), 32 * kMiB);
}

// The kernel's counters are per CPU: their sum is exact, the shared part alone is off by dozens of pages.
TEST(BpfExit, HasThePeakThatProcShowed) {
  Stage stage;
  Listener listener({.comms = {own("exact")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  for (const char* mib : {"1", "3", "17", "64"}) {
    Child child({stage.actor(own("exact")), "touch", mib, "pause"});
    child.wait_until_sleeping();
    const int64_t shown_bytes = child.peak_rss_bytes();
    child.kill_and_wait(SIGKILL);
    const auto exits = listener.of(child.pid(), KernelEventKind::exit);
    ASSERT_THAT(exits, SizeIs(1));
    EXPECT_GE(exits[0].facts.exit.peak_rss_bytes.value_or(0), shown_bytes);
    EXPECT_LE(exits[0].facts.exit.peak_rss_bytes.value_or(0), shown_bytes + kMiB / 16);
  }
}

// maxrss of the process stays at 300 MiB: the small image's peak is its own, or unknown where the kernel
// keeps no other.
TEST(BpfExit, NeverHasThePeakOfAnEarlierImage) {
  Stage stage;
  Listener listener({.comms = {own("shrinks")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("shrinks")), "touch", "300", "exec", stage.actor(own("shrunk")), "exit", "0"});
  child.wait();
  const auto exits = listener.of(child.pid(), KernelEventKind::exit);
  ASSERT_THAT(exits, SizeIs(1));
  EXPECT_LT(exits[0].facts.exit.peak_rss_bytes.value_or(0), 32 * kMiB);
}

TEST(BpfTrack, MakesARunningProcessSeen) {
  Stage stage;
  Child child({stage.actor(own("running")), "touch", "20", "pause"});
  child.wait_until_sleeping();
  Listener listener(EventFilter{});
  MEMLOG_LISTENER_OR_SKIP(listener);
  ASSERT_TRUE(listener.source().track(child.pid(), child.start_boot_ns()).ok());
  child.kill_and_wait(SIGTERM);
  const auto events = listener.of(child.pid());
  ASSERT_EQ(kinds(events), "exit");
  EXPECT_EQ(events[0].facts.exit.wait_status, SIGTERM);
  EXPECT_EQ(events[0].comm, own("running"));
  // Before Linux 6.16 its peak cannot be told apart from that of an image before it.
  EXPECT_GE(events[0].facts.exit.peak_rss_bytes.value_or(INT64_MAX), 20 * kMiB);
}

TEST(BpfTrack, OfAnEarlierProcessOfTheSameIdMeansNothing) {
  Stage stage;
  Child child({stage.actor(own("reused")), "pause"});
  child.wait_until_sleeping();
  Listener listener(EventFilter{});
  MEMLOG_LISTENER_OR_SKIP(listener);
  ASSERT_TRUE(listener.source().track(child.pid(), child.start_boot_ns() - kNsPerSecond).ok());
  child.kill_and_wait(SIGKILL);
  EXPECT_THAT(listener.of(child.pid()), SizeIs(0));
}

TEST(BpfTrack, CanBeDoneTwice) {
  Stage stage;
  Listener listener({.comms = {own("twice")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("twice")), "pause"});
  child.wait_until_sleeping();
  ASSERT_TRUE(listener.source().track(child.pid(), child.start_boot_ns()).ok());
  ASSERT_TRUE(listener.source().track(child.pid(), child.start_boot_ns()).ok());
  child.kill_and_wait(SIGKILL);
  EXPECT_EQ(kinds(listener.of(child.pid())), "exec exit");
  EXPECT_TRUE(listener.of(child.pid()).back().facts.exit.peak_rss_bytes.has_value());
}

TEST(BpfUntrack, Silences) {
  Stage stage;
  Listener listener({.comms = {own("silent")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("silent")), "pause"});
  child.wait_until_sleeping();
  listener.source().untrack(child.pid());
  child.kill_and_wait(SIGKILL);
  EXPECT_EQ(kinds(listener.of(child.pid())), "exec");
}

TEST(BpfEveryProcess, SeesTheWholeLifeOfAnyName) {
  Stage stage;
  Listener listener({.comms = {}, .every_process = true});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("anybody")), "fork", "1"});
  child.wait();
  EXPECT_EQ(kinds(listener.of(child.pid())), "fork exec exit");
}

TEST(BpfSource, WakesPollWhenThereIsSomething) {
  Stage stage;
  Listener listener({.comms = {own("poll")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  pollfd waiting{listener.source().poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  Child child({stage.actor(own("poll")), "exit", "0"});
  EXPECT_EQ(poll(&waiting, 1, 10'000), 1);
  child.wait();
  EXPECT_EQ(kinds(listener.all()), "exec exit");
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
}

TEST(BpfSource, RefusesMoreNamesThanTheKernelSideHolds) {
  EventFilter filter;
  for (int i = 0; i < 65; i++) filter.comms.push_back("name" + std::to_string(i));
  const auto opened = open_bpf_events(filter);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().reason, "more than 64 names");
}

}  // namespace
}  // namespace memlog
