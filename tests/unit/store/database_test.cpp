// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "store/schema.h"
#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DatabaseTest : public ::testing::Test {
 protected:
  // What opening says, "" where it succeeds.
  std::string refusal(Database::Mode mode) const { return refusal(path_, mode); }
  static std::string refusal(const std::string& path, Database::Mode mode) {
    const Result<Database> database = Database::open(path, mode);
    return database ? "" : database.error().doing + ": " + database.error().reason;
  }
  // A database of ours with a run in it, closed.
  void make_recorded() const {
    const auto writer = RunWriter::begin(path_, literal_run());
    ASSERT_TRUE(writer);
    std::vector<Record> records = {literal_process(1)};
    for (int64_t tick = 0; tick < 1000; ++tick) records.emplace_back(literal_sample(1, tick, tick));
    ASSERT_TRUE((*writer)->write(records));
  }
  void set_pragma(const std::string& pragma) const {
    Result<Database> database = Database::open(path_, Database::Mode::write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("PRAGMA " + pragma));
  }
  void expect_refused_unharmed(const std::string& reason) const {
    const std::string before = file_bytes(path_);
    for (const auto mode : {Database::Mode::read, Database::Mode::write, Database::Mode::create}) {
      EXPECT_THAT(refusal(mode), AllOf(HasSubstr(path_), HasSubstr(reason)));
      EXPECT_EQ(file_bytes(path_), before);
      EXPECT_THAT(directory_.names(), ElementsAre("memlog.db"));
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

constexpr Database::Mode kEveryMode[] = {Database::Mode::read, Database::Mode::write, Database::Mode::create};

TEST_F(DatabaseTest, AMissingFileIsMadeOnlyForARecording) {
  EXPECT_THAT(refusal(Database::Mode::read), HasSubstr("no such file"));
  EXPECT_THAT(refusal(Database::Mode::write), HasSubstr("no such file"));
  EXPECT_THAT(directory_.names(), ElementsAre());
  EXPECT_EQ(refusal(Database::Mode::create), "");
  EXPECT_THAT(refusal(directory_ / "no/such/memlog.db", Database::Mode::create),
              HasSubstr("there is no directory"));
}

TEST_F(DatabaseTest, ANewFileIsItsOwnersOnly) {
  const Result<Database> database = Database::open(path_, Database::Mode::create);
  ASSERT_TRUE(database);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status{};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << suffix;
  }
}

TEST_F(DatabaseTest, UnderSudoTheFilesBelongToTheInvokingUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  setenv("SUDO_UID", "1234", 1);
  setenv("SUDO_GID", "1235", 1);
  const Result<Database> database = Database::open(path_, Database::Mode::create);
  unsetenv("SUDO_UID");
  unsetenv("SUDO_GID");
  ASSERT_TRUE(database);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status{};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 1234U) << suffix;
    EXPECT_EQ(status.st_gid, 1235U) << suffix;
  }
}

TEST_F(DatabaseTest, AWriterUsesWalAndWaitsForTheDisk) {
  Result<Database> database = Database::open(path_, Database::Mode::create);
  ASSERT_TRUE(database);
  EXPECT_THAT(rows_of(*database, "PRAGMA journal_mode"), ElementsAre("wal"));
  EXPECT_THAT(rows_of(*database, "PRAGMA synchronous"), ElementsAre("2"));
  EXPECT_THAT(rows_of(*database, "PRAGMA foreign_keys"), ElementsAre("1"));
}

TEST_F(DatabaseTest, AFileOfANewerMemlogIsRefusedUnharmedAndBothVersionsAreNamed) {
  make_recorded();
  const int newer = newest_schema_version() + 1;
  set_pragma("user_version = " + std::to_string(newer));
  expect_refused_unharmed("newer memlog (schema version " + std::to_string(newer) + "; this memlog knows " +
                          std::to_string(newest_schema_version()));
}

