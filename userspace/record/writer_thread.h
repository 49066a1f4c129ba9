// SPDX-License-Identifier: Apache-2.0
// WriterThread: takes what is queued once a commit interval, or sooner when much is queued, and stores it in one
// transaction. A batch that cannot be stored (a full disk) is kept and tried again until it can.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "record/record_queue.h"
#include "store/run_writer.h"

namespace memlog {

class WriterThread {
 public:
  // Called from the writer thread when storing begins to fail, and when it works again (reason empty).
  using FailureListener = std::function<void(const std::string& reason)>;

  // Called once, when the database's file is found moved or deleted.
  using MisplacedListener = std::function<void(FilePlace place)>;

  // Both outlive the thread.
  WriterThread(RunWriter& writer, RecordQueue& queue, int64_t commit_interval_ns, FailureListener on_failure,
               MisplacedListener on_misplaced);
  ~WriterThread();

  // Closes the queue, stores what is in it and ends the thread. The error: the last records could not be stored.
  Status finish();

 private:
  void run();

  RunWriter& writer_;
  RecordQueue& queue_;
  int64_t commit_interval_ns_;
  FailureListener on_failure_;
  MisplacedListener on_misplaced_;
  bool is_misplaced_ = false;
  std::atomic<bool> is_finishing_ = false;
  Status outcome_ = Ok{};
  std::thread thread_;
};

}  // namespace memlog
