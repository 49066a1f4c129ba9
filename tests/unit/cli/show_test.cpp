// SPDX-License-Identifier: Apache-2.0
// memlog runs and memlog show as users see them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/harness.h"
#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ShowTest : public ::testing::Test {
 protected:
  e2e::Finished memlog(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), MEMLOG_BINARY);
    arguments.insert(arguments.end(), {"--db", path_});
    return e2e::run(arguments);
  }
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
};

TEST_F(ShowTest, RunsIsATableNewestFirst) {
  record_story(path_, "nightly");
  record_story(path_, "weekly");
  EXPECT_EQ(memlog({"runs"}).out,
            "ID  LABEL    TARGET       STARTED (UTC)        DURATION  PROCS  PEAK RSS  HOW IT ENDED\n"
            " 2  weekly   name worker  2026-06-05 12:34:56     5.0 s      5   190 MiB  1 OOM kill; the last "
            "process "
            "ended\n"
            " 1  nightly  name worker  2026-06-05 12:34:56     5.0 s      5   190 MiB  1 OOM kill; the last "
            "process "
            "ended\n");
}

TEST_F(ShowTest, RunsSaysHowManyItLeavesOut) {
  for (int i = 0; i < 3; ++i) record_story(path_);
  const e2e::Finished runs = memlog({"runs", "--limit", "1"});
  EXPECT_THAT(runs.err, HasSubstr("2 older runs"));
  EXPECT_EQ(nlohmann::json::parse(memlog({"runs", "--json", "--limit", "0"}).out).size(), 3U);
}

TEST_F(ShowTest, ShowListsDevicesWhatIsStaleAndWhatClearsIt) {
  {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, literal_run());
    for (const auto& records : {story_of_processes(), story_of_devices()})
      ASSERT_TRUE((*writer)->write(records).ok());
    ASSERT_TRUE((*writer)->end({kStart + 5 * kNsPerSecond, "the last process ended"}).ok());
  }
  const std::string page = memlog({"show", "last"}).out;
  EXPECT_THAT(page, HasSubstr("PEAK DEVICE  LAST DEVICE"));
  EXPECT_THAT(page, HasSubstr("3.00 GiB     3.00 GiB"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "\nDevices\n"
          "  REGION              DEVICE             ASIC  LAYOUT  PEAK DRAM  LAST DRAM      LIVE     GHOST  "
          "USERS\n"
          "  tt_device_7_memory       0  141176416515937       3   3.00 GiB   3.00 GiB  3.00 GiB       0 B  "
          "1001 "
          "(train.py)\n"
          "  tt_device_8_memory       1  141176416515938       3   4.00 GiB   4.00 GiB       0 B  4.00 GiB  "
          "4711 "
          "(worker, dead)\n"
          "  tt_device_9_memory       -                -       -          -          -         -         -  "
          "unreadable: Permission denied\n"
          "  ghost 4.00 GiB of a dead process 4711 (worker) in tt_device_8_memory: not counted as used\n"));
  EXPECT_THAT(page, HasSubstr("this clears them:\n    rm '/dev/shm/tt_device_8_memory'\n"));
  EXPECT_THAT(page, HasSubstr("not in lockstep: 1.00 GiB in device 0 to 4.00 GiB in device 1"));
  const nlohmann::json json = nlohmann::json::parse(memlog({"show", "last", "--json"}).out);
  EXPECT_EQ(json["devices"].size(), 3U);
  EXPECT_EQ(json["devices"][1]["last_ghost_bytes"], int64_t{4} << 30U);
  EXPECT_EQ(json["processes"][0]["peak_device_bytes"], int64_t{3} << 30U);
}

TEST_F(ShowTest, ARunWithoutDevicesSaysNothingOfThem) {
  record_story(path_);
  const std::string page = memlog({"show", "last"}).out;
  EXPECT_THAT(page, Not(HasSubstr("DEVICE")));
  EXPECT_THAT(page, Not(HasSubstr("Devices")));
}

