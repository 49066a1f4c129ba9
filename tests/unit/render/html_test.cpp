// SPDX-License-Identifier: Apache-2.0
#include "render/html.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "render/thin_points.h"
#include "render/timeline_json.h"
#include "render/web_assets.h"
#include "support/timelines.h"

namespace memlog {
namespace {

using ::testing::HasSubstr;
using testing::kBegin;
using testing::kMiB;
using testing::kSecond;
using ::testing::Not;

std::string render(const Timeline& timeline) { return render_html(std::span(&timeline, 1), {}); }

std::string between(const std::string& page, const std::string& begin, const std::string& end) {
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find(end, from) - from);
}

nlohmann::json data_of(const std::string& page) {
  return nlohmann::json::parse(between(page, "id=\"report-data\">", "</script>"));
}

struct Columns {
  std::vector<int64_t> time_us, mean, low, high;
};
Columns columns_of(const nlohmann::json& series) {
  Columns columns;
  int64_t time_us = 0;
  int64_t mean = 0;
  for (size_t at = 0; at < series["t"].size(); ++at) {
    columns.time_us.push_back(time_us += series["t"][at].get<int64_t>());
    columns.mean.push_back(mean += series["v"][at].get<int64_t>());
    columns.low.push_back(mean - (series.contains("lo") ? series["lo"][at].get<int64_t>() : 0));
    columns.high.push_back(mean + (series.contains("hi") ? series["hi"][at].get<int64_t>() : 0));
  }
  return columns;
}

TEST(Html, HoldsEachSampleExactly) {
  const Timeline timeline = testing::timeline(
      {testing::process(1, 7, "a", {testing::raw_series("rss_bytes", {4096, 9007199254740993, 0}, 2, 5)})},
      9);
  const nlohmann::json run = data_of(render(timeline))["runs"][0];
  const Columns columns = columns_of(run["processes"][0]["series"][0]);
  EXPECT_EQ(columns.mean, (std::vector<int64_t>{4096, 9007199254740993, 0}));
  EXPECT_EQ(columns.time_us, (std::vector<int64_t>{5000000, 7000000, 9000000}));
  EXPECT_EQ(run["begin_ms"], kBegin / 1000000);
}

TEST(Html, NamesCannotLeaveTheirPlace) {
  for (const testing::Scene& scene : testing::scenes()) {
    if (scene.name != "hostile") continue;
    const std::string page = render_html(scene.timelines, {});
    EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
    EXPECT_THAT(page, Not(HasSubstr("<!--<script>")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;b&gt;"));
    EXPECT_EQ(data_of(page)["runs"][0]["processes"][0]["name"], "</script><b>");
    EXPECT_THAT(between(page, "id=\"report-data\">", "</script>"), Not(HasSubstr("<")));
  }
}

TEST(Html, AsksNothingOfAnyNetwork) {
  const std::string page = render(testing::single_process_scene());
  const std::regex address(R"re((src|href|url|action|import)\s*[=(]\s*["']?\s*(https?:)?//)re",
                           std::regex::icase);
  EXPECT_FALSE(std::regex_search(page, address));
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-eval")));
  EXPECT_THAT(page, HasSubstr("Permission is hereby granted"));
}

TEST(Html, StaysBelowItsSizeWhateverTheRun) {
  Timeline huge = testing::many_processes_scene(1);
  huge.processes.clear();
  for (int64_t id = 1; id <= 600; ++id) {
    const auto rss = [id](double x) {
      return (id * 7919 % 1000 + static_cast<int64_t>(x * 99991) * 31 % 5000) * kMiB;
    };
    huge.processes.push_back(testing::process(
        id, id, std::string(200, 'n'), {testing::thinned_series("rss_bytes", 2000, 1, rss, 3 * kMiB + 17)}));
    huge.processes.back().cmdline = std::string(4000, '"');
  }
  for (int64_t at = 0; at < 50000; ++at) {
    huge.events.push_back({kBegin + at * kSecond / 40, EventKind::exec, 1, std::string(500, '<')});
    huge.gaps.push_back({kBegin + at * kSecond / 40, kBegin + at * kSecond / 40 + 1, GapKind::late_tick,
                         std::string(500, '&')});
  }
  huge.notes.assign(20, std::string(300, 'x'));
  const std::string page = render(huge);
  EXPECT_LT(page.size(), kMostHtmlBytes);
  EXPECT_GE(data_of(page)["runs"][0]["processes"].size(), 8U);
}

TEST(Html, KeepsThePeakAndTheEndOfALongRun) {
  TimelineSeries rss = testing::thinned_series("rss_bytes", 9000, 1, [](double) { return 100 * kMiB; }, 0);
  rss.points[4321].max = 9216 * kMiB;
  rss.points[8999].last = rss.points[8999].min = 3;
  const Timeline timeline = testing::timeline({testing::process(1, 7, "a", {rss})}, 9000);
  const nlohmann::json series = data_of(render(timeline))["runs"][0]["processes"][0]["series"][0];
  const Columns columns = columns_of(series);
  EXPECT_LE(columns.mean.size(), 2000U);
  EXPECT_EQ(*std::max_element(columns.high.begin(), columns.high.end()), 9216 * kMiB);
  EXPECT_EQ(columns.low.back(), 3);
}

TEST(Html, TheFactsCanBeReadWithoutAnyScript) {
  const std::string page = render(testing::oom_scene());
  const std::string body = between(page, "<body>", "<script");
  EXPECT_THAT(body, HasSubstr("<h1>worker on build-17</h1>"));
  EXPECT_THAT(body, HasSubstr("one of 4 processes was killed for memory"));
  EXPECT_THAT(body, HasSubstr("killed for memory (OOM)"));
  EXPECT_THAT(body, HasSubstr("title=\"817889280 bytes, the kernel's high-water mark\""));
  EXPECT_THAT(body, HasSubstr("OOM kill: worker (900)"));
}

TEST(Html, DevicesAreTogetherAndOneByOneAndTheProcessesShareIsAColumn) {
  const std::string page = render(testing::device_scene(8, 4));
  const nlohmann::json run = data_of(page)["runs"][0];
  EXPECT_EQ(run["device_count"], 8);
  EXPECT_EQ(run["devices"].size(), 8U);
  EXPECT_EQ(run["devices"][1]["series"][0]["peak"], int64_t{4} << 30U);
  EXPECT_EQ(run["device_totals"].size(), 4U);
  EXPECT_THAT(page, HasSubstr("<th class=\"number\">Peak device DRAM</th>"));
  EXPECT_THAT(page, HasSubstr("<li class=\"bad\">ghost 4.00 GiB of a dead process 4711 (worker)"));
  EXPECT_THAT(render(testing::single_process_scene()), Not(HasSubstr("Peak device DRAM")));
}

TEST(Html, NothingRecordedIsStillAPage) {
  const Timeline nothing;
  EXPECT_EQ(data_of(render(nothing))["runs"].size(), 1U);
  EXPECT_THAT(render_html({}, {}), HasSubstr("</html>"));
}

TEST(ThinPoints, NoExtremeBreakOrEndIsLost) {
  std::vector<TimelinePoint> points = testing::raw_series("x", std::vector<int64_t>(1000, 5)).points;
  points[77].max = 900;
  points[500].follows_a_break = true;
  points[999].last = 1;
  points[998].min = -4;
  const std::vector<TimelinePoint> thin = thin_points(points, 100);
  EXPECT_LE(thin.size(), 102U);
  EXPECT_EQ(thin.front().begin_ns, points.front().begin_ns);
  EXPECT_EQ(thin.back().end_ns, points.back().end_ns);
  EXPECT_EQ(thin.back().last, 1);
  EXPECT_EQ(thin.back().min, -4);
  size_t breaks = 0;
  int64_t highest = 0;
  for (const TimelinePoint& point : thin) {
    if (point.follows_a_break) {
      ++breaks;
      EXPECT_EQ(point.begin_ns, points[500].begin_ns);
    }
    highest = std::max(highest, point.max);
  }
  EXPECT_EQ(breaks, 1U);
  EXPECT_EQ(highest, 900);
}

TEST(ThinPoints, BreaksEverywhereAreStillBounded) {
  std::vector<TimelinePoint> points = testing::raw_series("x", std::vector<int64_t>(1000, 5)).points;
  for (TimelinePoint& point : points) point.follows_a_break = true;
  EXPECT_LE(thin_points(points, 50).size(), 100U);
}

TEST(Base64, MatchesTheStandardsExamples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(bytes_of_hex("00ff10")), "AP8Q");
}

}  // namespace
}  // namespace memlog
