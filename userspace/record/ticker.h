// SPDX-License-Identifier: Apache-2.0
// Ticker: the sampling deadlines. They are absolute (start + n × interval, boot clock), so they never drift; deadlines
// that passed while the recorder could not run are skipped, never caught up with, and reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"
#include "model/records.h"

namespace memlog {

class Ticker {
 public:
  static Result<Ticker> start(int64_t interval_ns);
  int poll_fd() const { return timer_.get(); }

  struct Tick {
    int64_t boot_ns = 0;       // when it is served
    int64_t deadline_ns = 0;   // when it was due
    int64_t missed_count = 0;  // deadlines skipped before it
  };
  // The tick that is due, if one is.
  std::optional<Tick> take();

 private:
  OwnedFd timer_;
  int64_t interval_ns_ = 0;
  int64_t next_deadline_ns_ = 0;
};

// Turns ticks into gap records. Neighbouring late ticks make one gap, stored when a good tick follows.
class LatenessGaps {
 public:
  explicit LatenessGaps(int64_t interval_ns) : interval_ns_(interval_ns) {}

  // The gap that this tick completes, if any. A tick is late when it is served more than half an interval, and more than
  // two milliseconds, after its deadline.
  std::optional<Gap> see(const Ticker::Tick& tick, const RunClock& clock);
  // The gap still open at the end.
  std::optional<Gap> finish();
  int64_t missed_count() const { return missed_count_; }

 private:
  int64_t interval_ns_;
  int64_t missed_count_ = 0;
  std::optional<Gap> open_;
};

}  // namespace memlog
