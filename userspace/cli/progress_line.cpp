// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.h"

#include <signal.h>

#include <chrono>

#include "base/talk.h"

namespace memlog {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::chrono::milliseconds kStep{200};

}  // namespace

ProgressLine::ProgressLine() : is_on_(stderr_is_terminal()) {
  if (!is_on_) return;
  // Signals are for the thread that works.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { show(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressLine::~ProgressLine() {
  if (!is_on_) return;
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  clear_status();
}

void ProgressLine::set(std::string text) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void ProgressLine::show() {
  std::unique_lock lock(mutex_);
  std::string shown;
  wake_.wait_for(lock, kPatience, [&] { return is_done_; });
  while (!is_done_) {
    if (text_ != shown) {
      shown = text_;
      show_status(shown);
    }
    wake_.wait_for(lock, kStep, [&] { return is_done_; });
  }
}

}  // namespace memlog
