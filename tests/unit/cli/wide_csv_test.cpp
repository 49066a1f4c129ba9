// SPDX-License-Identifier: Apache-2.0
// The wide file: all that is stored of a run, out and in again.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/csv_import.h"
#include "csv/columns.h"
#include "render/html.h"
#include "store/run_tables.h"
#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WideCsv : public ::testing::Test {
 protected:
  std::string exported(const std::string& database, int64_t run_id) const {
    ExportOptions options;
    options.database = database;
    options.run = std::to_string(run_id);
    options.csv = directory_ / "out.csv";
    options.wide = true;
    EXPECT_EQ(run_export(options), 0);
    return file_bytes(options.csv);
  }
  std::string record_whole_story() const {
    const std::string path = directory_ / "recorded.db";
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path, literal_run());
    for (const auto& records : {story_of_processes(), story_of_surroundings(), story_of_devices()})
      EXPECT_TRUE((*writer)->write(records).ok());
    EXPECT_TRUE((*writer)->write(std::vector<Record>{ClockReading{5, kStart}}).ok());
    EXPECT_TRUE((*writer)->end({kStart + 5 * kNsPerSecond, "the last process ended"}).ok());
    return path;
  }
  // Imports the text into a database of its own; the error's reason, or empty.
  std::string import(const std::string& text) const {
    write_file(directory_ / "in.csv", text);
    ImportOptions options;
    options.database = imported_;
    options.files = {directory_ / "in.csv"};
    try {
      run_import(options);
    } catch (const FatalError& failure) {
      return failure.error().reason;
    }
    return "";
  }

  TemporaryDirectory directory_;
  std::string imported_ = directory_ / "imported.db";
};

TEST_F(WideCsv, WhatIsExportedImportedAndExportedAgainIsTheSameToTheByte) {
  const std::string wide = exported(record_whole_story(), 1);
  ASSERT_EQ(import(wide), "");
  EXPECT_EQ(exported(imported_, 1), wide);
  for (const char* record :
       {"host_sample", "cgroup_sample", "device_sample", "device_process_sample", "device_user",
        "device_total", "event", "oom_kill", "gap", "clock", "process_name"})
    EXPECT_THAT(wide, HasSubstr(std::string(",") + record + ",")) << record;
}

TEST_F(WideCsv, EveryRowOfEveryTableComesBack) {
  const std::string recorded = record_whole_story();
  ASSERT_EQ(import(exported(recorded, 1)), "");
  for (const RunTable& table : kRunTables) {
    // Ids of rows may differ between databases; here both runs are the first of theirs.
    const std::string sql =
        std::string("SELECT * FROM ") + table.name + " ORDER BY " + table.parent_column + ", " + table.order;
    EXPECT_FALSE(rows_of(recorded, sql).empty()) << table.name;
    EXPECT_EQ(rows_of(imported_, sql), rows_of(recorded, sql)) << table.name;
  }
  const std::string processes = "SELECT * FROM process ORDER BY name";
  EXPECT_THAT(rows_of(recorded, processes), ::testing::SizeIs(5));
  const std::string facts =
      "SELECT name, comm, exe, cmdline, end_reason, exit_status, exit_signal, peak_rss_bytes, peak_source, "
      "sample_count, peak_device_bytes FROM process ORDER BY name";
  EXPECT_EQ(rows_of(imported_, facts), rows_of(recorded, facts));
  EXPECT_EQ(rows_of(imported_, "SELECT * FROM run"), rows_of(recorded, "SELECT * FROM run"));
}

