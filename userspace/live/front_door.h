// SPDX-License-Identifier: Apache-2.0
// FrontDoor: all connections of the dashboard in one thread, and a few worker threads that answer.
//
// A connection costs a worker only from the moment its whole request head is there, and streams cost none:
// ten thousand clients that send slowly or never read occupy a bounded table, out of which the one that has
// idled longest goes first. Every buffer and every wait has a bound.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "live/engine.h"

namespace memlog {

struct FrontDoorLimits {
  size_t connections = 256;
  size_t streams = 64;
  size_t queued = 64;  // requests that wait for a worker
  size_t workers = 4;
  int64_t head_ns = 5 * kNsPerSecond;    // until a request's head is whole
  int64_t idle_ns = 60 * kNsPerSecond;   // between two requests
  int64_t stall_ns = 20 * kNsPerSecond;  // a client that takes nothing of its answer
  size_t backlog_bytes =
      size_t{4} << 20U;  // of an answer that its client has not taken: the worker then waits
  size_t stream_backlog_bytes = size_t{512} << 10U;  // of a stream: the client is then dropped
};

class FrontDoor {
 public:
  struct Callbacks {
    std::function<void(Exchange&)> answer;                           // in a worker
    std::function<void(uint64_t, const StreamWish&)> stream_begins;  // in the loop: must not block
    std::function<void(uint64_t)> stream_ends;
  };

  // `listener` is non-blocking and outlives the door.
  FrontDoor(int listener, const FrontDoorLimits& limits, Callbacks callbacks);
  ~FrontDoor();
  FrontDoor(const FrontDoor&) = delete;
  FrontDoor& operator=(const FrontDoor&) = delete;

  // Serves until stop().
  void run();
  // From any thread, and from a signal handler.
  void stop() const;
  // Closes everything, after run(); no callback is called any more.
  void hang_up();
  // Sends bytes on a stream, or ends it; from any thread. A stream that is gone already is no error.
  void send(uint64_t connection, std::string bytes);
  void end(uint64_t connection);

 private:
  struct Outbox;
  struct Connection;
  struct Job;
  struct Post {
    uint64_t connection = 0;
    std::string bytes;
    bool is_end = false;
  };

  void accept_some();
  bool make_room();
  void handle(Connection& connection, uint32_t events);
  void read_from(Connection& connection);
  void take_request(Connection& connection);
  void refuse(Connection& connection, int status, std::string_view text);
  void deliver_ready();
  static bool fetch(Connection& connection, bool& is_finished);
  void flush(Connection& connection);
  void after_answer(Connection& connection);
  void watch(Connection& connection, uint32_t events) const;
  void close_connection(uint64_t id);
  void expire(int64_t now_ns);
  void wake() const;
  void work(size_t worker);
  bool put(const std::shared_ptr<Outbox>& outbox, uint64_t id, std::string_view bytes);
  void announce(uint64_t id);

  int listener_;
  FrontDoorLimits limits_;
  Callbacks callbacks_;
  OwnedFd epoll_;
  OwnedFd wake_;
  mutable OwnedFd stop_;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  uint64_t next_id_ = 1;
  size_t stream_count_ = 0;
  int64_t expired_ns_ = 0;

  std::mutex mutex_;  // of what follows
  std::condition_variable has_job_;
  std::deque<Job> jobs_;
  std::vector<uint64_t> ready_;  // connections with bytes to send
  std::vector<Post> posts_;
  bool is_ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace memlog