TEST_F(ShowTest, ShowTellsTheStory) {
  record_story(path_);
  const std::string page = memlog({"show", "last"}).out;
  EXPECT_THAT(page, HasSubstr("Run 1 \"nightly\": name worker on build7\n"));
  EXPECT_THAT(page, HasSubstr("\ntrain.py "));
  EXPECT_THAT(page, HasSubstr("exit 3\n"));
  EXPECT_THAT(page, HasSubstr("│  └─ cc1plus"));
  EXPECT_THAT(page, HasSubstr("SIGKILL, OOM kill in cgroup /jobs/small (limit 32.0 MiB)\n"));
  EXPECT_THAT(page, HasSubstr("killed by SIGSEGV (core dumped)\n"));
  EXPECT_THAT(page, HasSubstr("~20.0 MiB"));  // a sampled peak is marked
  EXPECT_THAT(page, HasSubstr("samples missed: 1 (1.0 s, 12:34:57.000 to 12:34:58.000)"));
  EXPECT_THAT(page, HasSubstr("oom_score of pid 1002: Permission denied"));
  EXPECT_THAT(page, HasSubstr("least memory available: 512 MiB of 8.00 GiB"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST_F(ShowTest, ShowAsJsonHasTheSameFactsInBytesAndNanoseconds) {
  record_story(path_);
  const nlohmann::json run = nlohmann::json::parse(memlog({"show", "nightly", "--json"}).out);
  EXPECT_EQ(run["processes"].size(), 5U);
  EXPECT_EQ(run["processes"][2]["end_reason"], "oom_killed");
  EXPECT_TRUE(run["processes"][3]["last_rss_bytes"].is_null());
  EXPECT_EQ(run["oom_kills"][0]["limit_bytes"], 32 * kMib);
  EXPECT_EQ(run["gaps"].size(), 2U);
}

TEST_F(ShowTest, ARunOfHundredsOfProcessesFitsAPageAndSaysWhatIsLeftOut) {
  {
    const auto writer = RunWriter::begin(path_, literal_run());
    ASSERT_TRUE(writer);
    std::vector<Record> records;
    for (ProcessKey key = 1; key <= 300; ++key) {
      records.emplace_back(literal_process(key));
      records.emplace_back(literal_sample(key, 0, key * kMib));
    }
    ASSERT_TRUE((*writer)->write(records));
  }
  const std::string page = memlog({"show"}).out;
  EXPECT_LT(std::count(page.begin(), page.end(), '\n'), 80);
  EXPECT_THAT(page, HasSubstr("… and 240 processes more, the largest of them 240 MiB"));
  const std::string all = memlog({"show", "--all"}).out;
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 300);
}

TEST_F(ShowTest, AnUnknownRunIsRefusedWithTheNearest) {
  record_story(path_);
  const e2e::Finished refused = memlog({"show", "nihgtly"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("nihgtly"), HasSubstr("nightly")));
}

TEST_F(ShowTest, ADamagedFileIsAnErrorNotACrash) {
  record_story(path_);
  std::string bytes = file_bytes(path_);
  for (size_t at = 4096; at < bytes.size(); at += 4096) bytes[at] = '\x7F';  // every page's type
  write_file(path_, bytes);
  for (const char* command : {"runs", "show", "sql"}) {
    std::vector<std::string> arguments = {command};
    if (arguments[0] == "sql") arguments.emplace_back("SELECT * FROM process_sample, run, process");
    const e2e::Finished finished = memlog(arguments);
    EXPECT_TRUE(finished.exit_status == 1 || finished.exit_status == 2) << command << finished.exit_status;
    EXPECT_THAT(finished.err, AllOf(HasSubstr("memlog: "), HasSubstr("damaged"))) << command;
  }
}

}  // namespace
}  // namespace memlog::testing
