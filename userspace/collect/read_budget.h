// SPDX-License-Identifier: Apache-2.0
// ReadBudget: keeps a costly read within a share of the time. After a read that took t, the next is due no
// sooner than t / share later, so the cost is bounded whatever the interval and the size of the target.
#pragma once

#include <cstdint>

namespace memlog {

class ReadBudget {
 public:
  explicit ReadBudget(double share) : share_(share) {}
  bool is_due(int64_t now_ns) const { return now_ns >= next_ns_; }
  void spent(int64_t now_ns, int64_t cost_ns) {
    next_ns_ = now_ns + static_cast<int64_t>(static_cast<double>(cost_ns) / share_);
  }

 private:
  double share_;
  int64_t next_ns_ = 0;
};

}  // namespace memlog
