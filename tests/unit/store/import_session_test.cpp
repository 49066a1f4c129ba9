// SPDX-License-Identifier: Apache-2.0
#include "store/import_session.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "store/run_import.h"
#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kAnyRow =
    "SELECT id FROM run UNION ALL SELECT id FROM process UNION ALL SELECT process_id FROM process_sample "
    "UNION "
    "ALL SELECT process_id FROM process_rollup UNION ALL SELECT run_id FROM unfinished_import";

ProcessSample sample_at(int64_t tick) { return literal_sample(1, tick, 5); }

class ImportSessionTest : public ::testing::Test {
 protected:
  RunImport begin_run(ImportSession& session) {
    return *RunImport::begin(database(), *session.reserve_run(), literal_run(), {0});
  }
  // Opened when it is first wanted: a child must not inherit it.
  Database& database() {
    if (!database_) database_.emplace(*Database::open(path_, Database::Mode::create));
    return *database_;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";

 private:
  std::optional<Database> database_;
};

TEST_F(ImportSessionTest, NothingIsSeenOfARunUntilAllOfItIsThere) {
  ImportSession session = *ImportSession::begin(database());
  RunImport run = begin_run(session);
  const int64_t process = *run.add_process(7, "worker", kStart);
  ASSERT_TRUE(run.add_sample(process, sample_at(0)).ok());
  ASSERT_TRUE(run.flush().ok());
  ASSERT_TRUE(session.commit_part().ok());
  EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process_sample"), ElementsAre("1"));
  EXPECT_THAT(rows_of(path_, "SELECT id FROM run"), IsEmpty());
  EXPECT_THAT(rows_of(path_, "SELECT run FROM memory"), IsEmpty());
  const RunRow row = *run.finish();
  ASSERT_TRUE(session.publish({row}).ok());
  EXPECT_THAT(rows_of(path_, "SELECT run FROM memory"), ElementsAre("1"));
  EXPECT_THAT(rows_of(path_, "SELECT run_id FROM unfinished_import"), IsEmpty());
}

TEST_F(ImportSessionTest, WhatIsNotPublishedIsTakenAwayAgain) {
  {
    ImportSession session = *ImportSession::begin(database());
    RunImport run = begin_run(session);
    const int64_t process = *run.add_process(7, "worker", kStart);
    for (int64_t tick = 0; tick < 50'000; ++tick) ASSERT_TRUE(run.add_sample(process, sample_at(tick)).ok());
    ASSERT_TRUE(run.flush().ok());
    ASSERT_TRUE(session.commit_part().ok());
    EXPECT_THAT(rows_of(path_, "SELECT count(*) FROM process_sample"), ElementsAre("50000"));
  }
  EXPECT_THAT(rows_of(path_, kAnyRow), IsEmpty());
}

TEST_F(ImportSessionTest, WhatAKilledImportLeftIsTakenAwayByTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    ImportSession session = *ImportSession::begin(database());
    RunImport run = begin_run(session);
    const int64_t process = *run.add_process(8, "killed", kStart);
    static_cast<void>(run.add_sample(process, sample_at(0)));
    static_cast<void>(run.flush());
    static_cast<void>(session.commit_part());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(rows_of(path_, "SELECT name FROM process"), ElementsAre("killed"));
  ImportSession living = *ImportSession::begin(database());
  begin_run(living);
  ASSERT_TRUE(living.publish({}).ok());
  ASSERT_TRUE(remove_broken_imports(database()).ok());
  EXPECT_THAT(rows_of(path_, kAnyRow), IsEmpty());
}

TEST_F(ImportSessionTest, AnImportUnderWayIsLeftAlone) {
  ImportSession session = *ImportSession::begin(database());
  begin_run(session);
  ASSERT_TRUE(session.commit_part().ok());
  Result<Database> other = Database::open(path_, Database::Mode::read);
  EXPECT_TRUE(remove_broken_imports(*other).ok());  // there is nothing to remove: nothing is written
  EXPECT_THAT(rows_of(path_, "SELECT run_id FROM unfinished_import"), ElementsAre("1"));
}

TEST_F(ImportSessionTest, ARecordingGoesOnWhileABigImportIsUnderWay) {
  const auto writer = *RunWriter::begin(path_, literal_run("recorded"));
  ASSERT_TRUE(writer->write(std::vector<Record>{literal_process(1)}).ok());
  std::atomic<bool> is_done = false;
  std::atomic<int> rounds = 0;
  std::thread importer([&] {
    ImportSession session = *ImportSession::begin(database());
    RunImport run = *RunImport::begin(database(), *session.reserve_run(), literal_run("imported"), {0});
    const int64_t process = *run.add_process(7, "worker", kStart);
    for (int64_t tick = 0; !is_done && tick < 50'000'000; ++tick) {
      static_cast<void>(run.add_sample(process, sample_at(tick)));
      if (tick % 256 != 0 || !session.is_due()) continue;
      static_cast<void>(run.flush());
      static_cast<void>(session.commit_part());
      ++rounds;
    }
    static_cast<void>(session.publish({*run.finish()}));
  });
  int64_t tick = 0;
  for (; rounds < 3 && tick < 100'000; ++tick) {
    ASSERT_TRUE(writer->write(std::vector<Record>{literal_sample(1, tick, 5)}).ok());
    usleep(1000);
  }
  is_done = true;
  importer.join();
  EXPECT_GE(rounds, 3);
  EXPECT_THAT(rows_of(path_, "SELECT sample_count FROM process WHERE name = 'worker' AND pid = 1001"),
              ElementsAre(std::to_string(tick)));
  EXPECT_THAT(rows_of(path_, "SELECT label FROM run ORDER BY label"), ElementsAre("imported", "recorded"));
}

}  // namespace
}  // namespace memlog::testing
