// SPDX-License-Identifier: Apache-2.0
// FrontDoor's workers: each takes a request, answers it, and leaves the bytes for the loop.
#include <chrono>

#include "live/front_door.h"
#include "live/front_door_parts.h"

namespace memlog {
namespace {

constexpr size_t kWorthWaking = size_t{256} * 1024;  // bytes after which the loop begins to send

}  // namespace

void FrontDoor::announce(uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(id);
  }
  wake();
}

// Adds to the answer; waits while the client has not taken what is there. false: it never will.
bool FrontDoor::put(const std::shared_ptr<Outbox>& outbox, uint64_t id, std::string_view bytes) {
  std::unique_lock lock(outbox->mutex);
  if (outbox->is_dead) return false;
  outbox->bytes += bytes;
  if (outbox->bytes.size() < kWorthWaking) return true;
  lock.unlock();
  announce(id);
  lock.lock();
  // The loop closes a client that stalls, so this ends.
  outbox->room.wait(lock, [&] { return outbox->is_dead || outbox->bytes.size() < limits_.backlog_bytes; });
  return !outbox->is_dead;
}

void FrontDoor::work(size_t worker) {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      has_job_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
      if (is_ending_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.exchange.worker = worker;
    job.exchange.write = [&](std::string_view bytes) { return put(job.outbox, job.connection, bytes); };
    callbacks_.answer(job.exchange);
    {
      const std::lock_guard lock(job.outbox->mutex);
      job.outbox->is_finished = true;
      job.outbox->closes = job.exchange.closes;
      job.outbox->stream = job.exchange.stream;
    }
    announce(job.connection);
  }
}

}  // namespace memlog
