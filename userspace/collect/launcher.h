// SPDX-License-Identifier: Apache-2.0
// Launcher: starts a command that waits, so that it can be attached to before its first instruction.
//
// The child is a plain child of memlog: it inherits the terminal, environment, directory and open standard streams, gets
// back the signal mask and dispositions that memlog itself was started with, and goes on if memlog is killed. Start it
// before memlog changes its own oom_score_adj, limits or scheduling: all of these are inherited.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace memlog {

class Launcher {
 public:
  // Forks a child that waits for resume(). `signal_mask` is what the command shall start with.
  static Result<Launcher> start(const std::vector<std::string>& command, const sigset_t& signal_mask);

  // Lets the child execute the command; returns when it has. The error's code is errno of execvp (the child is then
  // reaped already); exec_failure_status() turns it into the exit status that shells use.
  Status resume();
  static int exec_failure_status(int code);

  pid_t pid() const { return pid_; }
  // Readable once the child has ended.
  int poll_fd() const { return pidfd_.get(); }
  // Sends through the pidfd: never to a stranger.
  void forward(int signal) const;
  // Waits for the end; the status is as wait(2) gives it.
  Result<int> wait();

 private:
  pid_t pid_ = -1;
  OwnedFd pidfd_;
  OwnedFd go_;     // a byte sent here lets the child go on
  OwnedFd error_;  // errno of a failed exec comes from here; closed by a successful one
  std::string name_;
};

}  // namespace memlog
