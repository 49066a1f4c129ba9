// SPDX-License-Identifier: Apache-2.0
// Progress: what a recording says of itself while it runs, handed from the recorder to whoever shows it.
//
// The recorder never prints: a terminal or a pipe that nobody reads would stall the samples. It leaves lines and numbers
// here; another thread shows them. Lines beyond a bound are counted, not kept.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "model/nullable.h"

namespace memlog {

struct ProgressNumbers {
  size_t live_count = 0;      // processes recorded now
  size_t attached_count = 0;  // processes recorded so far
  int64_t rss_bytes = 0;      // sum over the live ones
  Nullable peak_rss_bytes;    // largest of a single process
  int64_t sample_count = 0;
  int64_t lost_event_count = 0;
  int64_t lost_record_count = 0;
  int64_t missed_tick_count = 0;
};

class Progress {
 public:
  void say(std::string line);
  void warn(std::string line);  // shown even where the user asked for quiet
  void update(const ProgressNumbers& numbers);
  void finish();

  struct News {
    std::vector<std::string> lines;
    std::vector<std::string> warnings;
    size_t dropped_lines = 0;
    ProgressNumbers numbers;
    bool is_finished = false;
  };
  // Waits until there is something to say, the recording is finished, or `wait` has passed.
  News take(std::chrono::milliseconds wait);

 private:
  static constexpr size_t kKeptLines = 64;
  void keep(std::vector<std::string>& where, std::string line);
  std::mutex mutex_;
  std::condition_variable wake_;
  News news_;
};

}  // namespace memlog
