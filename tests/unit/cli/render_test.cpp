// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "cli/render_window.h"
#include "support/timelines.h"

namespace memlog {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBegin;
using testing::kSecond;
using ::testing::UnorderedElementsAre;

constexpr int64_t kEnd = kBegin + 3600 * kSecond;

int64_t moment(std::string_view text) {
  const Result<int64_t> moment = parse_moment(text, kBegin, kEnd, Zone::utc);
  return moment.ok() ? (*moment - kBegin) / kSecond : -1;
}

TEST(ParseMoment, TakesTimesOfDayDatesAndSpansFromEitherEnd) {
  EXPECT_EQ(moment("12:30"), 1800);
  EXPECT_EQ(moment("12:00:05"), 5);
  EXPECT_EQ(moment("2026-06-05 12:10"), 600);
  EXPECT_EQ(moment("2026-06-05T12:10:01Z"), 601);
  EXPECT_EQ(moment("2026-06-06"), 43200);
  EXPECT_EQ(moment("10m"), 600);
  EXPECT_EQ(moment("+10m"), 600);
  EXPECT_EQ(moment("-10m"), 3000);
}

TEST(ParseMoment, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "noon", "25:00", "12:60", "2026-13-01 12:00", "2026-06-05 12", "12:00:00:00", "--1m"}) {
    EXPECT_FALSE(parse_moment(text, kBegin, kEnd, Zone::utc).ok()) << text;
  }
}

// A folder of its own, made the working directory, with one CSV file in it.
class RenderCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/memlog-render-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    std::ofstream("pid_memory.csv")
        << "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score\r\n"
           "2026-06-05T12:00:00.000000+00:00,7,worker,1048576,1.0,0,0.0,667\r\n"
           "2026-06-05T12:00:01.000000+00:00,7,worker,2097152,2.0,0,0.0,668\r\n";
    options_.files = {"pid_memory.csv"};
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  static std::vector<std::string> made() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(".")) {
      if (entry.path().filename() != "pid_memory.csv") names.push_back(entry.path().filename());
    }
    return names;
  }

  RenderOptions options_;

 private:
  std::string folder_;
  std::filesystem::path before_;
};

TEST_F(RenderCommand, DrawsACsvFileAsAPngWhenNothingIsSaid) {
  EXPECT_EQ(run_render(options_), 0);
  EXPECT_THAT(made(), UnorderedElementsAre("pid_memory.png"));
}

TEST_F(RenderCommand, ADefaultNameLeavesAStrangersFileAlone) {
  std::ofstream("pid_memory.png") << "mine";
  EXPECT_EQ(run_render(options_), 0);
  EXPECT_THAT(made(), UnorderedElementsAre("pid_memory.png", "pid_memory-2.png"));
  EXPECT_EQ(std::filesystem::file_size("pid_memory.png"), 4U);
}

TEST_F(RenderCommand, SeveralFilesBecomeOnePictureAndOnePage) {
  options_.files.emplace_back("pid_memory.csv");
  options_.png = "both.png";
  options_.html = "both.html";
  EXPECT_EQ(run_render(options_), 0);
  EXPECT_THAT(made(), UnorderedElementsAre("both.png", "both.html"));
}

TEST_F(RenderCommand, AnImpossibleSizeIsBadUsageAndLeavesNoFile) {
  options_.width = 40000;
  try {
    run_render(options_);
    ADD_FAILURE();
  } catch (const FatalError& failure) {
    EXPECT_EQ(failure.exit_status(), FatalError::kBadUsage);
    EXPECT_THAT(failure.error().reason, HasSubstr("32767"));
  }
  EXPECT_THAT(made(), IsEmpty());
}

TEST_F(RenderCommand, AForeignOrMissingFileOrTargetLeavesNoFile) {
  std::ofstream("foreign.csv") << "a,b\n1,2\n";
  for (const char* file : {"foreign.csv", "missing.csv"}) {
    options_.files = {file};
    EXPECT_THROW(run_render(options_), FatalError) << file;
  }
  options_.files = {"pid_memory.csv"};
  options_.png = "missing/picture.png";
  EXPECT_THROW(run_render(options_), FatalError);
  EXPECT_THAT(made(), UnorderedElementsAre("foreign.csv"));
}

TEST_F(RenderCommand, ARunsNameAfterPngIsNotTakenForAFile) {
  options_.png = "last";
  EXPECT_THROW(run_render(options_), FatalError);
  EXPECT_THAT(made(), IsEmpty());
}

}  // namespace
}  // namespace memlog
