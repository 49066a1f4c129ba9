// SPDX-License-Identifier: Apache-2.0
// LiveServing: the dashboard in a process of its own, beside a recording or by itself.
//
// A keeper process gives up every privilege (it becomes the invoking user, without capabilities and any way to
// new ones) and keeps a server process alive that may use a bounded amount of memory: whatever a client makes
// of it, the recorder neither grows nor waits, and a server that dies is back in a moment. Both end with the
// process that started them, however that ends.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "live/server.h"

namespace memlog {

class LiveServing {
 public:
  // Listens (an address that is taken is an error), then forks: call it before there are threads, privileges to
  // drop or files to keep from a child. `recorder_pid`: whose newest run is shown first; 0: `run`.
  static Result<std::unique_ptr<LiveServing>> start(const LiveFlags& flags, const std::string& database,
                                                    const std::string& run, pid_t recorder_pid);
  // For trace and run: nothing where --live was not given.
  static std::unique_ptr<LiveServing> start_beside(const RecordOptions& options, const std::string& database);
  ~LiveServing();
  LiveServing(const LiveServing&) = delete;
  LiveServing& operator=(const LiveServing&) = delete;

  // Says where the dashboard is and how to get there from another machine.
  void say_where() const;
  // Waits for SIGINT, SIGTERM or SIGHUP, which the caller has blocked.
  void wait() const;
  // After a recording: goes on serving until Ctrl-C, unless `why` it ended was such a signal or --live-exit.
  void stay(const std::string& why) const;

 private:
  LiveServing() = default;

  LiveOptions options_;
  std::string address_;
  int port_ = 0;
  bool is_loopback_ = true;
  bool exits_ = false;
  pid_t keeper_ = -1;
};

}  // namespace memlog
