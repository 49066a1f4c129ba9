// SPDX-License-Identifier: Apache-2.0
#include "record/progress.h"

namespace memlog {

void Progress::say(std::string line) { keep(news_.lines, std::move(line)); }
void Progress::warn(std::string line) { keep(news_.warnings, std::move(line)); }

void Progress::keep(std::vector<std::string>& where, std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (where.size() >= kKeptLines) {
      ++news_.dropped_lines;
      return;
    }
    where.push_back(std::move(line));
  }
  wake_.notify_one();
}

void Progress::update(const ProgressNumbers& numbers) {
  const std::lock_guard lock(mutex_);
  news_.numbers = numbers;
}

void Progress::finish() {
  {
    const std::lock_guard lock(mutex_);
    news_.is_finished = true;
  }
  wake_.notify_one();
}

Progress::News Progress::take(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, wait,
                 [&] { return news_.is_finished || !news_.lines.empty() || !news_.warnings.empty(); });
  News taken = news_;
  news_.lines.clear();
  news_.warnings.clear();
  news_.dropped_lines = 0;
  return taken;
}

}  // namespace memlog
