// SPDX-License-Identifier: Apache-2.0
// SeriesReader: the curves of one process, cgroup, device or of the host in a window of a run, thinned.
//
// Reads roll-ups of about the resolution that is drawn, and samples at the edges: some thousand rows whatever the
// length. Nothing is joined over what is known to be missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/rollup.h"
#include "model/timeline.h"
#include "query/spans.h"
#include "store/database.h"

namespace memlog {

// The gaps in which samples are missing, answering "is one between these two samples?" in log time.
class SampleGaps {
 public:
  Status load(Database& database, const Timeline& timeline);
  // Those of all processes and of `process_id` that are longer than `least_ns`. Empty: there are none.
  std::function<bool(int64_t after_ns, int64_t before_ns)> question(int64_t process_id,
                                                                    int64_t least_ns) const;

 private:
  struct Gap {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t earliest_begin_ns;  // of this gap and those that end later
    Nullable process_id;
  };
  std::vector<Gap> gaps_;
};

class SeriesReader {
 public:
  struct Options {
    int64_t points = 1200;              // about how many a series may have
    int64_t spans_a_point = 4;          // read a few times finer than drawn, so that cells end where spans do
    int64_t gap_process_id = 0;         // whose gaps count beside those of all
    std::vector<std::string> derived;   // further series, at most up to kRollupMostColumns in all
    std::function<void(Span&)> derive;  // sets their measures, which follow those of the columns
  };
  struct Reading {
    std::vector<TimelineSeries> series;  // those with any point, the derived ones without a peak
    int64_t sample_count = 0;            // in the window
    int64_t resolution_ns = 0;           // 0: every sample is there
  };

  // `columns`: some of the table's. The window is the timeline's; it and `gaps` outlive the reader.
  static Result<SeriesReader> prepare(Database& database, const RollupTable& table,
                                      std::vector<std::string> columns, const Timeline& window,
                                      const SampleGaps& gaps);

  // Peaks are those of the whole run.
  Result<Reading> read(int64_t key, const Options& options);
  // The largest value of each column over the whole run and its time, without any points.
  Result<std::vector<TimelineSeries>> peaks(int64_t key);

  SpanReader& spans() { return spans_; }

 private:
  SeriesReader(SpanReader spans, std::vector<std::string> columns, const Timeline& window,
               const SampleGaps& gaps)
      : spans_(std::move(spans)), columns_(std::move(columns)), window_(&window), gaps_(&gaps) {}
  Status find_peaks(int64_t key, int top, std::vector<TimelineSeries>& series);
  int64_t break_ns(int64_t step_ns, int64_t cell) const;

  SpanReader spans_;
  std::vector<std::string> columns_;
  const Timeline* window_;
  const SampleGaps* gaps_;
};

// Width of a cell where the window has that many.
int64_t cell_width_ns(const Timeline& window, int64_t points);

}  // namespace memlog
