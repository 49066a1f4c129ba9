// SPDX-License-Identifier: Apache-2.0
#include "cli/csv_import.h"

#include <gmock/gmock.h>

#include <clocale>

#include "cli/commands.h"
#include "model/columns.h"
#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kHeader =
    "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score\r\n";
constexpr const char* kPlain =
    "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score\r\n"
    "2026-06-05T12:34:56+00:00,7,worker,12582912,12.0,0,0.0,667\r\n"
    "2026-06-05T12:34:57.500000+00:00,7,worker,1048576,1.0,,,\r\n";
constexpr const char* kSamplesSql =
    "SELECT pid, name, time_ns - 1780662896000000000, rss_bytes, swap_bytes, sample.oom_score FROM "
    "process_sample AS "
    "sample JOIN process ON process.id = process_id ORDER BY time_ns, process_id";

class CsvImportTest : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes) const {
    write_file(directory_ / "in.csv", bytes);
    return directory_ / "in.csv";
  }
  // Imports into the database; the error's text, or empty.
  std::string import(const std::string& path, bool is_lenient = false) {
    Database database = *Database::open(path_, Database::Mode::create);
    Result<ImportSession> session = ImportSession::begin(database);
    CsvImportOptions options;
    options.is_lenient = is_lenient;
    Result<CsvImport> import = import_csv(database, *session->reserve_run(), path, options, &*session);
    if (!import) return import.error().doing + ": " + import.error().reason;
    result_ = *import;
    EXPECT_TRUE(session->publish({result_.run}).ok());
    return "";
  }
  std::vector<std::string> samples() const { return rows_of(path_, kSamplesSql); }
  std::string exported(int64_t run_id, bool is_wide) const {
    ExportOptions options;
    options.database = path_;
    options.run = std::to_string(run_id);
    options.csv = directory_ / "out.csv";
    options.wide = is_wide;
    EXPECT_EQ(run_export(options), 0);
    return file_bytes(options.csv);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  CsvImport result_;
};

TEST_F(CsvImportTest, MemoryLoggersFileBecomesARunAndComesBackToTheByte) {
  ASSERT_EQ(import(file(kPlain)), "");
  EXPECT_THAT(samples(), ElementsAre("7|worker|0|12582912|0|667", "7|worker|1500000000|1048576|NULL|NULL"));
  EXPECT_THAT(rows_of(path_,
                      "SELECT target, event_source, state, end_reason, interval_ns, ended_ns - started_ns, "
                      "peak_rss_bytes FROM run"),
              ElementsAre("in.csv|import|ended|imported|1500000000|1500000000|12582912"));
  EXPECT_THAT(rows_of(path_, "SELECT first_seen_by, end_reason, peak_source, sample_count FROM process"),
              ElementsAre("import|unseen|sampled|2"));
  EXPECT_EQ(exported(1, false), kPlain);
}

TEST_F(CsvImportTest, AByteOrderMarkAndPlainLineFeedsChangeNothing) {
  std::string text = "\xEF\xBB\xBF" + std::string(kPlain);
  ASSERT_EQ(import(file(text)), "");
  std::erase(text, '\r');
  ASSERT_EQ(import(file(text)), "");
  EXPECT_EQ(exported(1, false), kPlain);
  EXPECT_EQ(exported(2, false), kPlain);
}

TEST_F(CsvImportTest, EveryGenerationOfTheFileIsTaken) {
  ASSERT_EQ(import(file("timestamp_utc,pid,process_name,rss_bytes,rss_mib\r\n"
                        "2026-06-05T12:34:56+00:00,7,worker,5,0.0\r\n")),
            "");
  ASSERT_EQ(
      import(file("timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,pswpin_delta_mib,"
                  "pswpout_delta_mib\r\n2026-06-05T12:34:57+00:00,7,worker,5,0.0,6,0.0,1.5,2.5\r\n")),
      "");
  EXPECT_THAT(result_.notes, ElementsAre("these columns were left out: pswpin_delta_mib, pswpout_delta_mib"));
  ASSERT_EQ(import(file("timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score,"
                        "dram_chip_count,dram_total_mib,dram_avg_mib,dram_min_mib,dram_max_mib\r\n"
                        "2026-06-05T12:34:58+00:00,7,worker,5,0.0,6,0.0,9,2,10.0,5.0,4.0,6.0\r\n")),
            "");
  ASSERT_EQ(import(file("timestamp_utc,rss_mib\r\n2026-06-05T12:34:59+00:00,1.5\r\n")), "");
  EXPECT_THAT(samples(), ElementsAre("7|worker|0|5|NULL|NULL", "7|worker|1000000000|5|6|NULL",
                                     "7|worker|2000000000|5|6|9", "0|in.csv|3000000000|1572864|NULL|NULL"));
}

