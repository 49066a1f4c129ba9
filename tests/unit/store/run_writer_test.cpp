// SPDX-License-Identifier: Apache-2.0
#include "store/run_writer.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "model/columns.h"
#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;

class RunWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<RunWriter> begin(const RunStart& run = literal_run()) {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, run);
    if (!writer) {
      ADD_FAILURE() << writer.error().doing << ": " << writer.error().reason;
      return nullptr;
    }
    return *std::move(writer);
  }
  static void write(RunWriter& writer, const std::vector<Record>& records) {
    const Status status = writer.write(records);
    if (!status) ADD_FAILURE() << status.error().doing << ": " << status.error().reason;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

TEST_F(RunWriterTest, EveryColumnOfASampleComesBackAndUnknownIsNotZero) {
  ProcessSample full = literal_sample(1, 0, 0);
  for (size_t i = 0; i < kProcessColumns.size(); ++i)
    full.*kProcessColumns[i].field = static_cast<int64_t>(i);
  const auto writer = begin();
  write(*writer, {literal_process(1), full, literal_sample(1, 1, Nullable())});
  EXPECT_THAT(rows_of(path_, "SELECT rss_bytes, anon_bytes, cpu_ns FROM process_sample ORDER BY time_ns"),
              ElementsAre("0|1|15", "NULL|NULL|NULL"));
}

TEST_F(RunWriterTest, AWriteIsSeenByAReaderAtOnce) {
  const auto writer = begin();
  write(*writer, {literal_process(1), literal_sample(1, 0, 4096)});
  EXPECT_THAT(rows_of(path_, "SELECT state FROM run"), ElementsAre("running"));
  EXPECT_THAT(
      rows_of(path_, "SELECT pid, name, sample_count, peak_rss_bytes, peak_source, end_reason FROM process"),
      ElementsAre("1001|worker|1|4096|sampled|running"));
}

TEST_F(RunWriterTest, ThePeakIsTheLargestOfSamplesHighWaterMarksAndTheKernelsWord) {
  const auto writer = begin();
  ProcessSample lagging = literal_sample(1, 0, 900);
  lagging.hwm_bytes = 700;
  ProcessSample spiked = literal_sample(2, 0, 100);
  spiked.hwm_bytes = 800;
  write(*writer, {literal_process(1), literal_process(2), literal_process(3), lagging, spiked,
                  literal_sample(3, 0, 500)});
  write(*writer, {ProcessEnd{1, kStart + 1, EndReason::exited, 0, {}, {}, 800, PeakSource::kernel},
                  ProcessEnd{2, kStart + 1, EndReason::exited, 0, {}, {}, 800, PeakSource::kernel},
                  ProcessEnd{3, kStart + 1, EndReason::unseen, {}, {}, {}, {}, PeakSource::none}});
  EXPECT_THAT(rows_of(path_, "SELECT peak_rss_bytes, peak_source FROM process ORDER BY id"),
              ElementsAre("900|sampled", "800|kernel", "500|sampled"));
  EXPECT_THAT(rows_of(path_, "SELECT peak_rss_bytes FROM run"), ElementsAre("900"));
}

TEST_F(RunWriterTest, AProcessKnownFromItsEventsAloneHasAFullRow) {
  const auto writer = begin();
  ProcessStart start = literal_process(1, "short");
  start.parent_pid = 7;
  write(*writer, {start, ProcessEnd{1, kStart + 5, EndReason::signaled, {}, 11, 1, 123, PeakSource::kernel}});
  EXPECT_THAT(rows_of(path_,
                      "SELECT name, parent_pid, ended_ns - first_seen_ns, exit_status, exit_signal, "
                      "core_dumped, end_reason, peak_rss_bytes, peak_source, sample_count FROM process"),
              ElementsAre("short|7|5|NULL|11|1|signaled|123|kernel|0"));
}

TEST_F(RunWriterTest, NamesAreKeptWhereTheyChange) {
  const auto writer = begin();
  write(*writer, {literal_process(1, "sh"), ProcessImage{1, kStart + 1, "sh", "sh", "/bin/sh", {}, {}},
                  ProcessImage{1, kStart + 2, "worker", "worker", {}, "worker --fast", {}}});
  EXPECT_THAT(
      rows_of(path_, "SELECT time_ns - " + std::to_string(kStart) + ", comm FROM process_name ORDER BY 1"),
      ElementsAre("0|sh", "2|worker"));
  EXPECT_THAT(rows_of(path_, "SELECT comm, name, exe, cmdline FROM process"),
              ElementsAre("worker|worker|/bin/sh|worker --fast"));
}

TEST_F(RunWriterTest, AParentIsFoundWhetherItCameBeforeOrAfterItsChild) {
  const auto writer = begin();
  ProcessStart early_child = literal_process(1, "child");
  early_child.parent_key = 2;
  ProcessStart late_child = literal_process(3, "child");
  late_child.parent_key = 2;
  write(*writer, {early_child, literal_process(2, "parent"), late_child});
  EXPECT_THAT(rows_of(path_,
                      "SELECT process.name, parent.name FROM process LEFT JOIN process AS parent "
                      "ON parent.id = process.parent_process_id ORDER BY process.id"),
              ElementsAre("child|parent", "parent|NULL", "child|parent"));
}

TEST_F(RunWriterTest, EverythingElseThatARunSaysIsStored) {
  const auto writer = begin();
  OomKill kill;
  kill.time_ns = kStart + 3;
  kill.key = 1;
  kill.pid = 1001;
  kill.constraint = OomConstraint::memcg;
  kill.limit_cgroup = "/box";
  kill.limit_bytes = 1 << 25;
  HostSample host;
  host.time_ns = kStart;
  host.mem_available_bytes = 5;
  write(*writer, {literal_process(1), CgroupStart{1, "/box", 1}, CgroupSample{1, kStart, 10, 20, {}, 0}, host,
                  kill, Event{kStart, EventKind::attach, 1, R"({"by":"exec"})"},
                  Event{kStart, EventKind::note, 0, "no json"},
                  Gap{kStart, kStart + 9, GapKind::event_loss, 0, 12, ""}, ClockReading{5, kStart}});
  ASSERT_TRUE(writer->mark_incomplete());
  ASSERT_TRUE(writer->end({kStart + 10, "SIGINT"}));
  EXPECT_THAT(rows_of(path_,
                      "SELECT path, version, current_bytes, limit_bytes, oom_kill_count FROM cgroup_sample "
                      "JOIN cgroup ON cgroup.id = cgroup_id"),
              ElementsAre("/box|1|10|NULL|0"));
  EXPECT_THAT(rows_of(path_, "SELECT mem_available_bytes, mem_free_bytes FROM host_sample"),
              ElementsAre("5|NULL"));
  EXPECT_THAT(
      rows_of(path_, "SELECT process_id, pid, constraint_kind, limit_cgroup, limit_bytes FROM oom_kill"),
      ElementsAre("1|1001|memcg|/box|33554432"));
  EXPECT_THAT(rows_of(path_, "SELECT kind, process_id, detail FROM event ORDER BY id"),
              ElementsAre(R"(attach|1|{"by":"exec"})", R"(note|NULL|{"text":"no json"})"));
  EXPECT_THAT(rows_of(path_, "SELECT kind, lost_count, detail FROM gap"), ElementsAre("event_loss|12|NULL"));
  EXPECT_THAT(rows_of(path_, "SELECT boot_ns FROM clock"), ElementsAre("5"));
  EXPECT_THAT(rows_of(path_, "SELECT state, end_reason, incomplete FROM run"), ElementsAre("ended|SIGINT|1"));
}

TEST_F(RunWriterTest, NamesThatAreNotUtf8AreStoredAsText) {
  const auto writer = begin();
  write(*writer, {literal_process(1,
                                  "a\xFF"
                                  "b")});
  EXPECT_THAT(rows_of(path_, "SELECT name, typeof(name) FROM process"), ElementsAre("a\xEF\xBF\xBD"
                                                                                    "b|text"));
}

TEST_F(RunWriterTest, AFailedWriteStoresNothingAndCanBeRepeated) {
  const auto writer = begin();
  const CgroupStart bad{1, "/box", 3};  // the table's CHECK refuses the version
  EXPECT_FALSE(writer->write(std::vector<Record>{literal_process(1), literal_sample(1, 0, 1), bad}));
  EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process"), ElementsAre("0"));
  write(*writer, {literal_process(1), literal_sample(1, 0, 1), literal_process(2)});
  EXPECT_THAT(rows_of(path_, "SELECT sample_count FROM process ORDER BY id"), ElementsAre("1", "0"));
}

TEST_F(RunWriterTest, KilledAtAnyMomentTheFileOpensAndTheRunIsInterruptedAtItsLastSample) {
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto writer = RunWriter::begin(path_, literal_run());
    if (!writer || !(*writer)->write(std::vector<Record>{literal_process(1)})) _exit(1);
    for (int64_t tick = 0;; ++tick) {
      if (!(*writer)->write(std::vector<Record>{literal_sample(1, tick, tick + 1)})) _exit(1);
      if (::write(acknowledged[1], &tick, sizeof tick) < 0) _exit(1);
    }
  }
  close(acknowledged[1]);
  int64_t last = -1;
  for (int64_t tick = 0; last < 500 && read(acknowledged[0], &tick, sizeof tick) == sizeof tick;) last = tick;
  ASSERT_EQ(kill(child, SIGKILL), 0);
  for (int64_t tick = 0; read(acknowledged[0], &tick, sizeof tick) == sizeof tick;) last = tick;
  close(acknowledged[0]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  Result<Database> database = open_for_reading(path_);
  ASSERT_TRUE(database);
  EXPECT_THAT(rows_of(*database, "PRAGMA integrity_check"), ElementsAre("ok"));
  const int64_t stored = database->integer("SELECT count(*) FROM process_sample")->value();
  EXPECT_GE(stored, last + 1);  // everything that write() reported stored
  EXPECT_LE(stored, last + 2);
  EXPECT_THAT(rows_of(*database, "SELECT state, (ended_ns - started_ns) / 1000000000 FROM run"),
              ElementsAre("interrupted|" + std::to_string(stored - 1)));
  EXPECT_THAT(rows_of(*database, "SELECT end_reason, ended_ns, peak_rss_bytes, peak_source FROM process"),
              ElementsAre("unseen|NULL|" + std::to_string(stored) + "|sampled"));
}

TEST_F(RunWriterTest, TwoRecordersAndALongQuestionShareAFile) {
  const auto first = begin(literal_run("first"));
  const auto second = begin(literal_run("second"));
  constexpr int64_t ticks = 300;
  const auto record = [](RunWriter& writer) {
    write(writer, {literal_process(1)});
    for (int64_t tick = 0; tick < ticks; ++tick) write(writer, {literal_sample(1, tick, tick)});
  };
  std::thread other([&] { record(*second); });
  std::thread reader([&] {
    EXPECT_THAT(rows_of(path_,
                        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
                        "SELECT count(*) > 0 FROM n, run"),
                ElementsAre("1"));
  });
  record(*first);
  other.join();
  reader.join();
  EXPECT_THAT(rows_of(path_,
                      "SELECT run_id, count(*) FROM process_sample JOIN process ON process.id = process_id "
                      "GROUP BY run_id"),
              ElementsAre("1|300", "2|300"));
}

TEST_F(RunWriterTest, OnAFullDiskNothingStoredIsLostAndWritingGoesOnWhenThereIsSpace) {
  const std::string small = directory_ / "small";
  std::filesystem::create_directory(small);
  if (mount("memlog-test", small.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "mounting a small tmpfs: " << strerror(errno);
  const std::unique_ptr<const char, decltype(&umount)> mounted(small.c_str(), &umount);
  path_ = small + "/memlog.db";
  write_file(small + "/ballast", std::string(400'000, 'x'));
  {
    const auto writer = begin();
    write(*writer, {literal_process(1)});
    int64_t tick = 0;
    Status status = Ok{};
    std::vector<Record> batch;
    while (status && tick < 100'000) {
      batch.clear();
      for (int i = 0; i < 100; ++i) {
        batch.emplace_back(literal_sample(1, tick, tick));
        ++tick;
      }
      status = writer->write(batch);
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ENOSPC) << status.error().reason;
    EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process_sample"),
                ElementsAre(std::to_string(tick - 100)));
    std::filesystem::remove(small + "/ballast");
    write(*writer, batch);
    ASSERT_TRUE(writer->end({kStart, "test"}));
    EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process_sample"), ElementsAre(std::to_string(tick)));
    EXPECT_THAT(rows_of(path_, "PRAGMA integrity_check"), ElementsAre("ok"));
  }
}

TEST_F(RunWriterTest, EndedProcessesAreForgottenAndTheirRowsAreWhole) {
  const auto writer = begin();
  for (ProcessKey key = 1; key < 20'000; key += 1000) {
    std::vector<Record> batch;
    for (ProcessKey i = key; i < key + 1000; ++i) {
      batch.emplace_back(literal_process(i));
      batch.emplace_back(ProcessEnd{i, kStart + 1, EndReason::exited, 0, {}, {}, 1, PeakSource::kernel});
    }
    write(*writer, batch);
  }
  write(*writer, {literal_sample(1, 0, 1), Event{kStart, EventKind::note, 1, "{}"}});
  EXPECT_THAT(rows_of(path_, "SELECT count(*), sum(exit_status = 0) FROM process"),
              ElementsAre("20000|20000"));
  EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process_sample"), ElementsAre("0"));
  EXPECT_THAT(rows_of(path_, "SELECT process_id FROM event"), ElementsAre("NULL"));
}

}  // namespace
}  // namespace memlog::testing
