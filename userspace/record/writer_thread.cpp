// SPDX-License-Identifier: Apache-2.0
#include "record/writer_thread.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <utility>

namespace memlog {
namespace {

constexpr std::chrono::seconds kRetryInterval{1};
constexpr int kLastRetries = 3;  // when the recording is over and the disk is still full

}  // namespace

WriterThread::WriterThread(RunWriter& writer, RecordQueue& queue, int64_t commit_interval_ns,
                           FailureListener on_failure, MisplacedListener on_misplaced)
    : writer_(writer),
      queue_(queue),
      commit_interval_ns_(commit_interval_ns),
      on_failure_(std::move(on_failure)),
      on_misplaced_(std::move(on_misplaced)),
      thread_([this] { run(); }) {}

WriterThread::~WriterThread() { [[maybe_unused]] const Status outcome = finish(); }

Status WriterThread::finish() {
  is_finishing_ = true;
  queue_.close();
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

void WriterThread::run() {
  pthread_setname_np(pthread_self(), "memlog-writer");
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::vector<Record> batch;
  while (queue_.pop_all(batch, std::chrono::nanoseconds(commit_interval_ns_))) {
    if (batch.empty()) continue;
    int last_retries = 0;
    bool has_failed = false;
    while (true) {
      const Status written = writer_.write(batch);
      if (written.ok()) break;
      if (!has_failed) on_failure_(written.error().doing + ": " + written.error().reason);
      has_failed = true;
      if (is_finishing_ && ++last_retries > kLastRetries) {
        outcome_ = written;
        return;
      }
      std::this_thread::sleep_for(kRetryInterval);
    }
    if (has_failed) on_failure_("");
    const FilePlace place = writer_.place();
    if (place != FilePlace::in_place && !std::exchange(is_misplaced_, true)) on_misplaced_(place);
  }
}

}  // namespace memlog
