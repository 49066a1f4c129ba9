// SPDX-License-Identifier: Apache-2.0
// The tracker fed with events of a literal world. Its /proc is empty, as it is for processes that are gone
// before they can be read: what a row holds here comes from the events alone.
#include "collect/process_tracker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"

namespace memlog {
namespace {

class FakeSource final : public EventSource {
 public:
  const char* name() const override { return "fake"; }
  int poll_fd() const override { return -1; }
  void drain(const Sink& /*sink*/) override {}
  Status track(pid_t pid, int64_t /*start_boot_ns*/) override {
    tracked.push_back(pid);
    return Ok{};
  }
  void untrack(pid_t pid) override { untracked.push_back(pid); }
  uint64_t lost_count() override { return 0; }
  std::vector<pid_t> tracked;
  std::vector<pid_t> untracked;
};

class Tracker : public testing::Test, public TrackerListener {
 protected:
  void SetUp() override {
    char path[] = "/tmp/memlog-tracker-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    proc_ = path;
    track_name("worker");
  }
  void TearDown() override { std::filesystem::remove_all(proc_); }

  void track_name(const std::string& name, bool children = false) {
    Target target;
    target.names = {name};
    target.children = children;
    tracker_.emplace(target, ProcessTracker::Options{proc_, {}, RunClock{0}, false, 0}, &source_, *this);
  }

  static KernelEvent event(KernelEventKind kind, pid_t pid, int64_t boot_ns, std::string_view comm) {
    KernelEvent event;
    event.kind = kind;
    event.pid = pid;
    event.boot_ns = boot_ns;
    event.parent_pid = 1;
    event.start_boot_ns = pid * kNsPerSecond;
    event.uid = 1000;
    event.comm = comm;
    return event;
  }
  void exec(pid_t pid, int64_t boot_ns, std::string_view comm, std::string_view exe,
            std::string_view arguments) {
    KernelEvent exec = event(KernelEventKind::exec, pid, boot_ns, comm);
    exec.exe = exe;
    exec.arguments = arguments;
    tracker_->handle(exec);
  }
  void fork(pid_t parent, pid_t child, int64_t boot_ns, std::string_view comm) {
    KernelEvent fork = event(KernelEventKind::fork, child, boot_ns, comm);
    fork.parent_pid = parent;
    tracker_->handle(fork);
  }
  void rename(pid_t pid, int64_t boot_ns, std::string_view comm) {
    tracker_->handle(event(KernelEventKind::rename, pid, boot_ns, comm));
  }
  void exit(pid_t pid, int64_t boot_ns, std::string_view comm, int wait_status, Nullable peak_bytes = {}) {
    KernelEvent exit = event(KernelEventKind::exit, pid, boot_ns, comm);
    exit.exit.wait_status = wait_status;
    exit.exit.peak_rss_bytes = peak_bytes;
    tracker_->handle(exit);
  }

  template <typename Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Record& record : records_) {
      if (const auto* it = std::get_if<Kind>(&record)) found.push_back(*it);
    }
    return found;
  }

  std::string proc_;
  FakeSource source_;
  std::optional<ProcessTracker> tracker_;
  std::vector<Record> records_;
  int attached_ = 0;
  int ended_ = 0;

 private:
  void on_record(Record record) override { records_.push_back(std::move(record)); }
  void on_attached(const ProcessStart& /*start*/) override { ++attached_; }
  void on_ended(const ProcessStart& /*start*/, const ProcessEnd& /*end*/) override { ++ended_; }
  void on_name_prefix_only(const std::string& /*comm*/, pid_t /*pid*/) override {}
};

TEST_F(Tracker, AProcessGoneBeforeItCouldBeReadIsAWholeRow) {
  exec(7, 100, "worker", "/bin/worker", std::string_view("worker\0--fast\0", 14));
  exit(7, 900, "worker", 3 << 8, 4096);
  const auto starts = all<ProcessStart>();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].pid, 7);
  EXPECT_EQ(starts[0].parent_pid, Nullable(1));
  EXPECT_EQ(starts[0].start_time_ns, Nullable(7 * kNsPerSecond));
  EXPECT_EQ(starts[0].comm, "worker");
  EXPECT_EQ(starts[0].exe, "/bin/worker");
  EXPECT_EQ(starts[0].cmdline, "worker --fast");
  EXPECT_EQ(starts[0].uid, Nullable(1000));
  EXPECT_EQ(starts[0].first_seen_by, SeenBy::exec);
  const auto ends = all<ProcessEnd>();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].key, starts[0].key);
  EXPECT_EQ(ends[0].time_ns, 900);
  EXPECT_EQ(ends[0].reason, EndReason::exited);
  EXPECT_EQ(ends[0].exit_status, Nullable(3));
  EXPECT_EQ(ends[0].peak_rss_bytes, Nullable(4096));
  EXPECT_EQ(ends[0].peak_source, PeakSource::kernel);
  EXPECT_EQ(tracker_->live_count(), 0U);
}