TEST_F(WideCsv, EveryTableAndColumnOfTheSchemaIsInTheFileOrFollowsFromIt) {
  ASSERT_TRUE(Database::open(imported_, Database::Mode::create).ok());
  std::set<std::string> known = {"run", "process", "process_sample", "unfinished_import", "sqlite_sequence"};
  for (const RunTable& table : kRunTables) known.insert(table.name);
  for (const RunTable& table : kRunRollupTables) known.insert(table.name);
  for (const std::string& table : rows_of(imported_, "SELECT name FROM sqlite_schema WHERE type = 'table'"))
    EXPECT_EQ(known.count(table), 1U) << table << " is not in the wide file: see store/run_tables.h";
  std::set<std::string> facts = {"id", "run_id", "pid", "name", "parent_process_id", "sample_count"};
  for (const FactColumn& fact : kProcessFacts) facts.insert(fact.column);
  for (const std::string& column : rows_of(imported_, "SELECT name FROM pragma_table_info('process')"))
    EXPECT_EQ(facts.count(column), 1U) << column << " is not among kProcessFacts";
  facts = {"id", "peak_rss_bytes"};
  for (const FactColumn& fact : kRunFacts) facts.insert(fact.column);
  for (const std::string& column : rows_of(imported_, "SELECT name FROM pragma_table_info('run')"))
    EXPECT_EQ(facts.count(column), 1U) << column << " is not among kRunFacts";
}

TEST_F(WideCsv, HostCgroupAndDeviceSamplesGetTheirRollups) {
  const std::string recorded = directory_ / "recorded.db";
  {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(recorded, literal_run());
    std::vector<Record> records = {CgroupStart{1, "/box", 2}, story_device(1, "a", 0)};
    for (int64_t tick = 0; tick < 70; ++tick) {
      HostSample host;
      host.time_ns = kStart + tick;
      host.mem_available_bytes = 100 + tick % 7;
      records.emplace_back(host);
      records.emplace_back(CgroupSample{1, kStart + tick, tick, {}, 64, {}});
      records.emplace_back(story_device_sample(1, tick, tick, 0));
      records.emplace_back(DeviceTotal{kStart + tick, 1, tick, tick, tick, tick, 0});
    }
    ASSERT_TRUE((*writer)->write(records).ok());
    ASSERT_TRUE((*writer)->end({kStart + 70, "duration"}).ok());
  }
  ASSERT_EQ(import(exported(recorded, 1)), "");
  for (const RunTable& table : kRunRollupTables) {
    const std::string sql = std::string("SELECT * FROM ") + table.name + " ORDER BY level, begin_ns";
    EXPECT_EQ(rows_of(imported_, sql), rows_of(recorded, sql)) << table.name;
    if (table.name != std::string_view("process_rollup")) {
      EXPECT_EQ(rows_of(imported_, sql).size(), 5U) << table.name;
    }
  }
}

TEST_F(WideCsv, IsDrawnWithItsEventsGapsLimitsAndDevices) {
  write_file(directory_ / "night.csv", exported(record_whole_story(), 1));
  const Result<Timeline> timeline = timeline_from_csv(directory_ / "night.csv", {});
  ASSERT_TRUE(timeline.ok()) << timeline.error().reason;
  EXPECT_EQ(timeline->title, "nightly");
  EXPECT_EQ(timeline->gaps.size(), 2U);
  EXPECT_EQ(timeline->devices.size(), 3U);
  EXPECT_EQ(timeline->device_ghosts.size(), 1U);
  ASSERT_EQ(timeline->cgroups.size(), 1U);
  EXPECT_EQ(timeline->cgroups[0].path, "/jobs/small");
  EXPECT_FALSE(timeline->host_series.empty());
  EXPECT_TRUE(std::any_of(timeline->events.begin(), timeline->events.end(),
                          [](const TimelineEvent& event) { return event.kind == EventKind::oom_kill; }));
}

TEST_F(WideCsv, ARunOfWhichNothingWasRecordedIsARunAgain) {
  const std::string recorded = directory_ / "recorded.db";
  ASSERT_TRUE((*RunWriter::begin(recorded, literal_run("nothing")))->end({kStart + 9, "SIGINT"}).ok());
  const std::string wide = exported(recorded, 1);
  ASSERT_EQ(import(wide), "");
  EXPECT_THAT(rows_of(imported_, "SELECT label, end_reason, ended_ns - started_ns FROM run"),
              ElementsAre("nothing|SIGINT|9"));
  EXPECT_EQ(exported(imported_, 1), wide);
}

