// SPDX-License-Identifier: Apache-2.0
#include "query/timeline.h"

#include <gmock/gmock.h>

#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TimelineTest : public ::testing::Test {
 protected:
  void begin(const RunStart& run = literal_run()) {
    Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(path_, run);
    if (!writer) {
      ADD_FAILURE() << writer.error().reason;
      return;
    }
    writer_ = *std::move(writer);
  }
  void write(const std::vector<Record>& records) const {
    const Status status = writer_->write(records);
    if (!status) ADD_FAILURE() << status.error().reason;
  }
  void end(int64_t tick) const {
    const Status status = writer_->end({kStart + tick * kNsPerSecond, "the last process ended"});
    if (!status) ADD_FAILURE() << status.error().reason;
  }
  Timeline read(const TimelineRequest& request = {}) const {
    Result<Database> database = Database::open(path_, Database::Mode::read);
    Result<Timeline> timeline = read_timeline(*database, writer_->run_id(), request);
    if (!timeline) {
      ADD_FAILURE() << timeline.error().doing << ": " << timeline.error().reason;
      return {};
    }
    return *std::move(timeline);
  }
  static int64_t at(int64_t tick) { return kStart + tick * kNsPerSecond; }
  // "begin-end:min..max" in seconds of the run, '/' before those that follow a break.
  static std::vector<std::string> text(const TimelineSeries& series) {
    std::vector<std::string> lines;
    lines.reserve(series.points.size());
    for (const TimelinePoint& point : series.points)
      lines.push_back((point.follows_a_break ? "/" : "") +
                      std::to_string((point.begin_ns - kStart) / kNsPerSecond) + "-" +
                      std::to_string((point.end_ns - kStart) / kNsPerSecond) + ":" +
                      std::to_string(point.min) + ".." + std::to_string(point.max));
    return lines;
  }
  // Process 1 with samples of `value(tick)` at [0, count).
  void write_long_run(int64_t count, const std::function<Nullable(int64_t)>& value) const {
    write({literal_process(1)});
    std::vector<Record> records;
    for (int64_t tick = 0; tick < count; ++tick) {
      records.emplace_back(literal_sample(1, tick, value(tick)));
      if (records.size() < 10'000 && tick + 1 < count) continue;
      write(records);
      records.clear();
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "memlog.db";
  std::unique_ptr<RunWriter> writer_;
};

TEST_F(TimelineTest, ARunWithoutSamplesHasItsFactsAndNoSeries) {
  begin();
  write({literal_process(1)});
  end(10);
  const Timeline timeline = read();
  EXPECT_EQ(timeline.title, "nightly");
  EXPECT_EQ(timeline.ending, "ended: the last process ended");
  EXPECT_EQ(timeline.begin_ns, at(0));
  EXPECT_EQ(timeline.end_ns, at(10));
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_THAT(timeline.processes[0].series, IsEmpty());
}

TEST_F(TimelineTest, FewSamplesAreAllThereAndAPauseIsABreak) {
  begin();
  write({literal_process(1)});
  for (const int64_t tick : {0, 1, 2, 60, 61}) write({literal_sample(1, tick, 100 + tick)});
  end(61);
  const Timeline timeline = read();
  EXPECT_EQ(timeline.resolution_ns, 0);
  EXPECT_EQ(timeline.sample_count, 5);
  ASSERT_THAT(timeline.processes[0].series, SizeIs(1));
  EXPECT_THAT(
      text(timeline.processes[0].series[0]),
      ElementsAre("0-0:100..100", "1-1:101..101", "2-2:102..102", "/60-60:160..160", "61-61:161..161"));
}

TEST_F(TimelineTest, AnUnknownValueIsABreakOfItsSeriesOnly) {
  begin();
  write({literal_process(1)});
  for (const int64_t tick : {0, 1, 2}) {
    ProcessSample sample = literal_sample(1, tick, tick == 1 ? Nullable() : Nullable(7));
    sample.swap_bytes = 3;
    write({sample});
  }
  end(2);
  const Timeline timeline = read();
  ASSERT_THAT(timeline.processes[0].series, SizeIs(2));
  EXPECT_THAT(text(timeline.processes[0].series[0]), ElementsAre("0-0:7..7", "/2-2:7..7"));
  EXPECT_THAT(text(timeline.processes[0].series[1]), ElementsAre("0-0:3..3", "1-1:3..3", "2-2:3..3"));
}

TEST_F(TimelineTest, ARecordedGapIsABreakHoweverShort) {
  begin();
  write({literal_process(1), literal_sample(1, 0, 5), literal_sample(1, 2, 5),
         Gap{at(0) + 1, at(1), GapKind::queue_overflow, 0, 7, ""}});
  end(2);
  const Timeline timeline = read();
  EXPECT_THAT(text(timeline.processes[0].series[0]), ElementsAre("0-0:5..5", "/2-2:5..5"));
  ASSERT_THAT(timeline.gaps, SizeIs(1));
  EXPECT_EQ(timeline.gaps[0].text, "records lost: storage was too slow (7)");
}

TEST_F(TimelineTest, ALongRunIsThinnedAndItsOneSpikeStaysAtItsTime) {
  begin();
  constexpr int64_t sample_count = 100'000;
  write_long_run(sample_count, [](int64_t tick) { return tick == 77'777 ? 9000 : 100; });
  end(sample_count - 1);
  TimelineRequest request;
  request.points = 500;
  const Timeline timeline = read(request);
  EXPECT_EQ(timeline.sample_count, sample_count);
  EXPECT_GT(timeline.resolution_ns, 0);
  const TimelineSeries& series = timeline.processes[0].series[0];
  EXPECT_EQ(series.peak, Nullable(9000));
  EXPECT_EQ(series.peak_ns, at(77'777));
  EXPECT_LE(series.points.size(), 520U);
  EXPECT_GE(series.points.size(), 200U);
  EXPECT_EQ(series.points.front().begin_ns, at(0));
  EXPECT_EQ(series.points.back().end_ns, at(sample_count - 1));
  int spikes = 0;
  for (const TimelinePoint& point : series.points) {
    EXPECT_FALSE(point.follows_a_break);
    if (point.max != 9000) continue;
    ++spikes;
    EXPECT_LE(point.begin_ns, at(77'777));
    EXPECT_GE(point.end_ns, at(77'777));
  }
  EXPECT_EQ(spikes, 1);
}

TEST_F(TimelineTest, APauseInsideARollupRowIsStillABreakAtItsTime) {
  begin();
  write({literal_process(1)});
  std::vector<Record> records;
  records.reserve(20'000);
  for (int64_t tick = 0; tick < 20'000; ++tick)
    records.emplace_back(literal_sample(1, tick < 7777 ? tick : tick + 5000, 1));
  write(records);
  end(24'999);
  TimelineRequest request;
  request.points = 100;
  const Timeline timeline = read(request);
  std::vector<int64_t> breaks;
  const std::vector<TimelinePoint>& points = timeline.processes[0].series[0].points;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].follows_a_break) continue;
    breaks.push_back((points[i].begin_ns - kStart) / kNsPerSecond);
    EXPECT_EQ(points[i - 1].end_ns, at(7776));
  }
  EXPECT_THAT(breaks, ElementsAre(12'777));
}

TEST_F(TimelineTest, AWindowHoldsWhatIsInItAndKnowsTheRunsPeak) {
  begin();
  write_long_run(50'000, [](int64_t tick) { return tick; });
  end(49'999);
  TimelineRequest request;
  request.since_ns = at(1'003);
  request.until_ns = at(1'011);
  const Timeline few = read(request);
  EXPECT_THAT(text(few.processes[0].series[0]), SizeIs(9));
  EXPECT_EQ(few.sample_count, 9);
  EXPECT_EQ(few.processes[0].series[0].peak, Nullable(49'999));
  request.until_ns = at(41'003);
  request.points = 200;
  const Timeline many = read(request);
  EXPECT_EQ(many.sample_count, 40'001);
  const std::vector<TimelinePoint>& points = many.processes[0].series[0].points;
  EXPECT_EQ(points.front().begin_ns, at(1'003));
  EXPECT_EQ(points.front().min, 1'003);
  EXPECT_EQ(points.back().end_ns, at(41'003));
  EXPECT_EQ(points.back().max, 41'003);
  for (size_t i = 1; i < points.size(); ++i) EXPECT_EQ(points[i].min, points[i - 1].max + 1);
}

TEST_F(TimelineTest, ARunThatIsBeingWrittenEndsAtItsLastSample) {
  begin();
  write_long_run(1'000, [](int64_t tick) { return tick; });
  TimelineRequest request;
  request.points = 20;
  const Timeline timeline = read(request);
  EXPECT_EQ(timeline.ending, "still running");
  EXPECT_EQ(timeline.end_ns, at(999));
  EXPECT_EQ(timeline.processes[0].series[0].points.back().last, 999);
  EXPECT_EQ(timeline.sample_count, 1'000);
}

TEST_F(TimelineTest, TheLargestAreNamedAndTheOthersSummedUntilTheyEnd) {
  begin();
  write({literal_process(1), literal_process(2, "small"), literal_process(3, "tiny"),
         literal_process(4, "none")});
  for (int64_t tick = 0; tick < 4; ++tick) {
    write({literal_sample(1, tick, 1000), literal_sample(2, tick, 20)});
    if (tick < 2) write({literal_sample(3, tick, 3)});
  }
  write({ProcessEnd{3, at(2), EndReason::exited, 0, {}, {}, {}, PeakSource::none}});
  end(3);
  TimelineRequest request;
  request.processes = 1;
  const Timeline timeline = read(request);
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].name, "worker");
  EXPECT_EQ(timeline.other_count, 3);
  ASSERT_THAT(timeline.others, SizeIs(1));
  EXPECT_THAT(text(timeline.others[0]), ElementsAre("0-0:23..23", "1-1:23..23", "2-2:20..20", "3-3:20..20"));
  EXPECT_EQ(timeline.others[0].peak, Nullable(23));
}

TEST_F(TimelineTest, OnlyTheProcessesAskedForByNameOrPidAreThere) {
  begin();
  write({literal_process(1), literal_process(2, "small"), literal_process(3, "tiny")});
  end(1);
  TimelineRequest request;
  request.only = {"small", "1003"};
  const Timeline timeline = read(request);
  ASSERT_THAT(timeline.processes, SizeIs(2));
  EXPECT_EQ(timeline.other_count, 0);
  request.only = {"smal"};
  Database database = *Database::open(path_, Database::Mode::read);
  const Result<Timeline> none = read_timeline(database, 1, request);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().reason, "no process of it is called smal");
}

TEST_F(TimelineTest, AnUnknownRunMeasureOrWindowIsRefused) {
  begin();
  end(5);
  Database database = *Database::open(path_, Database::Mode::read);
  EXPECT_FALSE(read_timeline(database, 99, {}).ok());
  TimelineRequest request;
  request.metrics = {"rss"};
  EXPECT_THAT(read_timeline(database, 1, request).error().hint, HasSubstr("rss_bytes"));
  request.metrics.clear();
  request.since_ns = at(9);
  EXPECT_EQ(read_timeline(database, 1, request).error().reason, "the window that was asked for is empty");
}

TEST_F(TimelineTest, KillsExitsAndMarksAreToldInWords) {
  begin();
  OomKill kill;
  kill.time_ns = at(3);
  kill.key = 1;
  kill.pid = 1001;
  kill.comm = "worker";
  kill.constraint = OomConstraint::memcg;
  kill.limit_cgroup = "/jobs";
  kill.limit_bytes = int64_t{32} << 20U;
  write({literal_process(1), literal_sample(1, 0, 1),
         Event{at(1), EventKind::mark, 0, R"({"text": "epoch 2"})"}, kill,
         Event{at(4), EventKind::exit, 1, R"({"signal": 9, "reason": "oom_killed"})"},
         ProcessEnd{1, at(4), EndReason::oom_killed, {}, 9, 0, 5, PeakSource::kernel}});
  end(4);
  const Timeline timeline = read();
  std::vector<std::string> texts;
  texts.reserve(timeline.events.size());
  for (const TimelineEvent& event : timeline.events) texts.push_back(event.text);
  EXPECT_THAT(texts, ElementsAre("epoch 2", "OOM kill: worker (1001), limit of /jobs 32.0 MiB",
                                 "worker (1001) was killed for memory"));
  EXPECT_THAT(timeline.notes, IsEmpty());
}

TEST_F(TimelineTest, AThousandKillsAreBoundedAndCounted) {
  begin();
  std::vector<Record> records;
  for (int64_t tick = 0; tick < 1000; ++tick) {
    OomKill kill;
    kill.time_ns = at(tick);
    kill.pid = tick;
    records.emplace_back(kill);
  }
  write(records);
  end(1000);
  const Timeline timeline = read();
  EXPECT_THAT(timeline.events, SizeIs(100));
  EXPECT_THAT(timeline.notes, ElementsAre("900 further OOM kills are not shown"));
}

TEST_F(TimelineTest, TheHostAndCgroupsComeAlong) {
  begin();
  HostSample host;
  host.time_ns = at(0);
  host.mem_available_bytes = 500;
  write({host, CgroupStart{1, "/box", 2}, CgroupSample{1, at(0), 40, {}, 64, {}}});
  end(1);
  const Timeline timeline = read();
  ASSERT_THAT(timeline.host_series, SizeIs(1));
  EXPECT_EQ(timeline.host_series[0].name, "mem_available_bytes");
  ASSERT_THAT(timeline.cgroups, SizeIs(1));
  EXPECT_EQ(timeline.cgroups[0].path, "/box");
  ASSERT_THAT(timeline.cgroups[0].series, SizeIs(2));
  EXPECT_EQ(timeline.cgroups[0].series[1].points[0].max, 64);
}

}  // namespace
}  // namespace memlog::testing
