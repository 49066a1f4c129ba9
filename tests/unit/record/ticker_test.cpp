// SPDX-License-Identifier: Apache-2.0
#include "record/ticker.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

namespace memlog {
namespace {

constexpr int64_t kIntervalNs = 100 * kNsPerMs;
const RunClock kClock{1000};

TEST(LatenessGaps, TicksOnTimeLeaveNoGap) {
  LatenessGaps gaps(kIntervalNs);
  for (int64_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(gaps.see({n * kIntervalNs + 10 * kNsPerMs, n * kIntervalNs, 0}, kClock), std::nullopt);
  }
  EXPECT_EQ(gaps.finish(), std::nullopt);
}

TEST(LatenessGaps, SkippedDeadlinesBecomeOneGapFromTheFirstOfThem) {
  LatenessGaps gaps(kIntervalNs);
  // Deadlines 1 to 99 were skipped; the 100th is served a little late.
  EXPECT_EQ(gaps.see({100 * kIntervalNs + 5, 100 * kIntervalNs, 99}, kClock), std::nullopt);
  const std::optional<Gap> gap = gaps.see({101 * kIntervalNs, 101 * kIntervalNs, 0}, kClock);
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->kind, GapKind::missed_ticks);
  EXPECT_EQ(gap->started_ns, kIntervalNs + 1000);
  EXPECT_EQ(gap->ended_ns, 100 * kIntervalNs + 5 + 1000);
  EXPECT_EQ(gap->lost_count, Nullable(99));
  EXPECT_EQ(gaps.missed_count(), 99);
}

TEST(LatenessGaps, NeighbouringLateTicksAreOneGap) {
  LatenessGaps gaps(kIntervalNs);
  EXPECT_EQ(gaps.see({kIntervalNs + 60 * kNsPerMs, kIntervalNs, 0}, kClock), std::nullopt);
  EXPECT_EQ(gaps.see({2 * kIntervalNs + 70 * kNsPerMs, 2 * kIntervalNs, 0}, kClock), std::nullopt);
  const std::optional<Gap> gap = gaps.finish();
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->kind, GapKind::late_tick);
  EXPECT_EQ(gap->started_ns, kIntervalNs + 1000);
  EXPECT_EQ(gap->ended_ns, 2 * kIntervalNs + 70 * kNsPerMs + 1000);
  EXPECT_EQ(gap->lost_count, Nullable(0));
}

TEST(Ticker, DeadlinesAreAbsoluteAndSkippedOnesAreCounted) {
  constexpr int64_t interval_ns = 20 * kNsPerMs;
  Result<Ticker> ticker = Ticker::start(interval_ns);
  ASSERT_TRUE(ticker.ok());
  pollfd ready{ticker->poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 1000), 1);
  const std::optional<Ticker::Tick> first = ticker->take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(ticker->take(), std::nullopt);
  usleep(5 * 20000);
  const std::optional<Ticker::Tick> second = ticker->take();
  ASSERT_TRUE(second.has_value());
  EXPECT_GE(second->missed_count, 3);
  EXPECT_EQ((second->deadline_ns - first->deadline_ns) % interval_ns, 0);
  EXPECT_EQ((second->deadline_ns - first->deadline_ns) / interval_ns, second->missed_count + 1);
  EXPECT_GE(second->boot_ns, second->deadline_ns);
  EXPECT_LT(second->boot_ns - second->deadline_ns, interval_ns + 50 * kNsPerMs);
}

}  // namespace
}  // namespace memlog
