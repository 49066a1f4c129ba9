// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <fmt/format.h>

#include <ctime>

namespace memlog {
namespace {

int64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

}  // namespace

int64_t boot_now_ns() { return read_clock_ns(CLOCK_BOOTTIME); }
int64_t wall_now_ns() { return read_clock_ns(CLOCK_REALTIME); }

ClockPair read_clock_pair() {
  // A preemption between the two reads would shift the pair: keep the tightest of a few tries.
  ClockPair best;
  int64_t best_width_ns = INT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const int64_t before_ns = boot_now_ns();
    const int64_t wall_ns = wall_now_ns();
    const int64_t width_ns = boot_now_ns() - before_ns;
    if (width_ns < best_width_ns) {
      best_width_ns = width_ns;
      best = {before_ns + width_ns / 2, wall_ns};
    }
  }
  return best;
}

std::string format_utc(int64_t wall_ns) {
  const int64_t second = wall_ns / kNsPerSecond - (wall_ns % kNsPerSecond < 0 ? 1 : 0);
  const int64_t rest_ns = wall_ns - second * kNsPerSecond;
  const time_t time = second;
  tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, rest_ns / kNsPerMs);
}

}  // namespace memlog