TEST_F(CsvImportTest, WhatDevicesHeldComesInWithTheirColumnsAndBackToTheByte) {
  const std::string text =
      "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score,dram_chip_count,"
      "dram_total_mib,dram_avg_mib,dram_min_mib,dram_max_mib\r\n"
      "2026-06-05T12:34:56+00:00,7,worker,5,0.0,6,0.0,9,3,10.0,3.333,1.0,6.0\r\n"
      "2026-06-05T12:34:56+00:00,8,worker,5,0.0,6,0.0,9,3,10.0,3.333,1.0,6.0\r\n"
      "2026-06-05T12:34:57+00:00,7,worker,5,0.0,6,0.0,9,,,,,\r\n"
      "2026-06-05T12:34:58+00:00,7,worker,5,0.0,6,0.0,9,2,0.005,0.003,0.0,0.005\r\n";
  ASSERT_EQ(import(file(text)), "");
  EXPECT_THAT(result_.notes, IsEmpty());
  EXPECT_THAT(
      rows_of(path_,
              "SELECT time_ns / 1000000000 - 1780662896, device_count, round(dram_bytes / 1048576.0, 3), "
              "round(dram_min_bytes / 1048576.0, 3), round(dram_max_bytes / 1048576.0, 3), "
              "live_bytes FROM device_total ORDER BY time_ns"),
      ElementsAre("0|3|10.0|1.0|6.0|NULL", "2|2|0.005|0.0|0.005|NULL"));
  EXPECT_EQ(exported(1, false), text);
}

TEST_F(CsvImportTest, SeveralProcessesOfOneInstantAreSeveralProcesses) {
  const std::string text = std::string(kHeader) +
                           "2026-06-05T12:34:56+00:00,7,worker,5,0.0,0,0.0,\r\n"
                           "2026-06-05T12:34:56+00:00,8,worker,6,0.0,0,0.0,\r\n"
                           "2026-06-05T12:34:57+00:00,8,worker,7,0.0,0,0.0,\r\n"
                           "2026-06-05T12:34:57+00:00,7,worker,8,0.0,0,0.0,\r\n";
  ASSERT_EQ(import(file(text)), "");
  EXPECT_EQ(result_.process_count, 2);
  EXPECT_THAT(samples(), ElementsAre("7|worker|0|5|0|NULL", "8|worker|0|6|0|NULL",
                                     "7|worker|1000000000|8|0|NULL", "8|worker|1000000000|7|0|NULL"));
}

TEST_F(CsvImportTest, ACutLastLineIsLeftOutAndTold) {
  ASSERT_EQ(import(file(std::string(kPlain) + "2026-06-05T12:35")), "");
  EXPECT_EQ(result_.sample_count, 2);
  ASSERT_THAT(result_.notes, SizeIs(1));
  EXPECT_THAT(result_.notes[0], HasSubstr("line 4: 1 cells, but the header has 8"));
}

TEST_F(CsvImportTest, SemicolonsAreRefused) {
  EXPECT_EQ(import(file("A;B;C;D\n1,1;2,2;3,3;4,1\n")),
            "reading " + directory_.path() + "/in.csv: its cells are separated by ';'");
}

TEST_F(CsvImportTest, WhatPowerLossLeftIsRefusedByLineOrTakenAsFarAsItIsWhole) {
  const std::string row = "2026-06-05T12:34:5";
  std::string text = kHeader;
  const auto add_row = [&](char second) {
    text += row;
    text += second;
    text += "+00:00,7,worker,5,0.0,0,0.0,1\r\n";
  };
  for (const char second : {'0', '1', '2'}) add_row(second);
  text += std::string(512, '\0');
  for (const char second : {'3', '4'}) add_row(second);
  text += row;
  EXPECT_EQ(import(file(text)), "importing " + directory_.path() + "/in.csv: line 5: 512 NUL bytes");
  ASSERT_EQ(import(file(text), true), "");
  EXPECT_EQ(result_.sample_count, 5);
  EXPECT_EQ(result_.bad_count, 1);
  EXPECT_THAT(result_.problems, ElementsAre("line 5: 512 NUL bytes"));
  EXPECT_THAT(result_.notes, SizeIs(1));
}

