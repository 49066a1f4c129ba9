// SPDX-License-Identifier: Apache-2.0
#include "collect/read_budget.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace memlog {
namespace {

TEST(ReadBudget, TheFirstReadIsDueAtOnce) { EXPECT_TRUE(ReadBudget(0.01).is_due(0)); }

TEST(ReadBudget, ACostlyReadWaitsUntilItsShareOfTheTimeHasPassed) {
  ReadBudget budget(0.01);
  budget.spent(5 * kNsPerSecond, 38 * kNsPerMs);
  EXPECT_FALSE(budget.is_due(5 * kNsPerSecond));
  EXPECT_FALSE(budget.is_due(8799 * kNsPerMs));
  EXPECT_TRUE(budget.is_due(8800 * kNsPerMs));
}

TEST(ReadBudget, TheShareHoldsAtEveryInterval) {
  constexpr int64_t cost_ns = 107 * kNsPerUs;
  for (const int64_t interval_ns : {kNsPerMs, 10 * kNsPerMs, 333 * kNsPerMs}) {
    ReadBudget budget(0.001);
    int64_t spent_ns = 0;
    for (int64_t now_ns = 0; now_ns < 60 * kNsPerSecond; now_ns += interval_ns) {
      if (!budget.is_due(now_ns)) continue;
      budget.spent(now_ns, cost_ns);
      spent_ns += cost_ns;
    }
    EXPECT_LE(spent_ns, 60 * kNsPerMs + cost_ns) << interval_ns;
    EXPECT_GT(spent_ns, 0) << interval_ns;
  }
}

}  // namespace
}  // namespace memlog
