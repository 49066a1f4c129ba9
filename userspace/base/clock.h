// SPDX-License-Identifier: Apache-2.0
// The two clocks of a recording, in nanoseconds, and how their values are written.
//
// CLOCK_BOOTTIME orders everything that is recorded: it never steps and it counts while the machine sleeps.
// CLOCK_REALTIME is read only to lay that axis on the calendar.
#pragma once

#include <cstdint>
#include <string>

namespace memlog {

inline constexpr int64_t kNsPerUs = 1000;
inline constexpr int64_t kNsPerMs = 1000 * kNsPerUs;
inline constexpr int64_t kNsPerSecond = 1000 * kNsPerMs;

int64_t boot_now_ns();  // CLOCK_BOOTTIME
int64_t wall_now_ns();  // CLOCK_REALTIME, since 1970 UTC

// One reading of both clocks, taken so closely together that their difference is right to microseconds.
struct ClockPair {
  int64_t boot_ns = 0;
  int64_t wall_ns = 0;
};
ClockPair read_clock_pair();

// Wall-clock time as "2026-06-05 12:34:56.789" (milliseconds, UTC, no zone written).
std::string format_utc(int64_t wall_ns);

}  // namespace memlog
