// SPDX-License-Identifier: Apache-2.0
// Ends: real OOM kills in a memory cgroup of the test's own, signals and exit statuses.
#include <csignal>
#include <fstream>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

class Ends : public EndToEnd {};

TEST_F(Ends, AnOomKillIsTold) {
  MemoryCgroup cgroup("oom", 32 << 20);
  Child trace = this->trace({"--name", "e2e-hog", "--interval", "20ms"});
  const Finished hog = e2e::run({workload("e2e-hog"), "cgroup=" + cgroup.directory(), "rate=4M:5ms:60"});
  EXPECT_EQ(hog.exit_status, 128 + SIGKILL);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT end_reason || exit_signal FROM process"), "oom_killed9");
  EXPECT_EQ(ask("SELECT peak_source FROM process"), "kernel");
  EXPECT_GE(std::stoll(ask("SELECT peak_rss_bytes FROM process")), 24 << 20);
  const auto kills = rows(
      "SELECT oom_kill.*, process.comm AS process_comm FROM oom_kill JOIN process ON process.id = "
      "process_id");
  ASSERT_EQ(kills.size(), 1U);
  EXPECT_EQ(kills[0].at("process_comm"), "e2e-hog");
  EXPECT_EQ(kills[0].at("comm"), "e2e-hog");
  EXPECT_EQ(kills[0].at("constraint_kind"), "memcg");
  EXPECT_EQ(kills[0].at("cgroup"), cgroup.path());
  EXPECT_EQ(kills[0].at("limit_cgroup"), cgroup.path());
  EXPECT_EQ(kills[0].at("limit_bytes"), std::to_string(32 << 20));
  EXPECT_GE(std::stoll(kills[0].at("anon_bytes").value()), 24 << 20);
  EXPECT_EQ(kills[0].at("cmdline"), dir_ / "e2e-hog" + " cgroup=" + cgroup.directory() + " rate=4M:5ms:60");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE kind = 'oom_kill'"), "1");
}

TEST_F(Ends, AVictimsThreadIsResolvedToItsProcess) {
  MemoryCgroup cgroup("oomthread", 32 << 20);
  Child trace = this->trace({"--name", "e2e-threads"});
  const Finished hog = e2e::run({workload("e2e-threads"), "cgroup=" + cgroup.directory(), "threads=4",
                                 "leader-exit", "rate=4M:5ms:60"});
  EXPECT_EQ(hog.exit_status, 128 + SIGKILL);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT end_reason FROM process"), "oom_killed");
  EXPECT_EQ(ask("SELECT count(*) FROM oom_kill JOIN process ON process.id = process_id AND process.pid = "
                "oom_kill.pid"),
            "1");
}

