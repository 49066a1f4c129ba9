// SPDX-License-Identifier: Apache-2.0
// The dashboard as a whole: an address to listen on, and a server that answers on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace memlog {

inline constexpr int kLivePort = 8765;

struct LiveOptions {
  std::string database;
  std::string run = "last";  // what the page shows first: id, label or "last"
  int64_t recorder_pid = 0;  // not 0: the newest run of that recorder instead
  std::string host = "127.0.0.1";
  int port = kLivePort;  // 0: any that is free
  std::string socket;    // path of a Unix socket, instead of host and port
  int64_t refresh_ms = 1000;
  std::vector<std::string> allowed_hosts;
  std::string token;    // needed where others than this machine can connect
  std::string session;  // the cookie's value; empty: a new one
};

// An open, listening socket. A Unix socket's file is removed again by remove_socket().
struct LiveListener {
  OwnedFd fd;
  std::string address;  // "127.0.0.1:8765", "[::1]:8765" or the socket's path
  int port = 0;         // 0: a Unix socket
  bool is_loopback = true;
};

// Refuses what others could reach unless `options` has a token. One line says what is in the way and how to
// choose another address.
Result<LiveListener> listen_live(const LiveOptions& options);
// Removes the file of a Unix socket that listen_live() has made.
void remove_socket(const LiveOptions& options);

class LiveServer {
 public:
  // `listener` outlives it.
  LiveServer(const LiveOptions& options, const LiveListener& listener);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  void run();         // until stop()
  void stop() const;  // from any thread, or a signal handler

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace memlog
