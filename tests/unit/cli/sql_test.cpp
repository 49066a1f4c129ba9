// SPDX-License-Identifier: Apache-2.0
// memlog sql as users call it: its formats and what it refuses.
#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "e2e/harness.h"
#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SqlTest : public ::testing::Test {
 protected:
  void SetUp() override { record_story(path_); }
  e2e::Finished sql(const std::string& query, const std::string& format = "csv") const {
    return e2e::run({MEMLOG_BINARY, "sql", "--db", path_, "--format", format, query});
  }
  // Through a shell, with $M, $DB for the program and the database.
  e2e::Finished shell(const std::string& script) const {
    return e2e::run({"bash", "-c", script}, {{"M", MEMLOG_BINARY}, {"MEMLOG_DB", path_}});
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

constexpr const char* kOddValues =
    "SELECT NULL AS unknown, '' AS empty, 0 AS zero, 'a,\"b\"' AS quoted, 'x' || char(10) AS line, 2.0 AS "
    "real, "
    "0.1 + 0.2 AS sum, x'00ff' AS bytes, 9223372036854775807 AS big";

TEST_F(SqlTest, CsvKeepsUnknownEmptyAndZeroApart) {
  const e2e::Finished answer = sql(kOddValues);
  EXPECT_EQ(answer.exit_status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "unknown,empty,zero,quoted,line,real,sum,bytes,big\n"
            ",\"\",0,\"a,\"\"b\"\"\",\"x\n\",2.0,0.30000000000000004,00ff,9223372036854775807\n");
}

TEST_F(SqlTest, JsonIsWhatAParserTakes) {
  const nlohmann::json rows = nlohmann::json::parse(sql(kOddValues, "json").out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0]["unknown"].is_null());
  EXPECT_EQ(rows[0]["empty"], "");
  EXPECT_EQ(rows[0]["zero"], 0);
  EXPECT_EQ(rows[0]["quoted"], "a,\"b\"");
  EXPECT_EQ(rows[0]["sum"], 0.1 + 0.2);
  EXPECT_EQ(rows[0]["big"], INT64_MAX);
  EXPECT_EQ(nlohmann::json::parse(sql("SELECT 1 AS a, 2 AS a, 1e999 AS huge", "json").out)[0],
            nlohmann::json::parse(R"({"a": 1, "a_2": 2, "huge": null})"));
  EXPECT_EQ(sql("SELECT 1 WHERE 0", "json").out, "[]\n");
}

TEST_F(SqlTest, ATableAlignsNumbersRightAndIsPrintable) {
  EXPECT_EQ(
      sql("SELECT name, pid, exit_signal FROM process WHERE pid IN (1002, 1003) ORDER BY pid", "table").out,
      "name                     pid  exit_signal\n"
      "----------------------  ----  -----------\n"
      "loader \\x1b[31mred\\x0a  1002\n"
      "eater                   1003            9\n");
}

TEST_F(SqlTest, TheMemoryViewSpeaksInTheUnitsOfTheOldCsv) {
  EXPECT_EQ(
      sql("SELECT * FROM memory WHERE pid = 1001 ORDER BY time_utc LIMIT 1").out,
      "run,time_utc,pid,process_name,rss_mib,swap_mib,oom_score,dram_chip_count,dram_total_mib,dram_avg_mib,"
      "dram_min_mib,dram_max_mib,device_dram_mib\n"
      "1,2026-06-05T12:34:56.000000+00:00,1001,train.py,100.0,0.0,600,,,,,,\n");
}

TEST_F(SqlTest, WhatIsNoQuestionIsRefusedWithStatusTwoAndLeavesNoFile) {
  const std::string other = directory_ / "other.db";
  const std::string before = file_bytes(path_);
  for (const std::string& query :
       {"ATTACH '" + other + "' AS b", "VACUUM INTO '" + other + "'", std::string("SELECT 1; DROP TABLE run"),
        std::string("DROP TABLE run"), std::string("PRAGMA user_version = 7"),
        std::string("SELECT 1; SELECT 2"), std::string("SELEC 1"), std::string("SELECT nosuch FROM run"),
        std::string("SELECT * FROM nosuch"), std::string("SELECT 'a"), std::string(""),
        std::string("-- nothing"), std::string("SELECT abs('x', 2)")}) {
    const e2e::Finished answer = sql(query);
    EXPECT_EQ(answer.exit_status, 2) << query;
    EXPECT_EQ(answer.out, "") << query;
    EXPECT_THAT(answer.err, ::testing::StartsWith("memlog: reading the query: ")) << query;
    EXPECT_LE(std::count(answer.err.begin(), answer.err.end(), '\n'), 2) << answer.err;
  }
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(file_bytes(path_), before);
}

TEST_F(SqlTest, AnErrorNamesTheOffendingPart) {
  EXPECT_THAT(sql("SELECT id, nosuch FROM run").err,
              AllOf(HasSubstr("nosuch FROM run"), HasSubstr("--schema")));
}

TEST_F(SqlTest, AnErrorInTheMiddleLeavesTheJsonOpen) {
  const e2e::Finished answer =
      sql("SELECT abs(value) AS v FROM json_each('[1, -9223372036854775808]')", "json");
  EXPECT_EQ(answer.exit_status, 2);
  EXPECT_FALSE(nlohmann::json::accept(answer.out)) << answer.out;
}

TEST_F(SqlTest, AnErrorBeforeTheFirstRowPrintsNoEmptyTable) {
  const e2e::Finished answer = sql("SELECT abs(-9223372036854775808) AS v", "table");
  EXPECT_EQ(answer.exit_status, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr("integer overflow"));
}

TEST_F(SqlTest, AQuestionMayComeFromStdinAndEndWithASemicolon) {
  EXPECT_EQ(shell("echo 'SELECT 1 AS a; -- done' | $M sql").out, "a\n1\n");
}

TEST_F(SqlTest, AReaderThatGoesAwayIsQuiet) {
  const e2e::Finished answer = shell(
      "$M sql 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n' | head -n 2; "
      "trap '' PIPE; $M sql 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM "
      "n' | "
      "head -n 1");
  EXPECT_EQ(answer.out, "i\n1\ni\n");
  EXPECT_EQ(answer.err, "");
}

TEST_F(SqlTest, AFullDiskBehindStdoutIsAnError) {
  const e2e::Finished answer = shell("$M sql 'SELECT * FROM process' > /dev/full");
  EXPECT_EQ(answer.exit_status, 1);
  EXPECT_THAT(answer.err, HasSubstr("writing the output: No space left on device"));
}

TEST_F(SqlTest, ReadsWhileARecorderWrites) {
  const auto writer = RunWriter::begin(path_, literal_run("live"));
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->write(std::vector<Record>{literal_process(1)}));
  EXPECT_EQ(sql("SELECT state FROM run WHERE label = 'live'").out, "state\nrunning\n");
}

TEST_F(SqlTest, AtAPromptQuestionsSpanLinesAndErrorsDoNotEndIt) {
  const e2e::Finished answer = shell(
      "printf 'SELECT 40\\n+ 2 AS answer;\\nSELEC;\\n.schema clock\\n.quit\\n' | "
      "script -qec \"$M sql\" /dev/null");
  EXPECT_EQ(answer.exit_status, 0) << answer.err;
  EXPECT_THAT(answer.out,
              AllOf(HasSubstr("answer"), HasSubstr("42"), HasSubstr("syntax error"), HasSubstr("wall_ns")));
}

}  // namespace
}  // namespace memlog::testing
