// SPDX-License-Identifier: Apache-2.0
// gzip (RFC 1952): whole bodies, and streams that are flushed after each message.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace memlog {

// Throws std::bad_alloc where memory is short, as GzipStream does.
std::string gzip(std::string_view bytes);
// What was packed; empty where it is no gzip file or larger than `most_bytes`.
std::string gunzip(std::string_view packed, size_t most_bytes);

// One stream of a long answer. `is_small`: 24 KiB of memory instead of 256, for the many that only listen.
class GzipStream {
 public:
  explicit GzipStream(bool is_small);
  GzipStream(GzipStream&&) noexcept;
  GzipStream& operator=(GzipStream&&) = delete;
  GzipStream(const GzipStream&) = delete;
  ~GzipStream();

  // What is to be sent for `bytes`, so that the receiver can unpack all of it.
  std::string add(std::string_view bytes);
  std::string finish();

 private:
  std::string run(std::string_view bytes, int flush);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memlog
