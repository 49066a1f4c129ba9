// SPDX-License-Identifier: Apache-2.0
// ProgressLine: tells on a terminal what a command is doing, once it has been at it for a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace memlog {

class ProgressLine {
 public:
  // The line is shown by a thread of its own, so that it also appears while one step takes long. Nothing at all
  // happens where stderr is no terminal.
  ProgressLine();
  ~ProgressLine();  // wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void set(std::string text);
  // Whether it is time to work out a new text: for steps of microseconds.
  bool wants_text(int64_t step) const { return is_on_ && step % kSteps == 0; }

 private:
  static constexpr int64_t kSteps = 16'384;
  void show();

  bool is_on_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string text_;
  bool is_done_ = false;
  std::thread thread_;
};

}  // namespace memlog
