// SPDX-License-Identifier: Apache-2.0
// Which processes are attached, under which names, exactly once.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

class Attach : public EndToEnd {};

TEST_F(Attach, TheMomentItStartsAndUntilItEnds) {
  Child trace = this->trace({"--name", "e2e-worker", "--interval", "20ms"});
  const Finished worker = e2e::run({workload("e2e-worker"), "grow=30M", "sleep=300ms", "exit=7"});
  EXPECT_EQ(worker.exit_status, 7);
  const Finished traced = trace.finish();
  EXPECT_EQ(traced.exit_status, 0) << traced.err;
  const auto rows = this->rows("SELECT * FROM process");
  ASSERT_EQ(rows.size(), 1U);
  const Row& row = rows[0];
  EXPECT_EQ(row.at("comm"), "e2e-worker");
  EXPECT_EQ(row.at("exe"), dir_ / "e2e-worker");
  EXPECT_EQ(row.at("cmdline"), dir_ / "e2e-worker" + " grow=30M sleep=300ms exit=7");
  EXPECT_EQ(row.at("parent_pid"), std::to_string(getpid()));
  EXPECT_EQ(row.at("end_reason"), "exited");
  EXPECT_EQ(row.at("exit_status"), "7");
  EXPECT_EQ(row.at("peak_source"), "kernel");
  EXPECT_GE(std::stoll(row.at("peak_rss_bytes").value()), 30 << 20);
  EXPECT_GE(std::stoi(ask("SELECT count(*) FROM process_sample WHERE rss_bytes > 30 * 1048576")), 5);
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE kind = 'exec'"), "1");
  EXPECT_EQ(ask("SELECT state FROM run"), "ended");
  EXPECT_EQ(ask("SELECT event_source FROM run"), "bpf");
}

TEST_F(Attach, AProcessGoneBeforeItCouldBeReadHasARowFromEventsAlone) {
  Child trace = this->trace({"--name", "e2e-true", "--keep"});
  std::filesystem::copy_file("/bin/true", dir_ / "e2e-true");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(e2e::run({dir_ / "e2e-true"}).exit_status, 0);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE comm = 'e2e-true' AND end_reason = 'exited' AND "
                "exit_status = 0 "
                "AND peak_rss_bytes > 0 AND peak_source = 'kernel' AND ended_ns >= start_time_ns "
                "AND parent_pid = " +
                std::to_string(getpid())),
            "20");
}

