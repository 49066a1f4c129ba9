// SPDX-License-Identifier: Apache-2.0
// A Timeline as JSON in columns, for the pages (web/charts.js reads it).
//
//   {"title", "host", "target", "source", "ending", "begin_ms", "end_ms", "interval_ms", "resolution_ms",
//    "sample_count", "processes": [{"id", "pid", "name", "ended_ms", "end", "status", "signal", "peak", "peak_source",
//    "series": [S...]}], "rest": [S...], "rest_count", "other_count", "totals": [S...], "host_series": [S...],
//    "cgroups": [{"path", "series"}], "devices": [{"name", "series"}], "device_totals": [S...], "device_count",
//    "device_spread", "events": [{"ms", "kind", "process", "text"}],
//    "gaps": [{"begin_ms", "end_ms", "kind", "text"}]}
//
// `rest` sums all processes but the first eight, `totals` sums swap and huge pages over all. A series S is
//   {"name", "peak", "peak_ms", "t", "v", "d", "lo", "hi", "breaks"}
// with one entry a point: `t` the begin in us as the difference from the point before (the first from begin_ms),
// `v` the mean as such a difference (the first from 0), `d` the span's length in us (one number where all are
// alike, absent for 0), `lo` = mean - minimum and `hi` = maximum - mean (absent where all are 0); `breaks` are the
// indices of points that no line may join to the one before. Every "<" is written \u003c, so that the text can
// stand in an HTML script element.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "model/timeline.h"

namespace memlog {

inline constexpr size_t kNamedInPages = 8;

struct JsonBudget {
  size_t points = 36000;          // over all series of the run
  size_t points_a_series = 2000;  // at most
  size_t processes = 200;         // with curves of their own
  size_t events = 2000;           // kills, marks and bad ends are the last to be left out
  size_t gaps = 1000;
};

std::string timeline_json(const Timeline& timeline, const JsonBudget& budget);

// One series S whose times count from begin_ns.
std::string series_json(const TimelineSeries& series, int64_t begin_ns);

// `text` as a JSON string with quotes; broken UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace memlog
