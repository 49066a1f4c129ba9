// SPDX-License-Identifier: Apache-2.0
// RowIds: which database row a run-local key stands for, undone where the transaction that made it failed.
//
// A recording may see millions of short processes, so an ended key is forgotten after kKeptEnds later ends:
// long enough for what trails behind an end (a gap, an OOM kill read from the log).
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "model/nullable.h"

namespace memlog {

class RowIds {
 public:
  static constexpr size_t kKeptEnds = 4096;

  Nullable find(uint32_t key) const {
    const auto found = ids_.find(key);
    return found == ids_.end() ? Nullable() : Nullable(found->second);
  }
  void add(uint32_t key, int64_t id) {
    ids_[key] = id;
    added_.push_back(key);
  }
  void mark_ended(uint32_t key) { ended_now_.push_back(key); }

  void commit() {
    added_.clear();
    for (const uint32_t key : ended_now_) ended_.push_back(key);
    ended_now_.clear();
    while (ended_.size() > kKeptEnds) {
      ids_.erase(ended_.front());
      ended_.pop_front();
    }
  }
  void roll_back() {
    for (const uint32_t key : added_) ids_.erase(key);
    added_.clear();
    ended_now_.clear();
  }
  size_t size() const { return ids_.size(); }

 private:
  std::unordered_map<uint32_t, int64_t> ids_;
  std::vector<uint32_t> added_;      // in the open transaction
  std::vector<uint32_t> ended_now_;  // in the open transaction
  std::deque<uint32_t> ended_;
};

}  // namespace memlog