TEST_F(DatabaseTest, ANewerVersionThatIsStillInTheWalIsRefusedUnharmed) {
  make_recorded();
  const pid_t child = fork();
  if (child == 0) {  // dies without closing: what it wrote stays in the WAL
    Result<Database> database = Database::open(path_, Database::Mode::write);
    _exit(database && database->execute("PRAGMA user_version = 99") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string file = file_bytes(path_);
  const std::string wal = file_bytes(path_ + "-wal");
  ASSERT_FALSE(wal.empty());
  for (const auto mode : kEveryMode) {
    EXPECT_THAT(refusal(mode), HasSubstr("schema version 99"));
    EXPECT_EQ(file_bytes(path_), file);
    EXPECT_EQ(file_bytes(path_ + "-wal"), wal);
  }
}

TEST_F(DatabaseTest, AnotherProgramsDatabaseIsRefusedUnharmed) {
  make_recorded();
  set_pragma("application_id = 7");
  expect_refused_unharmed("another program");
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsRefusedUnharmed) {
  for (const std::string& bytes : {std::string("time,rss\n1,2\n"), std::string(8192, '\0'), std::string("S"),
                                   std::string("SQLite format 3\0", 16)}) {
    write_file(path_, bytes);
    expect_refused_unharmed("not a memlog database");
  }
}

TEST_F(DatabaseTest, AnEmptyFileHoldsNothingToReadAndMayBeRecordedInto) {
  write_file(path_, "");
  EXPECT_THAT(refusal(Database::Mode::read), HasSubstr("the file is empty"));
  EXPECT_EQ(file_bytes(path_), "");
  EXPECT_EQ(refusal(Database::Mode::create), "");
}

TEST_F(DatabaseTest, ATruncatedFileIsAnErrorWhereverItIsCut) {
  make_recorded();
  const std::string whole = file_bytes(path_);
  const std::string cut = directory_ / "cut.db";
  for (size_t length = 512; length < whole.size(); length += 4096 + 512) {
    write_file(cut, whole.substr(0, length));
    EXPECT_THAT(refusal(cut, Database::Mode::read), AllOf(HasSubstr("cut.db"), HasSubstr("damaged")))
        << length;
  }
}

TEST_F(DatabaseTest, DirectoriesLinksAndDevicesAreNoDatabases) {
  make_recorded();
  const std::string link = directory_ / "link.db";
  std::filesystem::create_symlink(path_, link);
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto mode : kEveryMode) {
    EXPECT_THAT(refusal(directory_.path(), mode), HasSubstr("is a directory"));
    EXPECT_THAT(refusal(directory_.path() + "/", mode), HasSubstr("is a directory"));
    EXPECT_THAT(refusal(link, mode), HasSubstr("symbolic link"));
    EXPECT_THAT(refusal(fifo, mode), HasSubstr("not a regular file"));
  }
}

TEST_F(DatabaseTest, ADirectoryReachedThroughALinkIsFine) {
  std::filesystem::create_directory(directory_ / "real");
  std::filesystem::create_directory_symlink(directory_ / "real", directory_ / "link");
  EXPECT_EQ(refusal(directory_ / "link/memlog.db", Database::Mode::create), "");
}

TEST_F(DatabaseTest, AnotherUsersFileIsRefusedWithTheCause) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  make_recorded();
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  const auto refusal_as_nobody = [&](Database::Mode mode) {
    int answer[2];
    if (pipe(answer) != 0) return std::string("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
      const std::string text = refusal(mode);
      _exit(write(answer[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    close(answer[1]);
    char text[1024];
    const ssize_t length = read(answer[0], text, sizeof text);
    close(answer[0]);
    waitpid(child, nullptr, 0);
    return std::string(text, length > 0 ? static_cast<size_t>(length) : 0);
  };
  EXPECT_THAT(refusal_as_nobody(Database::Mode::read), HasSubstr("Permission denied"));
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  EXPECT_THAT(refusal_as_nobody(Database::Mode::write), HasSubstr("not writable"));
  EXPECT_THAT(refusal_as_nobody(Database::Mode::read),
              HasSubstr(path_));  // the directory is not theirs: no WAL
}

TEST_F(DatabaseTest, ReadersLeaveNoTransactionOpen) {
  make_recorded();
  Result<Database> database = Database::open(path_, Database::Mode::read);
  ASSERT_TRUE(database);
  rows_of(*database, "SELECT * FROM process_sample");
  EXPECT_FALSE(database->in_transaction());
  ASSERT_TRUE(Transaction::begin_reading(*database));
  EXPECT_FALSE(database->in_transaction());
}

TEST_F(DatabaseTest, AQuestionThatWritesInAnyGuiseIsRefusedAndLeavesNoFile) {
  make_recorded();
  Result<Database> database = Database::open(path_, Database::Mode::read);
  ASSERT_TRUE(database);
  database->allow_only_reading();
  const std::string other = directory_ / "other.db";
  for (const std::string& sql : {"ATTACH '" + other + "' AS other",
                                 "VACUUM INTO '" + other + "'",
                                 std::string("VACUUM"),
                                 std::string("DROP TABLE run"),
                                 std::string("DELETE FROM run"),
                                 std::string("UPDATE run SET label = 1"),
                                 std::string("INSERT INTO clock VALUES (1, 2, 3)"),
                                 std::string("CREATE TEMP TABLE t (a)"),
                                 std::string("CREATE TABLE t (a)"),
                                 std::string("BEGIN"),
                                 std::string("PRAGMA user_version = 9"),
                                 std::string("PRAGMA journal_mode = DELETE"),
                                 std::string("PRAGMA wal_checkpoint"),
                                 std::string("PRAGMA query_only = OFF"),
                                 std::string("PRAGMA writable_schema = ON"),
                                 std::string("PRAGMA temp_store_directory = '/tmp'"),
                                 std::string("SELECT load_extension('x')"),
                                 std::string("DETACH main"),
                                 std::string("REINDEX"),
                                 std::string("ANALYZE"),
                                 std::string("SAVEPOINT s"),
                                 std::string("WITH x AS (SELECT 1) DELETE FROM run"),
                                 std::string("CREATE TEMP VIEW v AS SELECT 1"),
                                 std::string("ALTER TABLE run ADD COLUMN a")}) {
    EXPECT_FALSE(database->prepare(sql).ok()) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(DatabaseTest, QuestionsOfEveryKindAreAnswered) {
  make_recorded();
  Result<Database> database = Database::open(path_, Database::Mode::read);
  ASSERT_TRUE(database);
  database->allow_only_reading();
  EXPECT_THAT(rows_of(*database, "SELECT count(*) FROM memory"), ElementsAre("1000"));
  EXPECT_THAT(rows_of(*database,
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
                      "SELECT sum(i) OVER (ORDER BY i) FROM n"),
              ElementsAre("1", "3", "6"));
  EXPECT_THAT(rows_of(*database, "SELECT name FROM pragma_table_info('clock')"),
              ElementsAre("run_id", "boot_ns", "wall_ns"));
  EXPECT_THAT(rows_of(*database, "SELECT value FROM json_each('[1,2]')"), ElementsAre("1", "2"));
  EXPECT_THAT(rows_of(*database, "PRAGMA user_version"),
              ElementsAre(std::to_string(newest_schema_version())));
  EXPECT_THAT(rows_of(*database, "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_FALSE(rows_of(*database, "EXPLAIN QUERY PLAN SELECT * FROM run").empty());
}

TEST_F(DatabaseTest, SeveralMakersOfOneFileAgree) {
  std::vector<std::thread> makers;
  makers.reserve(4);
  for (int i = 0; i < 4; ++i) makers.emplace_back([&] { EXPECT_EQ(refusal(Database::Mode::create), ""); });
  for (std::thread& maker : makers) maker.join();
  EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM run"), ElementsAre("0"));
}

TEST_F(DatabaseTest, ClosingLeavesNoFilesBesideTheDatabase) {
  make_recorded();
  EXPECT_THAT(directory_.names(), ElementsAre("memlog.db"));
}

}  // namespace
}  // namespace memlog::testing
