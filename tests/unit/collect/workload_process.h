// SPDX-License-Identifier: Apache-2.0
// A running test workload (tests/workloads/workload.cpp), killed and reaped by its owner.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"

namespace memlog::test {

class WorkloadProcess {
 public:
  explicit WorkloadProcess(std::vector<std::string> steps, std::string program = MEMLOG_WORKLOAD) {
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) abort();
    std::vector<char*> arguments{program.data()};
    for (std::string& step : steps) arguments.push_back(step.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      dup2(input[0], STDIN_FILENO);
      dup2(output[1], STDOUT_FILENO);
      execv(program.c_str(), arguments.data());
      _exit(127);
    }
    setpgid(pid_, pid_);  // here too: whoever comes first
    close(input[0]);
    close(output[1]);
    input_.reset(input[1]);
    output_.reset(output[0]);
  }
  WorkloadProcess(const WorkloadProcess&) = delete;
  WorkloadProcess& operator=(const WorkloadProcess&) = delete;
  ~WorkloadProcess() {
    if (!is_reaped_) kill_and_reap();
  }

  pid_t pid() const { return pid_; }

  // The next line of its stdout without its newline; what there was where the stream ended.
  std::string line() {
    std::string text;
    char byte = 0;
    while (read(output_.get(), &byte, 1) == 1 && byte != '\n') text += byte;
    return text;
  }
  // Lets its read-line step go on.
  void go_on() { EXPECT_EQ(write(input_.get(), "\n", 1), 1); }

  // Waits until it is a zombie and leaves it one.
  void await_zombie() const {
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  }
  // Its children, which are in its process group, are killed with it.
  void kill_and_reap() {
    kill(-pid_, SIGKILL);
    reap();
  }
  int reap() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    is_reaped_ = true;
    return status;
  }

 private:
  pid_t pid_ = 0;
  bool is_reaped_ = false;
  OwnedFd input_;
  OwnedFd output_;
};

// Whether `condition` became true within ten seconds; it is asked every millisecond.
inline bool eventually(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 10000; ++tries) {
    if (condition()) return true;
    usleep(1000);
  }
  return false;
}

// Runs `body` in a forked child as user and group 65534 with no privilege; its return value is the exit
// status.
inline int as_nobody(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(120);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace memlog::test
