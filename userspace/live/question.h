// SPDX-License-Identifier: Apache-2.0
// One request on its way through the routes, and what its query says.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "live/routes.h"
#include "query/timeline.h"
#include "render/chart_layout.h"

namespace memlog {

struct Routes::Question {
  const httplib::Request& request;
  httplib::Response& response;
  Exchange& exchange;
  Reader& reader;
  std::string run;               // as the address names it
  Database* database = nullptr;  // after find()
  int64_t run_id = 0;
};

// A share of the few downloads that may be made at once, for as long as it lives.
class DownloadShare {
 public:
  explicit DownloadShare(std::atomic<int>& count) : count_(&count), is_granted_(++count <= kMost) {}
  DownloadShare(DownloadShare&& other) noexcept : count_(other.count_), is_granted_(other.is_granted_) {
    other.count_ = nullptr;
  }
  DownloadShare& operator=(DownloadShare&&) = delete;
  DownloadShare(const DownloadShare&) = delete;
  ~DownloadShare() {
    if (count_ != nullptr) --*count_;
  }
  bool is_granted() const { return is_granted_; }

 private:
  static constexpr int kMost = 2;
  std::atomic<int>* count_;
  bool is_granted_;
};

// "since_ms=1780662896000.5" in ns; an error where it is no such number.
Result<std::optional<int64_t>> time_of(const httplib::Request& request, const char* name);
// A whole number within bounds; `other` where there is none.
Result<int64_t> count_of(const httplib::Request& request, const char* name, int64_t least, int64_t most,
                         int64_t other);
// since_ms, until_ms, points, processes, metrics and only of the query.
Result<TimelineRequest> timeline_request(const httplib::Request& request, int64_t points, int64_t processes);
Theme theme_of(const httplib::Request& request);

}  // namespace memlog
