// SPDX-License-Identifier: Apache-2.0
// Feed: tells all event streams what is new, from one thread and one database connection.
//
// The clients of a run share each update; a client that comes (back) gets first what it has missed. Without
// clients nothing is read. The database is asked cheaply whether anything was stored, and only then for what.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "live/engine.h"
#include "live/gzip.h"
#include "live/reader.h"
#include "query/live_table.h"

namespace memlog {

class Feed {
 public:
  using Send = std::function<void(uint64_t connection, std::string bytes)>;
  Feed(std::string database, int64_t refresh_ns, Send send);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void begin(uint64_t connection, const StreamWish& wish);
  void end(uint64_t connection);

 private:
  struct Listener {
    StreamWish wish;
    std::optional<GzipStream> packing;
  };
  struct RunNews {
    LiveCursor cursor;
    RunState state = RunState::running;
    int64_t running_count = -1;
  };

  void work();
  void greet(uint64_t connection, Listener& listener);
  void tell_all(bool is_forced);
  void beat();
  void send(uint64_t connection, Listener& listener, const std::string& message);

  bool take_visitors(bool has_to_wait);

  struct Visit {
    uint64_t connection = 0;
    std::optional<StreamWish> wish;  // unset: it has left
  };

  // The thread's own.
  Reader reader_;
  int64_t refresh_ns_;
  int64_t poll_ns_;
  Send send_;
  std::map<int64_t, RunNews> news_;  // by run
  std::unordered_map<uint64_t, Listener> listeners_;

  std::mutex mutex_;  // of what follows; never held while anything is read
  std::condition_variable has_visitor_;
  std::vector<Visit> visits_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace memlog
