// SPDX-License-Identifier: Apache-2.0
// RecordQueue: the bounded hand-over from the recorder (which never waits) to the writer thread.
//
// Full means drop and count. Samples and the like may fill it up to a mark below the capacity only: what begins or ends
// a process, a kill or a gap still finds room when samples no longer do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "model/records.h"

namespace memlog {

class RecordQueue {
 public:
  explicit RecordQueue(size_t capacity);

  // false: dropped, the queue is full. Never blocks on the writer's work.
  bool push(Record record);
  // Swaps everything queued into `batch` (whose old content is discarded, its memory reused) once the queue is half
  // full, `wait` has passed or close() was called. false: closed and empty.
  bool pop_all(std::vector<Record>& batch, std::chrono::nanoseconds wait);
  // No more pushes will come.
  void close();
  // Wakes the writer now.
  void flush();

 private:
  const size_t capacity_;
  const size_t sample_capacity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Record> records_;
  bool is_closed_ = false;
  bool is_flush_asked_ = false;
};

}  // namespace memlog
