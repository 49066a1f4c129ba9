// SPDX-License-Identifier: Apache-2.0
// Timeline: what is drawn. One run, or one CSV file, thinned to what a picture can show.
//
// A query (or a CSV reader) makes it; PNG, HTML and the dashboard draw it; nothing here knows of files or
// pixels. Its size is bounded by the resolution that was asked for, whatever the run's length. Times are
// wall-clock ns since 1970 UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/nullable.h"
#include "model/records.h"

namespace memlog {

// The samples of one span, thinned so that no extreme is lost. A single sample has begin == end and min ==
// max == mean.
struct TimelinePoint {
  int64_t begin_ns = 0;  // first sample in the span
  int64_t end_ns = 0;    // last sample in the span
  int64_t min = 0;
  int64_t max = 0;
  int64_t mean = 0;
  int64_t last = 0;  // value of the last sample
  bool follows_a_break =
      false;  // nothing is known between the point before and this one: no line may join them
};

// One measure over time. `name` is its column's name in the schema ("rss_bytes").
struct TimelineSeries {
  std::string name;
  std::vector<TimelinePoint> points;  // by time; spans in which nothing was sampled have no point
  Nullable peak;                      // the true maximum over all of the run, thinning or not
  int64_t peak_ns = 0;
};

struct TimelineProcess {
  int64_t id = 0;  // process.id; 0 for what comes from a CSV file
  int64_t pid = 0;
  int64_t parent_pid = 0;
  std::string name;
  std::optional<std::string> cmdline;
  int64_t first_seen_ns = 0;
  std::optional<int64_t> ended_ns;
  EndReason end_reason = EndReason::running;
  Nullable exit_status;
  Nullable exit_signal;
  Nullable peak_rss_bytes;
  PeakSource peak_source = PeakSource::none;
  Nullable peak_device_bytes;  // the most device DRAM that it held at one tick
  int64_t sample_count = 0;
  std::vector<TimelineSeries> series;  // those asked for that have any value
};

struct TimelineEvent {
  int64_t time_ns = 0;
  EventKind kind = EventKind::note;
  int64_t process_id = 0;
  std::string
      text;  // for people: "worker (7) exited with status 3", "OOM kill: worker (7), limit of /jobs 32.0 MiB"
};

struct TimelineGap {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  GapKind kind = GapKind::late_tick;
  std::string text;
};

struct TimelineCgroup {
  std::string path;
  std::vector<TimelineSeries> series;  // current_bytes, peak_bytes, limit_bytes
};

struct TimelineDevice {
  std::string name;                    // "device 0" or the region's number
  std::vector<TimelineSeries> series;  // dram_bytes, live_bytes, ghost_bytes
  std::string unreadable_reason;       // why its last sample could not be read; empty: it could
};

struct Timeline {
  int64_t run_id = 0;
  std::string title;  // "worker": label or target, or the CSV file's name
  std::string host;   // empty where it is not known
  std::string target;
  std::string source;  // where it comes from, for people: "run 7", "pid_memory.csv"
  std::string
      ending;  // how it ended, for people: "ended: the last process ended", "interrupted", "still running"
  std::string event_source;
  int64_t interval_ns = 0;
  int64_t begin_ns = 0;  // the window that was asked for, or the run's own span
  int64_t end_ns = 0;
  int64_t resolution_ns = 0;  // width of a thinned span; 0 = every sample is here
  int64_t sample_count = 0;   // in the window, before thinning
  bool is_incomplete = false;
  std::vector<TimelineProcess> processes;  // the largest by peak first
  std::vector<TimelineSeries> others;      // sums over the processes that are not named above
  int64_t other_count = 0;                 // how many those are
  std::vector<TimelineSeries> host_series;
  std::vector<TimelineCgroup> cgroups;
  std::vector<TimelineDevice> devices;  // one by one, at fewer points the more there are
  // All devices together: dram_bytes, live_bytes and ghost_bytes are sums; of dram_chip_bytes the minimum and maximum
  // are those of the devices and the mean is their average. A CSV file has these and no single devices.
  std::vector<TimelineSeries> device_totals;
  int64_t device_count = 0;  // the most that were readable at once
  std::vector<std::string>
      device_ghosts;          // for people: "ghost 4.00 GiB of a dead process 4711 (worker) in ..."
  std::string device_spread;  // for people: which devices do not move together; empty: none
  std::vector<TimelineEvent> events;
  std::vector<TimelineGap> gaps;
  std::vector<std::string> notes;  // what a reader must know: "3 samples were left out: ..."
};

}  // namespace memlog
