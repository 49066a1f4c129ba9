// SPDX-License-Identifier: Apache-2.0
// The pieces of FrontDoor that its loop and its workers share.
#pragma once

#include <sys/socket.h>

#include "live/front_door.h"

namespace memlog {

enum class State : uint8_t { reading, answering, streaming };

// Where a worker leaves an answer and the loop fetches it.
struct FrontDoor::Outbox {
  std::mutex mutex;
  std::condition_variable room;
  std::string bytes;
  bool is_dead = false;      // the client is gone
  bool is_finished = false;  // the whole answer is in `bytes` or was fetched
  bool closes = false;
  std::optional<StreamWish> stream;
};

struct FrontDoor::Connection {
  uint64_t id = 0;
  OwnedFd fd;
  State state = State::reading;
  uint32_t watched = 0;       // epoll's events
  int64_t since_ns = 0;       // of the state's beginning, or of the last byte that the client took
  int64_t head_since_ns = 0;  // of the first byte of the request that is being read
  bool has_asked = false;     // one request at least was whole
  std::string in;             // less than a head and a piece
  std::string out;
  size_t sent = 0;  // of `out`
  std::shared_ptr<Outbox> outbox;
};

struct FrontDoor::Job {
  uint64_t connection = 0;
  std::shared_ptr<Outbox> outbox;
  Exchange exchange;
};

inline ssize_t send_to(int fd, std::string_view bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace memlog
