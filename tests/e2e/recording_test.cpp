// SPDX-License-Identifier: Apache-2.0
// Samples, ends of a recording, and what is left after a crash.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

class Recording : public EndToEnd {};

TEST_F(Recording, EveryMeasureOfAnOrdinaryProcessIsThere) {
  Child trace = this->trace({"--name", "e2e-measured", "--interval", "20ms"});
  EXPECT_EQ(
      e2e::run({workload("e2e-measured"), "threads=3", "grow=20M", "shmem=8M", "spin=100ms", "sleep=400ms"})
          .exit_status,
      0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  const auto samples = rows("SELECT * FROM process_sample ORDER BY time_ns DESC LIMIT 1 OFFSET 2");
  ASSERT_EQ(samples.size(), 1U);
  const auto number = [&](const char* column) { return std::stoll(samples[0].at(column).value()); };
  EXPECT_EQ(number("rss_bytes"), number("anon_bytes") + number("file_bytes") + number("shmem_bytes"));
  EXPECT_GE(number("anon_bytes"), 20 << 20);
  EXPECT_LT(number("anon_bytes"), 28 << 20);
  EXPECT_GE(number("shmem_bytes"), 8 << 20);
  EXPECT_EQ(number("swap_bytes"), 0);
  EXPECT_EQ(number("hugetlb_bytes"), 0);
  EXPECT_GE(number("hwm_bytes"), number("rss_bytes"));
  EXPECT_GT(number("page_table_bytes"), 0);
  EXPECT_GE(number("data_bytes"), 20 << 20);
  EXPECT_EQ(number("threads"), 4);
  EXPECT_GE(number("oom_score"), 0);
  EXPECT_EQ(samples[0].at("pss_bytes"), std::nullopt);
  EXPECT_GE(std::stoll(ask("SELECT max(cpu_ns) FROM process_sample")), 90'000'000);
  EXPECT_GE(std::stoll(ask("SELECT max(minor_faults) FROM process_sample")), (28 << 20) / 4096 / 2);
  EXPECT_GT(std::stoi(ask("SELECT count(*) FROM host_sample WHERE mem_total_bytes > mem_available_bytes AND "
                          "mem_available_bytes > 0 AND mem_free_bytes > 0 AND swap_total_bytes >= 0")),
            5);
  EXPECT_GT(std::stoi(ask("SELECT count(*) FROM cgroup_sample WHERE current_bytes > 0")), 5);
}

TEST_F(Recording, APeakBetweenTwoTicksIsKept) {
  Child trace = this->trace({"--name", "e2e-spike", "--interval", "1s"});
  EXPECT_EQ(e2e::run({workload("e2e-spike"), "grow=500M", "free", "sleep=50ms"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_GE(std::stoll(ask("SELECT peak_rss_bytes FROM process WHERE peak_source = 'kernel'")), 500LL << 20);
}

TEST_F(Recording, ASmallImageAfterALargeOneHasItsOwnPeak) {
  Child trace = this->trace({"--name", "e2e-small"});
  EXPECT_EQ(e2e::run({workload("e2e-large"), "grow=300M", "exec=" + workload("e2e-small"), "sleep=50ms"})
                .exit_status,
            0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_LT(std::stoll(ask("SELECT peak_rss_bytes FROM process")), 30 << 20);
}

TEST_F(Recording, OneEndingProcessCostsTheOthersNothing) {
  Child trace = this->trace({"--name", "e2e-many", "--interval", "10ms"});
  const std::string worker = workload("e2e-many");
  Child steady = Child::start({worker, "sleep=1s"});
  for (int i = 0; i < 30; ++i) {
    Child brief = Child::start({worker, "sleep=10ms"});
    usleep(15000);
    brief.signal(SIGKILL);
    brief.finish();
  }
  EXPECT_EQ(steady.finish().exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM process WHERE end_reason = 'unseen'"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM process_sample JOIN process ON process.id = process_id WHERE rss_bytes "
                "IS NULL AND "
                "pid = " +
                std::to_string(steady.pid())),
            "0");
}

TEST_F(Recording, NoSmapsFileIsOpenedUnlessAskedFor) {
  const std::string log = dir_ / "strace";
  Child worker = Child::start({workload("e2e-smaps"), "print=ready", "sleep=1s"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  Child trace =
      Child::start({"strace", "-f", "-qq", "-e", "trace=openat,open,openat2", "-o", log, MEMLOG_BINARY,
                    "trace", "--db", database(), "--name", "e2e-smaps", "--interval", "50ms"});
  worker.finish();
  EXPECT_EQ(trace.finish().exit_status, 0);
  std::ifstream file(log);
  std::stringstream opened;
  opened << file.rdbuf();
  EXPECT_NE(opened.str().find("status"), std::string::npos);
  EXPECT_EQ(opened.str().find("smaps"), std::string::npos);
}

TEST_F(Recording, PssIsReadWhenAskedFor) {
  Child trace = this->trace({"--name", "e2e-pss", "--interval", "20ms", "--pss"});
  EXPECT_EQ(e2e::run({workload("e2e-pss"), "grow=20M", "sleep=300ms"}).exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_GE(std::stoll(ask("SELECT max(pss_bytes) FROM process_sample")), 20 << 20);
}

TEST_F(Recording, AStoppedRecorderLeavesAGapAndNoBurst) {
  Child worker = Child::start({workload("e2e-steady"), "print=ready", "sleep=4s"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  Child trace = this->trace({"--name", "e2e-steady", "--interval", "100ms"});
  usleep(500000);
  trace.signal(SIGSTOP);
  usleep(2000000);
  trace.signal(SIGCONT);
  worker.finish();
  EXPECT_EQ(trace.finish().exit_status, 0);
  const auto gaps = rows(
      "SELECT kind, lost_count, ended_ns - started_ns AS span_ns FROM gap WHERE kind = 'missed_ticks' "
      "ORDER BY span_ns DESC LIMIT 1");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_GE(std::stoi(gaps[0].at("lost_count").value()), 17);
  EXPECT_LE(std::stoi(gaps[0].at("lost_count").value()), 22);
  EXPECT_GE(std::stoll(gaps[0].at("span_ns").value()), 1'700'000'000);
  // No catch-up: a burst of the missed ticks would be some twenty close steps; a late tick on a loaded machine is one.
  EXPECT_LT(
      std::stoi(ask("SELECT count(*) FROM (SELECT time_ns - lag(time_ns) OVER (ORDER BY time_ns) AS step, "
                    "row_number() OVER (ORDER BY time_ns) AS n FROM process_sample) "
                    "WHERE n > 3 AND step < 50000000")),
      5);
}

TEST_F(Recording, EverySignalKeepsAllSamplesAndClosesTheRun) {
  int run = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Child worker = Child::start({workload("e2e-stopped"), "print=ready", "pause"});
    ASSERT_TRUE(worker.wait_for_output("ready"));
    Child trace = this->trace({"--name", "e2e-stopped", "--interval", "10ms"});
    usleep(400000);
    trace.signal(number);
    EXPECT_EQ(trace.finish().exit_status, 0);
    const std::string where = " WHERE run_id = " + std::to_string(++run);
    EXPECT_GE(
        std::stoi(ask("SELECT count(*) FROM process_sample JOIN process ON process.id = process_id" + where)),
        20);
    EXPECT_EQ(ask("SELECT state FROM run WHERE id = " + std::to_string(run)), "ended");
    EXPECT_EQ(ask("SELECT end_reason FROM process" + where), "running");
  }
}

TEST_F(Recording, AKillLosesAtMostOneCommitIntervalAndShowsAsInterrupted) {
  Child worker = Child::start({workload("e2e-crash"), "print=ready", "pause"});
  ASSERT_TRUE(worker.wait_for_output("ready"));
  Child trace = this->trace({"--name", "e2e-crash", "--interval", "10ms"});
  usleep(3500000);
  const auto killed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  trace.signal(SIGKILL);
  trace.finish();
  const Finished shown = e2e::run({MEMLOG_BINARY, "runs", "--db", database()});
  EXPECT_EQ(shown.exit_status, 0) << shown.err;
  EXPECT_NE(shown.out.find("interrupted"), std::string::npos) << shown.out;
  EXPECT_EQ(ask("SELECT state FROM run"), "interrupted");
  EXPECT_EQ(ask("SELECT ended_ns - (SELECT max(time_ns) FROM (SELECT time_ns FROM process_sample UNION ALL "
                "SELECT time_ns "
                "FROM host_sample UNION ALL SELECT time_ns FROM cgroup_sample UNION ALL SELECT time_ns FROM "
                "event)) FROM run"),
            "0");
  EXPECT_LT(killed_ns - std::stoll(ask("SELECT max(time_ns) FROM process_sample")), 1'300'000'000);
  EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
}

TEST_F(Recording, TheRecorderStaysSmallAndFlat) {
  Child trace = this->trace({"--name", "e2e-flat", "--interval", "1ms", "--keep"});
  const std::string program = workload("e2e-flat");
  Child worker = Child::start({program, "pause"});
  const auto rss_kib = [&] {
    std::ifstream status("/proc/" + std::to_string(trace.pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0L;
  };
  sleep(3);
  const long early_kib = rss_kib();
  for (int i = 0; i < 200; ++i) e2e::run({program});
  sleep(3);
  const long late_kib = rss_kib();
  trace.signal(SIGINT);
  EXPECT_EQ(trace.finish().exit_status, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(late_kib, 16 * 1024);
  EXPECT_LT(late_kib - early_kib, 2 * 1024);
#else
  EXPECT_GT(late_kib, early_kib / 2);
#endif
}

TEST_F(Recording, ADatabaseThatIsDeletedMeanwhileIsSavedAnew) {
  Child trace = this->trace({"--name", "e2e-deleted", "--interval", "10ms"});
  Child worker = Child::start({workload("e2e-deleted"), "sleep=2500ms"});
  ASSERT_TRUE(trace.wait_for_output("recording e2e-deleted"));
  usleep(1'200'000);
  std::filesystem::remove(database());
  const Finished ended = trace.finish();
  EXPECT_EQ(ended.exit_status, 0) << ended.err;
  EXPECT_NE(ended.err.find("was deleted: the recording goes on"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("saved as " + database()), std::string::npos) << ended.err;
  EXPECT_GT(std::stoi(ask("SELECT count(*) FROM process_sample")), 150);
  EXPECT_EQ(ask("SELECT state FROM run"), "ended");
  EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
}

TEST_F(Recording, ADatabaseThatIsMovedMeanwhileHoldsEverything) {
  Child trace = this->trace({"--name", "e2e-moved", "--interval", "10ms"});
  Child worker = Child::start({workload("e2e-moved"), "sleep=2500ms"});
  ASSERT_TRUE(trace.wait_for_output("recording e2e-moved"));
  usleep(1'200'000);
  std::filesystem::rename(database(), dir_ / "moved.db");
  const Finished ended = trace.finish();
  EXPECT_NE(ended.err.find("was moved away"), std::string::npos) << ended.err;
  EXPECT_EQ(query_one(dir_ / "moved.db", "SELECT state FROM run"), "ended");
  EXPECT_GT(std::stoi(query_one(dir_ / "moved.db", "SELECT count(*) FROM process_sample")), 150);
}

TEST_F(Recording, AKernelThreadsPeakIsUnknownNotZero) {
  Child trace = this->trace({"--pid", "2", "--duration", "1s"});
  const Finished ended = trace.finish();
  EXPECT_EQ(ended.exit_status, 0);
  EXPECT_NE(ended.err.find("largest peak unknown"), std::string::npos) << ended.err;
  EXPECT_EQ(ask("SELECT peak_rss_bytes FROM process"), "NULL");
}

TEST_F(Recording, AClosedStdoutIsAnErrorAndNoDatabasesDescriptor) {
  EXPECT_EQ(this->trace({"--name", "nobody", "--duration", "100ms"}).finish().exit_status, 0);
  const Finished ended =
      e2e::run({"/bin/sh", "-c", "exec " MEMLOG_BINARY " runs --db " + database() + " >&-"});
  EXPECT_NE(ended.exit_status, 0);
  EXPECT_NE(ended.err.find("writing the output: Bad file descriptor"), std::string::npos) << ended.err;
}

TEST_F(Recording, FilesMadeUnderSudoBelongToTheInvokingUser) {
  const std::string state = dir_ / "home";
  std::filesystem::create_directory(state);
  ASSERT_EQ(chown(state.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  const std::string database = state + "/memlog.db";
  const Finished traced =
      e2e::run({MEMLOG_BINARY, "trace", "--db", database, "--name", "e2e-none", "--duration", "100ms"},
               {{"SUDO_UID", "65534"}, {"SUDO_GID", "65534"}});
  EXPECT_EQ(traced.exit_status, 0) << traced.err;
  for (const auto& entry : std::filesystem::directory_iterator(state)) {
    struct stat facts{};
    ASSERT_EQ(stat(entry.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 65534U) << entry.path();
    EXPECT_EQ(facts.st_gid, 65534U) << entry.path();
  }
}

TEST_F(Recording, WithoutBpfItScansAndSaysSo) {
  Child trace = this->trace({"--name", "e2e-scanned", "--no-bpf", "--interval", "50ms"});
  EXPECT_EQ(
      e2e::run({workload("e2e-scanned"), "grow=20M", "fork=1", "sleep=600ms", "end", "sleep=800ms", "wait"})
          .exit_status,
      0);
  const Finished traced = trace.finish();
  EXPECT_EQ(traced.exit_status, 0);
  EXPECT_NE(traced.err.find("/proc"), std::string::npos);
  EXPECT_EQ(ask("SELECT event_source FROM run"), "scan");
  EXPECT_EQ(ask("SELECT count(*) || group_concat(DISTINCT end_reason) FROM process"), "2unseen");
  EXPECT_GE(std::stoi(ask("SELECT count(*) FROM process_sample WHERE rss_bytes > 20 * 1048576")), 5);
}

TEST_F(Recording, ATooShortIntervalIsRefusedWithTheLeast) {
  const Finished refused =
      e2e::run({MEMLOG_BINARY, "trace", "--db", database(), "--name", "x", "--interval", "100us"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_NE(refused.err.find("1ms"), std::string::npos) << refused.err;
}

TEST_F(Recording, BadArgumentsGetOneLineAndStatusTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--match", "("},
                                             {"--interval", "soon", "--name", "x"},
                                             {"--pid", "0"},
                                             {"--name", ""},
                                             {},
                                             {"--name", "x", "--label", "12"},
                                             {"--name", "x", "--label", "last"},
                                             {"--pid", "abc"}}) {
    std::vector<std::string> command = {MEMLOG_BINARY, "trace", "--db", database()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished refused = e2e::run(command);
    EXPECT_EQ(refused.exit_status, 2) << refused.err;
    EXPECT_TRUE(refused.err.starts_with("memlog: ")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(database()));
  }
}

}  // namespace
}  // namespace memlog::e2e
