// SPDX-License-Identifier: Apache-2.0
#include "collect/launcher.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace memlog {
namespace {

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become_command(char* const* arguments, const sigset_t& signal_mask, int go, int error) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(go, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(FatalError::kOwnFailure);  // memlog has ended before it could attach
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &standard, nullptr);
  sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
  execvp(arguments[0], arguments);
  const int code = errno;
  [[maybe_unused]] const ssize_t told = write(error, &code, sizeof code);
  _exit(Launcher::exec_failure_status(code));
}

Status make_pipe(OwnedFd& read_end, OwnedFd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("making a pipe", errno);
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return Ok{};
}

}  // namespace

Result<Launcher> Launcher::start(const std::vector<std::string>& command, const sigset_t& signal_mask) {
  Launcher launcher;
  launcher.name_ = command.at(0);
  OwnedFd go_read;
  OwnedFd error_write;
  if (const Status made = make_pipe(go_read, launcher.go_); !made) return made.error();
  if (const Status made = make_pipe(launcher.error_, error_write); !made) return made.error();
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  launcher.pid_ = fork();
  if (launcher.pid_ < 0) return errno_error("starting a process for " + printable(launcher.name_), errno);
  if (launcher.pid_ == 0) {
    launcher.go_.reset();
    become_command(arguments.data(), signal_mask, go_read.get(), error_write.get());
  }
  launcher.pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, launcher.pid_, 0)));
  if (!launcher.pidfd_) return errno_error("watching " + printable(launcher.name_), errno);
  return launcher;
}

Status Launcher::resume() {
  const char byte = 1;
  if (write(go_.get(), &byte, 1) != 1) return errno_error("resuming " + printable(name_), errno);
  go_.reset();
  int code = 0;
  ssize_t got = 0;
  do {
    got = read(error_.get(), &code, sizeof code);
  } while (got < 0 && errno == EINTR);
  error_.reset();
  if (got != sizeof code) return Ok{};
  [[maybe_unused]] const Result<int> reaped = wait();
  Error error = errno_error("running " + printable(name_), code);
  if (code == ENOENT) error.hint = "give the command's path, or a name that is found in PATH";
  return error;
}

int Launcher::exec_failure_status(int code) { return code == ENOENT ? 127 : 126; }

void Launcher::forward(int signal) const { syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0); }

Result<int> Launcher::wait() {
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped != pid_) return errno_error("waiting for " + printable(name_), errno);
  return status;
}

}  // namespace memlog