TEST_F(WideCsv, ARunThatIsBeingRecordedComesInAsInterrupted) {
  const std::string recorded = directory_ / "recorded.db";
  const auto writer = *RunWriter::begin(recorded, literal_run());
  ASSERT_TRUE(writer->write(std::vector<Record>{literal_process(1), literal_sample(1, 0, 5)}).ok());
  ASSERT_EQ(import(exported(recorded, 1)), "");
  EXPECT_THAT(rows_of(imported_, "SELECT state FROM run"), ElementsAre("interrupted"));
  EXPECT_THAT(rows_of(imported_, "SELECT end_reason FROM process"), ElementsAre("unseen"));
}

TEST_F(WideCsv, ARecordThatIsNoneIsRefusedByLineAndNothingIsStored) {
  const std::string header = "time_ns,process,pid,process_name,rss_bytes,record,fields\n5,1,7,w,1,,\n";
  EXPECT_EQ(import(header + "5,,,,,kitchen_sink,{}\n"),
            "line 3, column 7 (fields): a record of 'kitchen_sink': there is no such kind of record");
  EXPECT_EQ(import(header + "5,,,,,host_sample,oops\n"),
            "line 3, column 7 (fields): a record of 'host_sample': no JSON object");
  EXPECT_EQ(import(header + "5,,,,,host_sample,\"{\"\"mem_total_bytes\"\":\"\"much\"\"}\"\n"),
            "line 3, column 7 (fields): a record of 'host_sample': 'mem_total_bytes' is not a whole number");
  EXPECT_EQ(import(header + "5,,,,,cgroup_sample,\"{\"\"cgroup\"\":1}\"\n"),
            "line 3, column 7 (fields): a record of 'cgroup_sample': 'cgroup' is the number of none that "
            "came before");
  EXPECT_EQ(import(header + "5,2,,,,gap,{}\n"), "line 3: process 2 has no row before");
  EXPECT_THAT(import(header + "5,,,,,event,\"{\"\"kind\"\":\"\"party\"\"}\"\n"),
              HasSubstr("line 3, column 7"));
  EXPECT_THAT(rows_of(imported_,
                      "SELECT id FROM run UNION ALL SELECT id FROM process UNION ALL SELECT run_id FROM "
                      "host_sample UNION ALL SELECT id FROM event"),
              IsEmpty());
}

// What sanitizers find, and absurd numbers that something is added to or taken from.
TEST_F(WideCsv, ADamagedFileIsRefusedOrDrawnWhateverIsInIt) {
  const std::string wide = exported(record_whole_story(), 1);
  const std::vector<std::string> numbers = {"-1",    "0", "9223372036854775807", "7258118400000000000",
                                            "1e300", ""};
  uint64_t noise = 7;
  const auto random = [&](size_t below) {
    noise = noise * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(noise >> 33U) % below;
  };
  int drawn = 0;
  for (int round = 0; round < 150; ++round) {
    std::string text = wide;
    const size_t header_end = text.find('\n');
    for (size_t change = 0; change <= random(3); ++change) {
      const size_t at = header_end + random(text.size() - header_end);
      const size_t digits = text.find_first_of("0123456789", at);
      if (digits == std::string::npos || random(4) == 0) {
        text[at] = "\0,\"\n{}x:"[random(8)];
      } else {
        const size_t end = text.find_first_not_of("0123456789", digits);
        text.replace(digits, end - digits, numbers[random(numbers.size())]);
      }
    }
    write_file(directory_ / "damaged.csv", text);
    const Result<Timeline> timeline = timeline_from_csv(directory_ / "damaged.csv", {}, /*is_lenient=*/true);
    if (!timeline) {
      EXPECT_FALSE(timeline.error().reason.empty());
      continue;
    }
    ++drawn;
    EXPECT_FALSE(render_html(std::span(&*timeline, 1), {}).empty());
  }
  EXPECT_GE(drawn, 30);
}

}  // namespace
}  // namespace memlog::testing
