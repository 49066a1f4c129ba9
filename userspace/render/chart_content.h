// SPDX-License-Identifier: Apache-2.0
// What one run's picture shows, before any geometry: its panels, which curves they hold, what each is called.
//
// The few largest processes are named and the rest are summed; a single process is split into anon, file and
// shmem; a limit is drawn where it is near the data and said in words where it is far above. What is not in
// the Timeline is not in the picture: no value is guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/timeline.h"
#include "render/style.h"
#include "render/value_axis.h"

namespace memlog {

enum class CurveKind : uint8_t {
  line,       // mean as a line, minimum to maximum as a band
  stacked,    // filled between `floors` and floors + mean
  reference,  // dashed, no band: a limit, what is available, ghosts
};

struct Curve {
  CurveKind kind = CurveKind::line;
  std::string label;
  std::string value;  // beside the label: the peak; empty for none
  Colour colour;
  std::vector<TimelinePoint> points;
  std::vector<int64_t> floors;  // stacked: one a point
  Nullable peak;                // the true peak of what is drawn
  int64_t peak_ns = 0;
};

// A peak that no sample caught: the kernel's high-water mark, known when the process ended.
struct UnsampledPeak {
  int64_t time_ns = 0;
  int64_t value = 0;
  Colour colour;
};

struct Panel {
  std::string title;
  std::vector<std::string> remarks;  // "limit of /jobs: 32.0 GiB, far above"
  Unit unit = Unit::bytes;
  double weight = 1;     // share of the height
  double least_top = 0;  // the axis reaches at least here
  std::vector<Curve> curves;
  std::vector<UnsampledPeak> unsampled_peaks;
};

struct ContentOptions {
  Theme theme = Theme::light;
  std::vector<std::string> metrics;  // names of series; empty: what tells the story
  size_t named_processes = 7;        // at most the number of series colours
};

std::vector<Panel> chart_panels(const Timeline& timeline, const ContentOptions& options);

// Whether the options ask for series `name` (every one, where they name none).
bool wants(const ContentOptions& options, std::string_view name);

const TimelineSeries* find_series(const std::vector<TimelineSeries>& series, std::string_view name);
// "worker (1234)"; just the name where the pid is unknown.
std::string process_label(const TimelineProcess& process);

// Sums series sample by sample on a common grid of at most `columns` spans of [begin_ns, end_ns]; a series'
// value holds until its next point, but not over a break. Sums of minima and maxima bound the true ones.
std::vector<TimelinePoint> sum_series(const std::vector<const TimelineSeries*>& series, int64_t begin_ns,
                                      int64_t end_ns, size_t columns = 1000);

}  // namespace memlog
