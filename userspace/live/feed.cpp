// SPDX-License-Identifier: Apache-2.0
#include "live/feed.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/clock.h"
#include "live/facts.h"

namespace memlog {
namespace {

constexpr int64_t kPollsARefresh = 8;
constexpr int64_t kLeastPollNs = 25 * kNsPerMs;
constexpr int64_t kMostPollNs = 250 * kNsPerMs;
constexpr int64_t kBeatNs = 15 * kNsPerSecond;        // a silent stream's sign of life
constexpr int64_t kStateCheckNs = 3 * kNsPerSecond;   // a recorder that dies stores nothing
constexpr int64_t kMostOverlapNs = 5 * kNsPerSecond;  // a client that returns may have missed a late commit

std::string message_of(const LiveUpdate& update, const LiveCursor& cursor) {
  return "id: " + cursor_text(cursor) + "\nevent: update\ndata: " + update_json(update) + "\n\n";
}

}  // namespace

Feed::Feed(std::string database, int64_t refresh_ns, Send send)
    : reader_(std::move(database)),
      refresh_ns_(refresh_ns),
      poll_ns_(std::clamp(refresh_ns / kPollsARefresh, kLeastPollNs, kMostPollNs)),
      send_(std::move(send)),
      thread_([this] { work(); }) {}

Feed::~Feed() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_visitor_.notify_all();
  thread_.join();
}

void Feed::begin(uint64_t connection, const StreamWish& wish) {
  {
    const std::lock_guard lock(mutex_);
    visits_.push_back({connection, wish});
  }
  has_visitor_.notify_all();
}

void Feed::end(uint64_t connection) {
  const std::lock_guard lock(mutex_);
  visits_.push_back({connection, std::nullopt});
}

// Waits for a visitor, or as long as the next look at the database may wait. false: it is over.
bool Feed::take_visitors(bool has_to_wait) {
  std::vector<Visit> visits;
  {
    std::unique_lock lock(mutex_);
    const auto is_up = [&] { return is_ending_ || !visits_.empty(); };
    if (has_to_wait) {
      has_visitor_.wait(lock, is_up);
    } else {
      has_visitor_.wait_for(lock, std::chrono::nanoseconds(poll_ns_), is_up);
    }
    if (is_ending_) return false;
    visits.swap(visits_);
  }
  for (Visit& visit : visits) {
    if (!visit.wish) {
      listeners_.erase(visit.connection);
      continue;
    }
    Listener& listener = listeners_[visit.connection];
    listener.wish = *std::move(visit.wish);
    if (listener.wish.gzip) listener.packing.emplace(/*is_small=*/true);
    greet(visit.connection, listener);
  }
  return true;
}

void Feed::work() {
  int64_t told_ns = 0;
  int64_t checked_ns = 0;
  int64_t beat_ns = boot_now_ns();
  bool is_waiting = false;  // something was stored that has not been told
  while (take_visitors(listeners_.empty())) {
    if (listeners_.empty()) {
      news_.clear();
      continue;
    }
    const int64_t now_ns = boot_now_ns();
    const Result<bool> changed = reader_.has_changed();
    if (!changed) reader_.forget();
    is_waiting = is_waiting || (changed && *changed);
    const bool is_check = now_ns - checked_ns > kStateCheckNs;
    if ((is_waiting || is_check) && now_ns - told_ns >= refresh_ns_ - poll_ns_) {
      tell_all(is_waiting);
      is_waiting = false;
      told_ns = checked_ns = now_ns;
    }
    if (now_ns - beat_ns > kBeatNs) {
      beat_ns = now_ns;
      beat();
    }
  }
}

// What a client that has just come does not know yet.
void Feed::greet(uint64_t connection, Listener& listener) {
  const Result<Database*> database = reader_.database();
  if (!database) return;
  LiveCursor cursor = parse_cursor(listener.wish.since).value_or(LiveCursor());
  const bool is_resumed = cursor.time_ns != 0;
  if (is_resumed) {
    const Result<Run> run = get_run(**database, listener.wish.run_id);
    const int64_t interval_ns = run ? run->interval_ns : 0;
    cursor.time_ns -= std::min(2 * interval_ns, kMostOverlapNs);
  }
  const Result<LiveUpdate> update =
      read_live_update(**database, listener.wish.run_id, kMostTableRows, cursor);
  if (!update) return;
  RunNews& news = news_[listener.wish.run_id];
  if (news.cursor.time_ns == 0) news = {cursor, update->table.run.state, update->table.running_count};
  const std::string hello = "retry: 2000\n\n";
  send(connection, listener, is_resumed ? hello + message_of(*update, cursor) : hello);
}

void Feed::tell_all(bool is_forced) {
  std::set<int64_t> runs;
  for (const auto& [connection, listener] : listeners_) runs.insert(listener.wish.run_id);
  std::erase_if(news_, [&](const auto& one) { return !runs.contains(one.first); });
  const Result<Database*> database = reader_.database();
  if (!database) return;
  for (auto& [run_id, news] : news_) {
    if (!is_forced && news.state != RunState::running) continue;
    const Result<LiveUpdate> update = read_live_update(**database, run_id, kMostTableRows, news.cursor);
    if (!update) {
      reader_.forget();
      return;
    }
    const bool is_news = !update->tail.processes.empty() || !update->tail.events.empty() ||
                         !update->tail.gaps.empty() || update->is_too_much ||
                         update->table.run.state != news.state ||
                         update->table.running_count != news.running_count;
    news.state = update->table.run.state;
    news.running_count = update->table.running_count;
    if (!is_news) continue;
    const std::string message = message_of(*update, news.cursor);
    for (auto& [connection, listener] : listeners_) {
      if (listener.wish.run_id == run_id) send(connection, listener, message);
    }
  }
}

void Feed::beat() {
  for (auto& [connection, listener] : listeners_) send(connection, listener, ": still here\n\n");
}

void Feed::send(uint64_t connection, Listener& listener, const std::string& message) {
  send_(connection, listener.packing ? listener.packing->add(message) : message);
}

}  // namespace memlog