TEST_F(Tracker, RenameAndExecOfOneExecAttachOnce) {
  rename(7, 99, "worker");  // raised before exec; nothing of it is in /proc here
  exec(7, 100, "worker", "/bin/worker", "worker");
  exec(7, 100, "worker", "/bin/worker", "worker");
  EXPECT_EQ(attached_, 1);
  EXPECT_EQ(all<ProcessStart>().size(), 1U);
}

TEST_F(Tracker, AForkThatExecutesSomethingElseLeavesNoTrace) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  fork(7, 8, 200, "worker");
  exec(8, 300, "ls", "/bin/ls", "ls");
  exit(8, 400, "ls", 0);
  EXPECT_EQ(attached_, 1);
  EXPECT_EQ(all<ProcessStart>().size(), 1U);
  EXPECT_EQ(std::count(source_.untracked.begin(), source_.untracked.end(), 8), 1);
}

TEST_F(Tracker, AForkOfTheSameNameIsRecordedAtTheNextTick) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  fork(7, 8, 200, "worker");
  EXPECT_EQ(attached_, 1);
  tracker_->sample_all(300);
  const auto starts = all<ProcessStart>();
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[1].pid, 8);
  EXPECT_EQ(starts[1].parent_key, starts[0].key);
  EXPECT_EQ(starts[1].first_seen_by, SeenBy::fork);
  EXPECT_EQ(starts[1].first_seen_ns, 200);
  EXPECT_EQ(starts[1].cmdline, "worker");
}

TEST_F(Tracker, AForkThatEndsBeforeTheNextTickIsARowAllTheSame) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  fork(7, 8, 200, "worker");
  exit(8, 300, "worker", 0, 8192);
  ASSERT_EQ(all<ProcessEnd>().size(), 1U);
  EXPECT_EQ(all<ProcessEnd>()[0].key, all<ProcessStart>()[1].key);
}

TEST_F(Tracker, DifferentlyNamedDescendantsAreRecordedOnlyWhenAskedFor) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  fork(7, 8, 200, "pool-1");
  EXPECT_EQ(tracker_->newborn_count(), 0U);
  track_name("worker", /*children=*/true);
  records_.clear();
  exec(7, 100, "worker", "/bin/worker", "worker");
  fork(7, 8, 200, "pool-1");
  exec(8, 300, "ls", "/bin/ls", "ls");
  fork(8, 9, 400, "ls");
  tracker_->sample_all(500);
  const auto starts = all<ProcessStart>();
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_EQ(starts[1].comm, "ls");
  EXPECT_EQ(starts[2].parent_key, starts[1].key);
}

TEST_F(Tracker, ARecordedProcessKeepsItsRowAcrossRenameAndExec) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  rename(7, 200, "retired");
  exec(7, 300, "other", "/bin/other", "other");
  exit(7, 400, "other", 0);
  EXPECT_EQ(all<ProcessStart>().size(), 1U);
  const auto images = all<ProcessImage>();
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0].comm, "retired");
  EXPECT_EQ(images[1].comm, "other");
  EXPECT_EQ(images[1].exe, "/bin/other");
  EXPECT_EQ(all<ProcessEnd>().size(), 1U);
}

TEST_F(Tracker, AReusedPidIsAnotherProcess) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  KernelEvent second = event(KernelEventKind::exec, 7, 500, "worker");
  second.start_boot_ns = 8 * kNsPerSecond;
  tracker_->handle(second);
  const auto starts = all<ProcessStart>();
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_NE(starts[0].key, starts[1].key);
  ASSERT_EQ(all<ProcessEnd>().size(), 1U);
  EXPECT_EQ(all<ProcessEnd>()[0].key, starts[0].key);
  EXPECT_EQ(all<ProcessEnd>()[0].reason, EndReason::unseen);
}

TEST_F(Tracker, AnExitWhoseBeginningWasLostIsStillARow) {
  exit(7, 900, "worker", SIGSEGV | 0x80, 4096);
  ASSERT_EQ(all<ProcessStart>().size(), 1U);
  EXPECT_EQ(all<ProcessStart>()[0].first_seen_by, SeenBy::exit);
  EXPECT_EQ(all<ProcessEnd>()[0].exit_signal, Nullable(SIGSEGV));
  EXPECT_EQ(all<ProcessEnd>()[0].core_dumped, Nullable(1));
  EXPECT_EQ(all<ProcessEnd>()[0].reason, EndReason::signaled);
}

TEST_F(Tracker, RawWaitStatusesAreReadAsWaitReadsThem) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  exit(7, 200, "worker", 19712);
  EXPECT_EQ(all<ProcessEnd>()[0].exit_status, Nullable(77));
  EXPECT_EQ(all<ProcessEnd>()[0].exit_signal, Nullable());
  exec(8, 100, "worker", "/bin/worker", "worker");
  exit(8, 200, "worker", 9);
  EXPECT_EQ(all<ProcessEnd>()[1].exit_signal, Nullable(SIGKILL));
  EXPECT_EQ(all<ProcessEnd>()[1].exit_status, Nullable());
  exec(9, 100, "worker", "/bin/worker", "worker");
  exit(9, 200, "worker", 139);
  EXPECT_EQ(all<ProcessEnd>()[2].exit_signal, Nullable(SIGSEGV));
  EXPECT_EQ(all<ProcessEnd>()[2].core_dumped, Nullable(1));
}

