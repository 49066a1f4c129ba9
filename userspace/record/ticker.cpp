// SPDX-License-Identifier: Apache-2.0
#include "record/ticker.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace memlog {
namespace {

constexpr int64_t kTolerableLatenessNs = 2 * kNsPerMs;

timespec to_timespec(int64_t ns) { return {ns / kNsPerSecond, ns % kNsPerSecond}; }

}  // namespace

Result<Ticker> Ticker::start(int64_t interval_ns) {
  Ticker ticker;
  ticker.interval_ns_ = interval_ns;
  ticker.timer_.reset(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!ticker.timer_) return errno_error("making the sampling timer", errno);
  ticker.next_deadline_ns_ = boot_now_ns() + interval_ns;
  itimerspec setting{};
  setting.it_value = to_timespec(ticker.next_deadline_ns_);
  setting.it_interval = to_timespec(interval_ns);
  if (timerfd_settime(ticker.timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr) != 0) {
    return errno_error("starting the sampling timer", errno);
  }
  return ticker;
}

std::optional<Ticker::Tick> Ticker::take() {
  uint64_t expirations = 0;
  if (read(timer_.get(), &expirations, sizeof expirations) != sizeof expirations || expirations == 0) {
    return std::nullopt;
  }
  Tick tick;
  tick.boot_ns = boot_now_ns();
  tick.missed_count = static_cast<int64_t>(expirations) - 1;
  tick.deadline_ns = next_deadline_ns_ + tick.missed_count * interval_ns_;
  next_deadline_ns_ = tick.deadline_ns + interval_ns_;
  return tick;
}

std::optional<Gap> LatenessGaps::see(const Ticker::Tick& tick, const RunClock& clock) {
  const int64_t lateness_ns = tick.boot_ns - tick.deadline_ns;
  const bool is_late = lateness_ns > std::max(interval_ns_ / 2, kTolerableLatenessNs);
  missed_count_ += tick.missed_count;
  if (tick.missed_count == 0 && !is_late) return std::exchange(open_, std::nullopt);

  const int64_t first_deadline_ns = tick.deadline_ns - tick.missed_count * interval_ns_;
  if (!open_) {
    open_ = Gap{clock.time_ns(first_deadline_ns), 0, GapKind::late_tick, 0, 0, ""};
  }
  open_->ended_ns = clock.time_ns(tick.boot_ns);
  open_->lost_count = open_->lost_count.value() + tick.missed_count;
  if (tick.missed_count > 0) open_->kind = GapKind::missed_ticks;
  return std::nullopt;
}

std::optional<Gap> LatenessGaps::finish() { return std::exchange(open_, std::nullopt); }

}  // namespace memlog
