// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "render/chart_layout.h"
#include "support/timelines.h"

namespace memlog {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kBegin;
using testing::kMiB;
using testing::kSecond;
using ::testing::Not;

// Every character is as wide as a usual font's average one: the layout must hold for any font.
double plain_width(std::string_view text, double size, bool bold) {
  return static_cast<double>(text.size()) * size * (bold ? 0.62 : 0.56);
}

Picture lay(std::span<const Timeline> timelines, const ChartOptions& options = {}) {
  return lay_chart(timelines, options, plain_width);
}
Picture lay(const Timeline& timeline, const ChartOptions& options = {}) {
  return lay(std::span(&timeline, 1), options);
}

template <typename Kind>
std::vector<Kind> all(const Picture& picture) {
  std::vector<Kind> found;
  for (const Shape& shape : picture.shapes) {
    if (const Kind* one = std::get_if<Kind>(&shape)) found.push_back(*one);
  }
  return found;
}

std::vector<std::string> texts(const Picture& picture) {
  std::vector<std::string> texts;
  for (const Label& label : all<Label>(picture)) texts.push_back(label.text);
  return texts;
}

std::vector<Point> points_of(const Picture& picture) {
  std::vector<Point> points;
  for (const Polyline& line : all<Polyline>(picture))
    points.insert(points.end(), line.points.begin(), line.points.end());
  for (const Polygon& area : all<Polygon>(picture))
    points.insert(points.end(), area.points.begin(), area.points.end());
  for (const Marker& marker : all<Marker>(picture)) points.push_back(marker.centre);
  for (const Label& label : all<Label>(picture)) {
    points.push_back({label.box.x, label.box.y});
    points.push_back({label.box.right(), label.box.bottom()});
  }
  for (const Box& box : all<Box>(picture)) points.push_back({box.area.right(), box.area.bottom()});
  for (const Hatch& hatch : all<Hatch>(picture)) points.push_back({hatch.area.right(), hatch.area.bottom()});
  return points;
}

std::vector<Polyline> curves(const Picture& picture) {
  std::vector<Polyline> found;
  for (const Polyline& line : all<Polyline>(picture)) {
    if (line.role == Role::curve) found.push_back(line);
  }
  return found;
}

struct Size {
  int width;
  int height;
};
class EveryScene : public ::testing::TestWithParam<Size> {
 protected:
  ChartOptions options() const {
    ChartOptions options;
    options.width = GetParam().width;
    options.height = GetParam().height;
    return options;
  }
};

TEST_P(EveryScene, LiesInsideThePictureWithoutANonNumber) {
  for (const testing::Scene& scene : testing::scenes()) {
    const Picture picture = lay(scene.timelines, options());
    for (const Point& point : points_of(picture)) {
      ASSERT_TRUE(std::isfinite(point.x) && std::isfinite(point.y)) << scene.name;
      ASSERT_GE(point.x, -1) << scene.name;
      ASSERT_LE(point.x, picture.width + 1) << scene.name;
      ASSERT_GE(point.y, -1) << scene.name;
      ASSERT_LE(point.y, picture.height + 1) << scene.name;
    }
  }
}

TEST_P(EveryScene, HasNoTextOverAnother) {
  for (const testing::Scene& scene : testing::scenes()) {
    const std::vector<Label> labels = all<Label>(lay(scene.timelines, options()));
    for (size_t left = 0; left < labels.size(); ++left) {
      for (size_t right = left + 1; right < labels.size(); ++right) {
        EXPECT_FALSE(labels[left].box.overlaps(labels[right].box))
            << scene.name << ": '" << labels[left].text << "' and '" << labels[right].text << "'";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, EveryScene,
                         ::testing::Values(Size{1600, 0}, Size{640, 360}, Size{3840, 2160}, Size{900, 1400}),
                         [](const auto& param) {
                           return std::to_string(param.param.width) + "x" +
                                  std::to_string(param.param.height);
                         });

TEST(ChartLayout, NoLineCrossesAGap) {
  const Picture picture = lay(testing::gap_scene());
  const std::vector<Hatch> gaps = all<Hatch>(picture);
  ASSERT_EQ(gaps.size(), 1U);
  const std::vector<Polyline> lines = curves(picture);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_LE(lines[0].points.back().x, gaps[0].area.x + 0.01);
  EXPECT_GE(lines[1].points.front().x, gaps[0].area.right() - 0.01);
}

TEST(ChartLayout, OneSampleIsADotAndAPeakWithItsTime) {
  const Timeline one =
      testing::timeline({testing::process(1, 7, "a", {testing::raw_series("rss_bytes", {50 * kMiB})})}, 0);
  const Picture picture = lay(one);
  size_t dots = 0;
  for (const Marker& marker : all<Marker>(picture)) dots += marker.mark == Mark::dot ? 1 : 0;
  EXPECT_EQ(dots, 1U);
  EXPECT_THAT(texts(picture), Contains("50.0 MiB at 12:00:00.00"));
}

TEST(ChartLayout, OneDeviceHasOnePanelAndSeveralHaveTheirSpreadBesideTheirSum) {
  EXPECT_THAT(texts(lay(testing::device_scene(1, 0))), Contains("Device DRAM"));
  EXPECT_THAT(texts(lay(testing::device_scene(1, 0))), Not(Contains("Device DRAM, each device")));
  const std::vector<std::string> several = texts(lay(testing::device_scene(32, 0)));
  EXPECT_THAT(several, Contains("Device DRAM, all 32 devices"));
  EXPECT_THAT(several, Contains("Device DRAM, each device"));
  EXPECT_THAT(several, Not(Contains("ghost of dead processes")));
}

TEST(ChartLayout, AGhostIsDrawnApartAndSaidAtTheTop) {
  const std::vector<std::string> words = texts(lay(testing::device_scene(8, 4)));
  EXPECT_THAT(words, Contains("ghost of dead processes"));
  EXPECT_THAT(words, Contains(HasSubstr("ghost 4.00 GiB of a dead process 4711 (worker)")));
  EXPECT_THAT(words, Contains(HasSubstr("not in lockstep: 612 MiB in device 0 to 4.00 GiB in device 1")));
}

TEST(ChartLayout, DevicesOnlyWhenTheyAreAskedFor) {
  ChartOptions options;
  options.metrics = {"dram_bytes"};
  EXPECT_THAT(texts(lay(testing::device_scene(2, 0), options)), Not(Contains(HasSubstr("Resident"))));
  options.metrics = {"rss_bytes"};
  EXPECT_THAT(texts(lay(testing::device_scene(2, 0), options)), Not(Contains(HasSubstr("Device"))));
}

TEST(ChartLayout, NoSamplesAreSaid) {
  EXPECT_THAT(texts(lay(testing::timeline({}, 30))), Contains("no samples"));
}

TEST(ChartLayout, ASpikeReachesItsHeightInAColumnOfItsOwn) {
  const Picture picture = lay(testing::spike_scene());
  double highest = picture.height;
  double lowest_of_line = 0;
  for (const Polygon& area : all<Polygon>(picture)) {
    if (area.role != Role::band) continue;
    for (const Point& point : area.points) highest = std::min(highest, point.y);
  }
  for (const Polyline& line : curves(picture)) {
    for (const Point& point : line.points) lowest_of_line = std::max(lowest_of_line, point.y);
  }
  EXPECT_GT(lowest_of_line - highest, 600);
  EXPECT_THAT(texts(picture), Contains("9.00 GiB at 15:25:00"));
}

TEST(ChartLayout, TheSmallProcessesAreSummedAndCalledSo) {
  const std::vector<std::string> words = texts(lay(testing::many_processes_scene(200)));
  EXPECT_THAT(words, Contains("193 others, summed"));
  EXPECT_THAT(words, Contains("cc1plus (2001)"));
  EXPECT_THAT(words, Not(Contains("cc1plus (2008)")));
}

TEST(ChartLayout, ALimitNearTheDataIsALineAndOneFarAboveIsWords) {
  EXPECT_THAT(texts(lay(testing::oom_scene())), Contains("limit of /jobs"));
  Timeline roomy = testing::oom_scene();
  for (TimelinePoint& point : roomy.cgroups[0].series[0].points) {
    point.min = point.max = point.mean = point.last = int64_t{64} << 30;
  }
  const std::vector<std::string> words = texts(lay(roomy));
  EXPECT_THAT(words, Not(Contains("limit of /jobs")));
  EXPECT_THAT(words, Contains(HasSubstr("limit of /jobs 64.0 GiB")));
}

TEST(ChartLayout, APeakThatOnlyTheKernelSawIsShown) {
  const std::vector<std::string> words = texts(lay(testing::oom_scene()));
  EXPECT_THAT(words, Contains("780 MiB, seen by the kernel only"));
  EXPECT_THAT(words, Contains("780 MiB"));
}

TEST(ChartLayout, AnOomKillRunsThroughEveryPanelAndIsNamed) {
  const Picture picture = lay(testing::oom_scene());
  size_t uprights = 0;
  for (const Polyline& line : all<Polyline>(picture)) {
    uprights += line.role == Role::event && line.dash == 0 ? 1 : 0;
  }
  EXPECT_EQ(uprights, 2U);  // resident memory and oom_score
  EXPECT_THAT(texts(picture), Contains("OOM kill: worker (900), limit of /jobs 1.00 GiB"));
}

TEST(ChartLayout, RunsOnTheClockLieWhereTheyWereAndAlignedOnesBeginTogether) {
  Timeline later = testing::gap_scene();
  const int64_t hour = 3600 * kSecond;
  later.begin_ns += hour;
  later.end_ns += hour;
  later.gaps.clear();
  for (TimelinePoint& point : later.processes[0].series[0].points) {
    point.begin_ns += hour;
    point.end_ns += hour;
  }
  Timeline earlier = testing::gap_scene();
  earlier.gaps.clear();
  const std::vector<Timeline> both = {earlier, later};
  const std::vector<Polyline> on_clock = curves(lay(both));
  EXPECT_GT(on_clock[2].points.front().x - on_clock[0].points.front().x, 500);
  ChartOptions aligned;
  aligned.alignment = RunAlignment::start;
  const Picture picture = lay(both, aligned);
  const std::vector<Polyline> by_start = curves(picture);
  EXPECT_DOUBLE_EQ(by_start[2].points.front().x, by_start[0].points.front().x);
  EXPECT_THAT(texts(picture), Contains("since each start"));
}

TEST(ChartLayout, OnlyTheMetricsThatWereAskedForAreDrawn) {
  ChartOptions options;
  options.metrics = {"oom_score"};
  const std::vector<std::string> words = texts(lay(testing::oom_scene(), options));
  EXPECT_THAT(words, Not(Contains("Resident memory (RSS)")));
  EXPECT_THAT(words, Contains(HasSubstr("oom_score")));
}

TEST(ChartLayout, ControlCharactersAndBrokenTextAreMadeVisible) {
  const Timeline odd =
      testing::timeline({testing::process(1, 7, "a\x01\xff", {testing::raw_series("rss_bytes", {1, 2})})}, 1);
  EXPECT_THAT(texts(lay(odd)), Contains("a\\x01\\xff (7)"));
}

TEST(SumSeries, HoldsAValueToTheNextPointButNotOverABreak) {
  TimelineSeries left = testing::raw_series("rss_bytes", {10, 10, 10, 10}, 1);
  TimelineSeries right = testing::raw_series("rss_bytes", {5, 7}, 3);
  right.points[1].follows_a_break = true;
  const auto sum = sum_series({&left, &right}, kBegin, kBegin + 3 * kSecond, 3);
  ASSERT_EQ(sum.size(), 4U);
  EXPECT_EQ(sum[0].max, 15);
  EXPECT_EQ(sum[1].max, 10);
  EXPECT_EQ(sum[2].max, 10);
  EXPECT_EQ(sum[3].max, 17);
}

}  // namespace
}  // namespace memlog