TEST_F(Tracker, OnlyAVictimsSigkillIsAnOomKill) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  exec(8, 100, "worker", "/bin/worker", "worker");
  KernelEvent victim = event(KernelEventKind::oom_victim, 7, 150, "worker");
  victim.oom.victim_tid = 77;
  victim.oom.anon_bytes = 1 << 20;
  victim.oom.trigger_pid = 8;
  tracker_->handle(victim);
  exit(7, 200, "worker", SIGKILL);
  exit(8, 200, "worker", SIGKILL);
  EXPECT_EQ(all<ProcessEnd>()[0].reason, EndReason::oom_killed);
  EXPECT_EQ(all<ProcessEnd>()[1].reason, EndReason::signaled);
  const auto kills = all<OomKill>();
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_EQ(kills[0].key, all<ProcessStart>()[0].key);
  EXPECT_EQ(kills[0].pid, 7);
  EXPECT_EQ(kills[0].tid, Nullable(77));
  EXPECT_EQ(kills[0].anon_bytes, Nullable(1 << 20));
  EXPECT_EQ(kills[0].swap_bytes, Nullable());
}

TEST_F(Tracker, AnOomKillOfAStrangerIsRecordedWithoutARow) {
  tracker_->handle(event(KernelEventKind::oom_victim, 99, 150, "stranger"));
  ASSERT_EQ(all<OomKill>().size(), 1U);
  EXPECT_EQ(all<OomKill>()[0].key, 0U);
  EXPECT_EQ(all<OomKill>()[0].comm, "stranger");
  EXPECT_TRUE(all<ProcessStart>().empty());
}

TEST_F(Tracker, AGoneProcessWaitsForItsExitEventBeforeItIsCalledUnseen) {
  exec(7, 100, "worker", "/bin/worker", "worker");
  tracker_->sample_all(kNsPerSecond);
  tracker_->sample_all(2 * kNsPerSecond);
  EXPECT_TRUE(all<ProcessEnd>().empty());
  tracker_->sample_all(4 * kNsPerSecond);
  ASSERT_EQ(all<ProcessEnd>().size(), 1U);
  EXPECT_EQ(all<ProcessEnd>()[0].reason, EndReason::unseen);
  EXPECT_EQ(all<ProcessEnd>()[0].time_ns, kNsPerSecond);
  EXPECT_EQ(all<ProcessEnd>()[0].peak_rss_bytes, Nullable());
}

TEST_F(Tracker, ALongNameIsNotItsPrefix) {
  track_name("this_is_a_really_long_worker_name");
  exec(7, 100, "this_is_a_reall", "/opt/this_is_a_really_different", "./this_is_a_really_different");
  exec(8, 100, "this_is_a_reall", "/opt/this_is_a_really_long_worker_name", "x");
  const auto starts = all<ProcessStart>();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].pid, 8);
  EXPECT_EQ(starts[0].name, "this_is_a_really_long_worker_name");
}

TEST_F(Tracker, ACommandLineThatDoesNotMatchIsLetGo) {
  Target target;
  target.match = *Regex::compile("train");
  ProcessTracker::Options options{proc_, {}, RunClock{0}, false, 0};
  tracker_.emplace(target, options, &source_, *this);
  exec(7, 100, "python", "/bin/python", std::string_view("python\0train.py", 15));
  exec(8, 100, "python", "/bin/python", std::string_view("python\0serve.py", 15));
  fork(7, 9, 200, "python");
  fork(8, 10, 200, "python");
  tracker_->sample_all(300);
  ASSERT_EQ(all<ProcessStart>().size(), 2U);
  EXPECT_EQ(all<ProcessStart>()[1].pid, 9);
  EXPECT_EQ(source_.untracked, (std::vector<pid_t>{8, 10}));
}

TEST_F(Tracker, WhoeverHasACardOpenIsATarget) {
  const std::string self = std::to_string(getppid());
  std::filesystem::create_directories(proc_ + "/driver/tenstorrent/3");
  std::ofstream(proc_ + "/driver/tenstorrent/3/pids") << self << "\n" << self << "\n";
  std::filesystem::create_directory_symlink("/proc/" + self, proc_ + "/" + self);
  Target target;
  target.devices = {3};
  ProcessTracker::Options options{proc_, {}, RunClock{0}, false, 0};
  tracker_.emplace(target, options, &source_, *this);
  tracker_->scan_members(100);
  tracker_->scan_members(200);
  ASSERT_EQ(all<ProcessStart>().size(), 1U);
  EXPECT_EQ(all<ProcessStart>()[0].pid, getppid());
  EXPECT_EQ(tracker_->key_of(getppid()), all<ProcessStart>()[0].key);
}

}  // namespace
}  // namespace memlog
