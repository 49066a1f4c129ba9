// SPDX-License-Identifier: Apache-2.0
// The built program's command line: what it refuses and how it says so.
#include <gmock/gmock.h>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Finished memlog(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MEMLOG_BINARY);
  return run(arguments);
}

TEST(CommandLine, HelpNamesEverySubcommandAndEachHasExamples) {
  const Finished help = memlog({"--help"});
  EXPECT_EQ(help.exit_status, 0);
  EXPECT_EQ(help.err, "");
  for (const char* command : {"trace", "run", "runs", "show", "sql"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + command + " "));
    const Finished own = memlog({command, "--help"});
    EXPECT_EQ(own.exit_status, 0) << command;
    EXPECT_THAT(own.out, AllOf(HasSubstr(std::string("Usage: memlog ") + command), HasSubstr("Examples:")));
  }
}

TEST(CommandLine, VersionIsOneLine) {
  const Finished version = memlog({"--version"});
  EXPECT_EQ(version.exit_status, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("memlog [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string named;  // what the message must name
};

TEST(CommandLine, BadUsageIsOneLineAndAHintOnStderrAndStatusTwo) {
  for (const Refusal& refusal :
       std::vector<Refusal>{{{}, "command"},
                            {{"bogus"}, "bogus"},
                            {{"--bogus"}, "bogus"},
                            {{"trace"}, "--name"},
                            {{"trace", "--name"}, "--name"},
                            {{"trace", "--name", "x", "--interval", "999us"}, "1ms"},
                            {{"trace", "--name", "x", "--interval", "soon"}, "soon"},
                            {{"trace", "--name", "x", "--duration", "0"}, "--duration"},
                            {{"trace", "--pid", "abc"}, "abc"},
                            {{"run", "make", "all"}, "make"},
                            {{"run"}, "--"},
                            {{"run", "--"}, "--"},
                            {{"runs", "--limit", "-1"}, "-1"},
                            {{"runs", "extra"}, "extra"},
                            {{"render", "--process", ""}, "--process"},
                            {{"render", "--scale", "-1"}, "--scale '-1'"},
                            {{"render", "--scale", "nan"}, "--scale"},
                            {{"render", "--width", "-5"}, "--width '-5'"},
                            {{"render", "--width", "wide"}, "wide"},
                            {{"render", "--height", "-5"}, "--height '-5'"},
                            {{"render", "--height", "50"}, "50 pixels"},
                            {{"render", "--theme", "pink"}, "pink"},
                            {{"render", "--align", "left"}, "left"},
                            {{"render", "--since", "yesterday"}, "yesterday"},
                            {{"render", "--metrics", "rss,cpu"}, "'cpu'"},
                            {{"render", "--from-csv"}, "--from-csv"},
                            {{"export", "--csv"}, "--csv"},
                            {{"import"}, "FILE"},
                            {{"sql", "--format", "xml", "SELECT 1"}, "xml"}}) {
    const Finished finished = memlog(refusal.arguments);
    EXPECT_EQ(finished.exit_status, 2) << refusal.named << finished.err;
    EXPECT_EQ(finished.out, "") << refusal.named;
    EXPECT_THAT(finished.err, AllOf(::testing::StartsWith("memlog: "), HasSubstr(refusal.named)));
    EXPECT_LE(std::count(finished.err.begin(), finished.err.end(), '\n'), 2) << finished.err;
  }
}

TEST(CommandLine, WhatCanBeDrawnIsNamedAsTheOptionTakesIt) {
  const Finished finished = memlog({"render", "--metrics", "rss_mb"});
  EXPECT_THAT(finished.err, HasSubstr("there are rss, anon, file, shmem, swap, hugetlb, oom, dram\n"));
}

TEST(CommandLine, AnUnknownRunIsBadUsageAndAFileThatCannotBeReadAFailure) {
  const TempDir directory;
  const std::string database = directory / "m.db";
  ASSERT_EQ(memlog({"run", "--no-bpf", "--quiet", "--db", database, "--", "true"}).exit_status, 0);
  for (const char* command : {"show", "export", "render"}) {
    const Finished finished = memlog({command, "no-such-run", "--db", database});
    EXPECT_EQ(finished.exit_status, 2) << command;
    EXPECT_THAT(finished.err, HasSubstr("no-such-run")) << command;
  }
  EXPECT_EQ(memlog({"import", directory / "none.csv", "--db", database}).exit_status, 1);
  EXPECT_EQ(memlog({"render", "--from-csv", directory / "none.csv"}).exit_status, 1);
  EXPECT_EQ(memlog({"export", "last", "--csv", "/dev/full", "--db", database}).exit_status, 1);
}

TEST(CommandLine, WorkOfMoreThanASecondIsToldOnATerminalAndNowhereElse) {
  const TempDir directory;
  const std::string import =
      "(printf 'timestamp_utc,rss_bytes\\n'; sleep 1.7; printf "
      "'2026-06-05T12:34:56+00:00,5\\n') | " MEMLOG_BINARY " import - --db " +
      (directory / "m.db");
  const Finished on_terminal = run({"script", "-qec", import, "/dev/null"});
  EXPECT_THAT(on_terminal.out, AllOf(HasSubstr("reading stdin: 0 rows"), HasSubstr("run 1: -, 1 samples")));
  const Finished elsewhere = run({"sh", "-c", import});
  EXPECT_EQ(elsewhere.err, "");
}

TEST(CommandLine, TheLicencesOfAllThatIsInsideArePrintedEitherWay) {
  const Finished licences = memlog({"licenses"});
  EXPECT_EQ(licences.exit_status, 0);
  for (const char* part : {"plotly.js", "libbpf", "SQLite", "fmt", "CLI11", "nlohmann", "cpp-httplib",
                           "Cairo", "zlib", "Permission is hereby granted", "Apache-2.0"})
    EXPECT_THAT(licences.out, HasSubstr(part)) << part;
  EXPECT_EQ(memlog({"--licenses"}).out, licences.out);
}

TEST(CommandLine, WordsAfterTheDashesAreTheCommandsOwn) {
  const TempDir directory;
  const Finished finished = memlog({"run", "--no-bpf", "--quiet", "--db", directory / "m.db", "--", "sh",
                                    "-c", "echo $0 $1 $2; exit 7", "--help", "--", "x"});
  EXPECT_EQ(finished.exit_status, 7) << finished.err;
  EXPECT_EQ(finished.out, "--help -- x\n");
}

TEST(CommandLine, AMissingDatabaseIsNamedWithAHint) {
  const TempDir directory;
  for (const char* command : {"runs", "show", "sql"}) {
    const Finished finished = memlog({command, "--db", directory / "none.db"});
    EXPECT_EQ(finished.exit_status, 1) << command;
    EXPECT_THAT(finished.err, AllOf(HasSubstr("none.db"), HasSubstr("no such file"), HasSubstr("hint:")));
  }
}

}  // namespace
}  // namespace memlog::e2e