TEST_F(Ends, AManualKillIsNotAnOomKill) {
  MemoryCgroup cgroup("manual", 64 << 20);
  Child trace = this->trace({"--name", "e2e-killed"});
  Child worker = Child::start(
      {workload("e2e-killed"), "cgroup=" + cgroup.directory(), "grow=16M", "print=ready", "pause"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.finish().exit_status, 128 + SIGKILL);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT end_reason || exit_signal FROM process"), "signaled9");
  EXPECT_EQ(ask("SELECT count(*) FROM oom_kill WHERE process_id IS NOT NULL"), "0");
}

TEST_F(Ends, AnOomKillOfAnUntracedProcessIsRecordedToo) {
  MemoryCgroup cgroup("stranger", 32 << 20);
  Child trace = this->trace({"--name", "e2e-nobody", "--duration", "30s"});
  EXPECT_EQ(
      e2e::run({workload("e2e-bystander"), "cgroup=" + cgroup.directory(), "rate=4M:5ms:60"}).exit_status,
      128 + SIGKILL);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT comm || coalesce(process_id, '-') FROM oom_kill"), "e2e-bystander-");
}

TEST_F(Ends, StatusesAndSignalsAreThoseOfWait) {
  Child trace = this->trace({"--name", "e2e-end", "--keep"});
  const std::string worker = workload("e2e-end");
  EXPECT_EQ(e2e::run({worker, "exit=77"}).exit_status, 77);
  EXPECT_EQ(e2e::run({worker, "segv"}).exit_status, 128 + SIGSEGV);
  EXPECT_EQ(e2e::run({worker, "raise=TERM"}).exit_status, 128 + SIGTERM);
  EXPECT_EQ(e2e::run({worker, "abort"}).exit_status, 128 + SIGABRT);
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(
      ask("SELECT group_concat(end_reason || coalesce(exit_status, '') || coalesce('/' || exit_signal, '')) "
          "FROM (SELECT * FROM process ORDER BY id)"),
      "exited77,signaled/11,signaled/15,signaled/6");
}

class Run : public EndToEnd {
 protected:
  Finished run_memlog(std::vector<std::string> command) const {
    std::vector<std::string> whole = {MEMLOG_BINARY, "run", "--db", database(), "--"};
    whole.insert(whole.end(), command.begin(), command.end());
    return e2e::run(whole);
  }
};

TEST_F(Run, ReturnsTheCommandsExitStatus) {
  const std::string worker = workload("e2e-run");
  EXPECT_EQ(run_memlog({worker, "exit=7"}).exit_status, 7);
  EXPECT_EQ(run_memlog({worker, "segv"}).exit_status, 139);
  EXPECT_EQ(run_memlog({worker, "raise=KILL"}).exit_status, 137);
  EXPECT_EQ(run_memlog({worker}).exit_status, 0);
  EXPECT_EQ(ask("SELECT group_concat(end_reason) FROM (SELECT * FROM process ORDER BY id)"),
            "exited,signaled,signaled,exited");
  EXPECT_EQ(ask("SELECT group_concat(DISTINCT first_seen_by) FROM process"), "exec");
}

TEST_F(Run, ACommandThatCannotBeRunIsToldAsAShellTellsIt) {
  const Finished missing = run_memlog({"/nowhere/to/be/found"});
  EXPECT_EQ(missing.exit_status, 127);
  EXPECT_NE(missing.err.find("running /nowhere/to/be/found: No such file or directory"), std::string::npos)
      << missing.err;
  EXPECT_EQ(run_memlog({"/etc/passwd"}).exit_status, 126);
  EXPECT_EQ(ask("SELECT count(*) FROM run"), "0") << "nothing was recorded";
}

TEST_F(Run, ACommandsLifeBeginsAtItsExecAndNoSampleIsOlder) {
  EXPECT_EQ(run_memlog({workload("e2e-born"), "sleep=100ms"}).exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE start_time_ns >= (SELECT started_ns FROM run)"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM process_sample JOIN process ON process.id = process_id "
                "WHERE time_ns < start_time_ns"),
            "0");
  EXPECT_EQ(ask("SELECT group_concat(comm) FROM process_name"), "e2e-born");
}

TEST_F(Run, WhatIsForkedJustBeforeTheEndIsRecorded) {
  EXPECT_EQ(run_memlog({workload("e2e-last"), "fork=1", "sleep=2s", "end", "exit=0"}).exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process"), "2");
}

TEST_F(Run, OutputOfTheCommandIsUntouched) {
  const Finished finished = run_memlog({workload("e2e-talker"), "print=hello", "print=world"});
  EXPECT_EQ(finished.out, "hello\nworld\n");
}

TEST_F(Run, RecordsTheWholeTree) {
  EXPECT_EQ(run_memlog({"/bin/sh", "-c", workload("e2e-leaf") + " grow=10M sleep=50ms; exit 9"}).exit_status,
            9);
  EXPECT_EQ(ask("SELECT group_concat(name) FROM (SELECT name FROM process ORDER BY id)"), "sh,e2e-leaf");
}

TEST_F(Run, PassesSignalsOn) {
  Child memlog = Child::start(
      {MEMLOG_BINARY, "run", "--db", database(), "--", workload("e2e-signal"), "print=ready", "pause"});
  ASSERT_TRUE(memlog.wait_for_output("ready"));
  memlog.signal(SIGTERM);
  EXPECT_EQ(memlog.finish().exit_status, 128 + SIGTERM);
  EXPECT_EQ(ask("SELECT end_reason || exit_signal FROM process"), "signaled15");
  EXPECT_EQ(ask("SELECT state FROM run"), "ended");
}

}  // namespace
}  // namespace memlog::e2e
