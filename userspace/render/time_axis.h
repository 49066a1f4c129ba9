// SPDX-License-Identifier: Apache-2.0
// Ticks of a time axis, at steps of the calendar (5 s, 15 min, 6 h, a month), and times as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memlog {

enum class Zone : uint8_t { utc, local };

struct TimeTick {
  int64_t time_ns = 0;
  std::string label;  // "12:05", "12:05:30", "12:05:30.250", "5 Jun"
  std::string date;   // "2026-06-05" at the first tick and where the day changes, else empty
};

// Ticks in [begin_ns, end_ns], at most about `most`. An empty or reversed span has none.
std::vector<TimeTick> time_ticks(int64_t begin_ns, int64_t end_ns, int most, Zone zone);
// Ticks of an axis that starts at 0: "0", "30 s", "5 min", "2 h", "3 d".
std::vector<TimeTick> elapsed_ticks(int64_t end_ns, int most);

// Seconds that `zone` is ahead of UTC at that time.
int64_t zone_offset_s(int64_t time_ns, Zone zone);
// "UTC", "CEST (UTC+02:00)".
std::string zone_name(int64_t time_ns, Zone zone);

// "2026-06-05 12:05:30"; with `decimals` (0-3) digits of a second; `with_date` false: "12:05:30".
std::string format_time(int64_t time_ns, Zone zone, bool with_date, int decimals = 0);

}  // namespace memlog