TEST_F(CsvImportTest, ARowWithACellTooManyOrTooFewIsRefusedAndNothingIsStored) {
  const std::string name = directory_ / "in.csv";
  EXPECT_EQ(import(file(std::string(kPlain) + "2026-06-05T12:34:58+00:00,7,worker,5,0.0,0,0.0,1,9\r\n")),
            "importing " + name + ": line 4: 9 cells, but the header has 8");
  EXPECT_EQ(import(file(std::string(kPlain) + "2026-06-05T12:34:58+00:00,7,worker,5,0.0,0,0.0\r\n")),
            "importing " + name + ": line 4: 7 cells, but the header has 8");
  EXPECT_THAT(rows_of(path_,
                      "SELECT id FROM run UNION ALL SELECT id FROM process UNION ALL SELECT process_id FROM "
                      "process_sample UNION ALL SELECT run_id FROM unfinished_import"),
              IsEmpty());
}

TEST_F(CsvImportTest, ABadValueIsNamedWithItsLineAndColumn) {
  const std::string name = directory_ / "in.csv";
  EXPECT_EQ(import(file(std::string(kHeader) + "2026-06-05T12:34:56+00:00,7,worker,abc,0.0,0,0.0,1\r\n")),
            "importing " + name + ": line 2, column 4 (rss_bytes): 'abc' is not a whole number");
  EXPECT_EQ(import(file(std::string(kHeader) + "2026-06-05T12:34:56+00:00,7,worker,-5,0.0,0,0.0,1\r\n")),
            "importing " + name + ": line 2, column 4 (rss_bytes): '-5' is out of range");
  EXPECT_EQ(import(file(std::string(kHeader) + "yesterday,7,worker,5,0.0,0,0.0,1\r\n")),
            "importing " + name +
                ": line 2, column 1 (timestamp_utc): 'yesterday' is not a time like "
                "2026-06-05T12:34:56.789012+00:00");
}

TEST_F(CsvImportTest, UnknownZeroAndEmptyStayWhatTheyAreInBothFiles) {
  const std::string text = std::string(kHeader) +
                           "2026-06-05T12:34:56+00:00,7,,5,0.0,,,\r\n"
                           "2026-06-05T12:34:57+00:00,7,,,,0,0.0,0\r\n";
  ASSERT_EQ(import(file(text)), "");
  const std::vector<std::string> first = samples();
  EXPECT_THAT(first, ElementsAre("7||0|5|NULL|NULL", "7||1000000000|NULL|0|0"));
  EXPECT_EQ(exported(1, false), text);
  const std::string wide = exported(1, true);
  ASSERT_EQ(import(file(wide)), "");
  EXPECT_EQ(exported(2, true), wide);
  EXPECT_EQ(exported(2, false), text);
}

TEST_F(CsvImportTest, AWideFileBringsEverythingOfTheProcessesBack) {
  Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, literal_run());
  ProcessStart parent = literal_process(1, "parent");
  parent.exe = "/bin/\"odd\", path";
  parent.cmdline = "";
  parent.start_ticks = 77;
  ProcessStart child = literal_process(2, "=1+1");
  child.parent_key = 1;
  child.parent_pid = 1001;
  ProcessSample full = literal_sample(1, 0, 0);
  for (size_t i = 0; i < kProcessColumns.size(); ++i)
    full.*kProcessColumns[i].field = static_cast<int64_t>(i) * 1000;
  ASSERT_TRUE((*writer)
                  ->write(std::vector<Record>{
                      parent, child, literal_process(3, "never sampled"), full,
                      literal_sample(2, 1, Nullable()), literal_sample(1, 2, 9),
                      ProcessEnd{2, kStart + 5, EndReason::signaled, {}, 11, 1, 4096, PeakSource::kernel}})
                  .ok());
  ASSERT_TRUE((*writer)->end({kStart + 9 * kNsPerSecond, "duration"}).ok());
  const std::string wide = exported(1, true);
  ASSERT_EQ(import(file(wide)), "");
  EXPECT_EQ(result_.sample_count, 3);
  const auto processes = [&](int run) {
    return rows_of(
        path_,
        "SELECT process.pid, process.name, process.comm, process.exe, process.cmdline, "
        "process.start_ticks, parent.name, process.first_seen_ns, process.first_seen_by, process.ended_ns, "
        "process.exit_signal, process.core_dumped, process.peak_rss_bytes, process.peak_source, "
        "process.sample_count FROM process LEFT JOIN process AS parent ON parent.id = "
        "process.parent_process_id WHERE process.run_id = " +
            std::to_string(run) + " ORDER BY process.name");
  };
  EXPECT_THAT(processes(1), SizeIs(3));
  EXPECT_EQ(processes(2), processes(1));
  EXPECT_EQ(
      rows_of(path_,
              "SELECT label, host, started_ns, ended_ns, end_reason, event_source FROM run WHERE id = 2"),
      rows_of(path_,
              "SELECT label, host, started_ns, ended_ns, end_reason, event_source FROM run WHERE id = 1"));
}

