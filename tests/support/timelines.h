// SPDX-License-Identifier: Apache-2.0
// Timelines made by hand for the tests of what draws them. All begin at kBegin (2026-06-05 12:00:00 UTC).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/timeline.h"

namespace memlog::testing {

inline constexpr int64_t kBegin = 1780660800000000000;
inline constexpr int64_t kSecond = 1000000000;
inline constexpr int64_t kMiB = 1048576;

// A series of raw samples, one each `step_s` seconds from `first_s` on.
TimelineSeries raw_series(std::string name, const std::vector<int64_t>& values, int64_t step_s = 1,
                          int64_t first_s = 0);
// A thinned series: `count` spans of `span_s` seconds, mean from `shape`(0..1), minimum and maximum `spread` away.
TimelineSeries thinned_series(std::string name, size_t count, int64_t span_s,
                              const std::function<int64_t(double)>& shape, int64_t spread);

TimelineProcess process(int64_t id, int64_t pid, std::string name, std::vector<TimelineSeries> series);
Timeline timeline(std::vector<TimelineProcess> processes, int64_t length_s);

// The pictures that a run can be, by name.
struct Scene {
  std::string name;
  std::vector<Timeline> timelines;
};
std::vector<Scene> scenes();
Timeline single_process_scene();
Timeline oom_scene();
Timeline many_processes_scene(size_t count);
Timeline spike_scene();
Timeline gap_scene();
Timeline device_scene(int64_t count, int64_t ghost_gib);

}  // namespace memlog::testing