TEST_F(Attach, AWrapperThatExecutesTheTargetIsAttachedAtTheExec) {
  Child trace = this->trace({"--name", "e2e-wrapped"});
  EXPECT_EQ(
      e2e::run({"/bin/sh", "-c", "sleep 0.2; exec " + workload("e2e-wrapped") + " sleep=100ms"}).exit_status,
      0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process"), "1");
  EXPECT_EQ(ask("SELECT comm FROM process"), "e2e-wrapped");
  EXPECT_EQ(ask("SELECT group_concat(comm) FROM (SELECT comm FROM process_name ORDER BY time_ns)"),
            "sh,e2e-wrapped");
}

TEST_F(Attach, AScriptWithALongNameIsFoundWhileItRunsAlready) {
  const std::string script = dir_ / "e2e-a-long-script-name.sh";
  std::ofstream(script) << "#!/bin/sh -e\nsleep 30\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Child running = Child::start({script});
  usleep(200'000);
  Child trace = this->trace({"--name", "e2e-a-long-script-name.sh"});
  EXPECT_TRUE(trace.wait_for_output("recording e2e-a-long-script-name.sh"));
}

TEST_F(Attach, ARecordedProcessThatExecutesAnotherProgramKeepsItsRowAndItsOldName) {
  Child trace = this->trace({"--name", "e2e-first"});
  const std::string second = workload("e2e-second");
  EXPECT_EQ(
      e2e::run({workload("e2e-first"), "sleep=100ms", "exec=" + second, "sleep=100ms", "exit=3"}).exit_status,
      3);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process"), "1");
  EXPECT_EQ(ask("SELECT comm FROM process"), "e2e-second");
  EXPECT_EQ(ask("SELECT exit_status FROM process"), "3");
  EXPECT_EQ(ask("SELECT group_concat(comm) FROM (SELECT comm FROM process_name ORDER BY time_ns)"),
            "e2e-first,e2e-second");
}

TEST_F(Attach, ForksWithoutExecAreAttachedUnderTheirInheritedName) {
  Child trace = this->trace({"--name", "e2e-forker", "--interval", "50ms"});
  EXPECT_EQ(e2e::run({workload("e2e-forker"), "fork=2", "sleep=300ms", "end", "wait"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE name = 'e2e-forker' AND end_reason = 'exited'"), "3");
  EXPECT_EQ(ask("SELECT count(*) FROM process AS child JOIN process AS parent ON child.parent_process_id = "
                "parent.id"),
            "2");
}

TEST_F(Attach, DifferentlyNamedDescendantsNeedChildren) {
  const std::string parent = workload("e2e-parent");
  const std::vector<std::string> command = {parent,        "fork=1", "exec=" + workload("e2e-other"),
                                            "sleep=200ms", "end",    "wait"};
  {
    Child trace = this->trace({"--name", "e2e-parent"});
    EXPECT_EQ(e2e::run(command).exit_status, 0);
    EXPECT_EQ(trace.finish().exit_status, 0);
  }
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE run_id = 1"), "1");
  Child trace = this->trace({"--name", "e2e-parent", "--children"});
  EXPECT_EQ(e2e::run(command).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT group_concat(comm) FROM (SELECT comm FROM process WHERE run_id = 2 ORDER BY id)"),
            "e2e-parent,e2e-other");
}

TEST_F(Attach, AThreadsNameIsNotTheProcesss) {
  Child trace = this->trace({"--name", "e2e-thread", "--keep"});
  EXPECT_EQ(e2e::run({workload("e2e-plain"), "thread-name=e2e-thread", "sleep=200ms"}).exit_status, 0);
  EXPECT_EQ(e2e::run({workload("e2e-thread"), "sleep=100ms"}).exit_status, 0);
  trace.signal(SIGTERM);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT group_concat(comm) FROM process"), "e2e-thread");
}

TEST_F(Attach, AnExecFromAThreadKeepsTheProcess) {
  Child trace = this->trace({"--name", "e2e-multi"});
  EXPECT_EQ(e2e::run({workload("e2e-multi"), "sleep=100ms", "exec-thread=" + dir_ / "e2e-multi",
                      "sleep=100ms", "exit=5"})
                .exit_status,
            5);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process"), "1");
  EXPECT_EQ(ask("SELECT exit_status FROM process"), "5");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE kind = 'exit'"), "1");
}

TEST_F(Attach, ATitleThatIsSetLaterIsAttachedAtTheRename) {
  Child trace = this->trace({"--name", "gunicorn: maste"});
  EXPECT_EQ(e2e::run({workload("e2e-gunicorn"), "name=gunicorn: maste", "sleep=200ms"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT comm FROM process"), "gunicorn: maste");
  EXPECT_EQ(ask("SELECT first_seen_by FROM process WHERE start_time_ns <= first_seen_ns"), "rename");
}

TEST_F(Attach, AHostileNameIsReadWhole) {
  Child trace = this->trace({"--name", ") R 1 ("});
  EXPECT_EQ(e2e::run({workload("e2e-hostile"), "name=) R 1 (", "sleep=200ms"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT comm || '|' || parent_pid FROM process"), ") R 1 (|" + std::to_string(getpid()));
}

TEST_F(Attach, ALongNameIsNotItsPrefix) {
  const std::string wanted = "this_is_a_really_long_worker_name";
  Child trace = this->trace({"--name", wanted, "--keep"});
  EXPECT_EQ(e2e::run({workload("this_is_a_really_different"), "sleep=200ms"}).exit_status, 0);
  EXPECT_EQ(e2e::run({workload(wanted), "sleep=200ms"}).exit_status, 0);
  sleep(3);
  trace.signal(SIGINT);
  const Finished traced = trace.finish();
  EXPECT_EQ(ask("SELECT group_concat(name) FROM process"), wanted);
}

TEST_F(Attach, ALeaderThatEndsFirstIsReadThroughALiveThread) {
  Child trace = this->trace({"--name", "e2e-leader", "--interval", "20ms"});
  EXPECT_EQ(
      e2e::run({workload("e2e-leader"), "grow=40M", "leader-exit", "sleep=400ms", "exit=4"}).exit_status, 4);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process"), "1");
  EXPECT_EQ(ask("SELECT exit_status FROM process"), "4");
  EXPECT_GE(std::stoi(ask("SELECT count(*) FROM process_sample WHERE rss_bytes > 40 * 1048576")), 8);
  EXPECT_EQ(ask("SELECT count(*) FROM process_sample WHERE rss_bytes = 0"), "0");
}

TEST_F(Attach, WhatIsThereBeforeTheTraceIsFoundAndNotFoundTwice) {
  Child worker = Child::start({workload("e2e-early"), "print=ready", "sleep=700ms"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  Child trace = this->trace({"--name", "e2e-early"});
  worker.finish();
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) || first_seen_by FROM process"), "1scan");
  EXPECT_EQ(ask("SELECT end_reason FROM process"), "exited");
}

TEST_F(Attach, WorkersThatStartWhileMemlogStartsAreAllSeenOnce) {
  const std::string worker = workload("e2e-race");
  std::vector<Child> early;
  Child trace = Child::start({MEMLOG_BINARY, "trace", "--db", database(), "--name", "e2e-race", "--keep"});
  for (int i = 0; i < 60; ++i) {
    early.push_back(Child::start({worker, "sleep=1500ms"}));
    usleep(5000);
  }
  ASSERT_TRUE(trace.wait_for_output("waiting for"));
  for (Child& child : early) EXPECT_EQ(child.finish().exit_status, 0);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) || '/' || count(DISTINCT pid) FROM process WHERE end_reason = 'exited'"),
            "60/60");
}

TEST_F(Attach, AReusedPidIsASecondProcess) {
  Child trace = this->trace({"--name", "e2e-reused", "--keep"});
  const std::string worker = workload("e2e-reused");
  Child first = Child::start({worker, "sleep=100ms"});
  const pid_t pid = first.pid();
  first.finish();
  bool reused = false;
  for (int attempt = 0; attempt < 50 && !reused; ++attempt) {
    std::ofstream("/proc/sys/kernel/ns_last_pid") << pid - 1;
    Child second = Child::start({worker, "sleep=100ms"});
    reused = second.pid() == pid;
    second.finish();
  }
  ASSERT_TRUE(reused) << "the kernel did not hand out the pid again";
  trace.signal(SIGINT);
  trace.finish();
  EXPECT_EQ(ask("SELECT count(*) || '/' || count(DISTINCT start_ticks) FROM process WHERE pid = " +
                std::to_string(pid)),
            "2/2");
}

TEST_F(Attach, ABuildsStormOfShortProcessesIsSeenWhole) {
  Child trace = this->trace({"--name", "e2e-storm", "--keep"});
  std::filesystem::copy_file("/bin/true", dir_ / "e2e-storm");
  const Finished storm = e2e::run({"/bin/sh", "-c",
                                   "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10 11 "
                                   "12 13 14 15 16 17 18 19 20; do " +
                                       dir_ / "e2e-storm" + " & done; wait; done"});
  EXPECT_EQ(storm.exit_status, 0);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE end_reason = 'exited' AND peak_rss_bytes > 0"), "200");
  EXPECT_EQ(ask("SELECT incomplete FROM run"), "0");
}

TEST_F(Attach, ByPidAcrossExec) {
  Child worker = Child::start(
      {workload("e2e-pid"), "print=ready", "sleep=500ms", "exec=" + workload("e2e-next"), "sleep=200ms"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  Child trace = this->trace({"--pid", std::to_string(worker.pid())});
  EXPECT_EQ(worker.finish().exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) || comm FROM process"), "1e2e-next");
}

TEST_F(Attach, ByCommandLine) {
  Child trace = this->trace({"--match", "e2e-any.* print=[x]yz"});
  EXPECT_EQ(e2e::run({workload("e2e-anything"), "print=abc", "sleep=50ms"}).exit_status, 0);
  EXPECT_EQ(e2e::run({workload("e2e-anything"), "print=xyz", "sleep=50ms"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT cmdline FROM process"), dir_ / "e2e-anything" + " print=xyz sleep=50ms");
}

TEST_F(Attach, ByCgroupWhetherBornOrMovedThere) {
  MemoryCgroup cgroup("attach", 512 << 20);
  Child trace = this->trace({"--cgroup", cgroup.directory(), "--keep", "--interval", "50ms"});
  EXPECT_EQ(e2e::run({workload("e2e-moved"), "cgroup=" + cgroup.directory(), "fork=1", "sleep=100ms", "end",
                      "sleep=1500ms", "wait"})
                .exit_status,
            0);
  EXPECT_EQ(e2e::run({workload("e2e-stranger"), "sleep=50ms"}).exit_status, 0);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE comm = 'e2e-moved'"), "2");
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE comm = 'e2e-stranger'"), "0");
  EXPECT_EQ(
      ask("SELECT max(limit_bytes) FROM cgroup_sample JOIN cgroup ON cgroup.id = cgroup_id WHERE path = '" +
          cgroup.path() + "'"),
      std::to_string(512 << 20));
}

TEST_F(Attach, ADeadPidEndsAtOnceWithItsReason) {
  Child gone = Child::start({"/bin/true"});
  const std::string pid = std::to_string(gone.pid());
  gone.finish();
  const Finished traced = e2e::run({MEMLOG_BINARY, "trace", "--db", database(), "--pid", pid});
  EXPECT_EQ(traced.exit_status, 1);
  EXPECT_NE(traced.err.find("pid " + pid + ": no such process"), std::string::npos) << traced.err;
  EXPECT_FALSE(std::filesystem::exists(database()));
}

}  // namespace
}  // namespace memlog::e2e