TEST_F(CsvImportTest, TheLocaleDoesNotMatter) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr && std::setlocale(LC_ALL, "fr_FR.UTF-8") == nullptr)
    GTEST_SKIP() << "no locale with decimal commas is installed";
  EXPECT_EQ(import(file(kPlain)), "");
  EXPECT_EQ(exported(1, false), kPlain);
  std::setlocale(LC_ALL, "C");
}

TEST_F(CsvImportTest, RowsThatGoBackInTimeAreSortedAndTheirRollupsAreTrue) {
  std::string text = kHeader;
  for (int i = 39; i >= 0; --i)
    text += "2026-06-05T12:34:" + std::string(i < 10 ? "0" : "") + std::to_string(i) + "+00:00,7,w," +
            std::to_string(i) + ",0.0,0,0.0,1\r\n";
  ASSERT_EQ(import(file(text)), "");
  EXPECT_THAT(rows_of(path_, "SELECT level, rss_bytes_min, rss_bytes_range FROM process_rollup"),
              ElementsAre("1|0|15", "1|16|15"));
}

TEST_F(CsvImportTest, AFileIsATimelineWithoutAnyDatabase) {
  const Result<Timeline> timeline = timeline_from_csv(file(kPlain), {});
  ASSERT_TRUE(timeline.ok()) << timeline.error().reason;
  EXPECT_EQ(timeline->title, "in.csv");
  EXPECT_EQ(timeline->sample_count, 2);
  ASSERT_THAT(timeline->processes, SizeIs(1));
  EXPECT_EQ(timeline->processes[0].series[0].peak, Nullable(12'582'912));
  EXPECT_THAT(directory_.names(), ElementsAre("in.csv"));
}

TEST_F(CsvImportTest, WhatDevicesHeldIsDrawnAsTheirSumAndAsTheirAverageBetweenLeastAndMost) {
  const Result<Timeline> timeline = timeline_from_csv(
      file(
          "timestamp_utc,pid,process_name,rss_bytes,dram_chip_count,dram_total_mib,dram_avg_mib,dram_min_mib,"
          "dram_max_mib\r\n"
          "2026-06-05T12:34:56+00:00,7,worker,5,4,10.0,2.5,1.0,6.0\r\n"
          "2026-06-05T12:34:57+00:00,7,worker,5,,,,,\r\n"
          "2026-06-05T12:34:58+00:00,7,worker,5,4,12.0,3.0,3.0,3.0\r\n"),
      {});
  ASSERT_TRUE(timeline.ok()) << timeline.error().reason;
  EXPECT_EQ(timeline->device_count, 4);
  ASSERT_THAT(timeline->device_totals, SizeIs(2));
  EXPECT_EQ(timeline->device_totals[0].name, "dram_bytes");
  EXPECT_EQ(timeline->device_totals[0].peak, Nullable(12 << 20));
  const TimelineSeries& chips = timeline->device_totals[1];
  EXPECT_EQ(chips.name, "dram_chip_bytes");
  ASSERT_THAT(chips.points, SizeIs(2));
  EXPECT_EQ(chips.points[0].min, 1 << 20);
  EXPECT_EQ(chips.points[0].mean, 5 << 19);
  EXPECT_EQ(chips.points[0].max, 6 << 20);
}

TEST_F(CsvImportTest, WhatIsNoSuchFileIsRefused) {
  EXPECT_THAT(import(file("")), HasSubstr("the file is empty"));
  EXPECT_THAT(import(file("a,b\n1,2\n")), HasSubstr("it has no column timestamp_utc"));
  EXPECT_THAT(import(file("timestamp_utc,pid\n")), HasSubstr("it has no column rss_bytes"));
  EXPECT_THAT(import(file(std::string("\x7F"
                                      "ELF\0\0\0",
                                      7))),
              HasSubstr("this is no CSV file"));
  EXPECT_THAT(import(directory_ / "missing.csv"), HasSubstr("No such file"));
  EXPECT_THAT(import(directory_.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(import(file("timestamp_utc,rss_bytes,rss_bytes\n")),
              HasSubstr("the column rss_bytes is there twice"));
}

}  // namespace
}  // namespace memlog::testing
