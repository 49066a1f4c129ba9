// SPDX-License-Identifier: Apache-2.0
// What the BPF tests share: a listener that keeps events, and real processes to listen to.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "collect/bpf_events.h"

namespace memlog {

// A kernel event with its names kept.
struct SeenEvent {
  KernelEvent facts;  // its views are not valid
  std::string comm;
  std::string exe;
  std::vector<std::string> arguments;
  std::string trigger_comm;
};

// Events are in the ring before the system call that caused them returns (an exit: before wait returns), so
// that no test has to wait for one.
class Listener {
 public:
  explicit Listener(const EventFilter& filter, const BpfOptions& options = {});
  const std::optional<Error>& error() const { return error_; }
  EventSource& source() { return *source_; }

  // Everything seen since the start.
  const std::vector<SeenEvent>& all();
  std::vector<SeenEvent> of(pid_t pid);
  std::vector<SeenEvent> of(pid_t pid, KernelEventKind kind);
  size_t count(KernelEventKind kind);

 private:
  std::unique_ptr<EventSource> source_;
  std::optional<Error> error_;
  std::vector<SeenEvent> events_;
};

// A name that no other process on the host has, not even another run of these tests: events are matched by
// name.
std::string own(const std::string& name);

// The kinds in order, as "exec exit".
std::string kinds(const std::vector<SeenEvent>& events);

// Skips the test, or fails it where MEMLOG_REQUIRE_BPF=1, if the listener could not be opened.
#define MEMLOG_LISTENER_OR_SKIP(listener)                                    \
  do {                                                                       \
    if ((listener).error()) {                                                \
      const Error& why = *(listener).error();                                \
      const char* require = getenv("MEMLOG_REQUIRE_BPF");                    \
      if (require != nullptr && std::string(require) == "1")                 \
        FAIL() << why.doing << ": " << why.reason << "\nhint: " << why.hint; \
      GTEST_SKIP() << why.doing << ": " << why.reason;                       \
    }                                                                        \
  } while (false)

// A directory of its own with the actor program under names of the test's choice.
class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  // The path of the actor under this name: its comm when executed.
  std::string actor(const std::string& name);

 private:
  std::string directory_;
  std::vector<std::string> links_;
};

// A child of the test, killed and reaped at the latest by the destructor.
class Child {
 public:
  // fork and exec; `cgroup_procs` is a file to write the child's pid to before the exec, or empty.
  Child(std::vector<std::string> command, const std::string& cgroup_procs = "");
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  int64_t start_boot_ns() const;   // from /proc: in 10 ms ticks
  int64_t peak_rss_bytes() const;  // VmHWM
  int wait();                      // the wait status
  int kill_and_wait(int signal);
  void kill_group();                              // the child leads a process group of its own
  void wait_for_output(const std::string& text);  // blocks until it was written to stdout
  void wait_until_sleeping() const;

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  OwnedFd output_;
};

// A memory cgroup (v1 or v2) with a limit, removed by the destructor.
class MemoryCgroup {
 public:
  // 0 = no limit. `parent` may be null: directly under the root.
  MemoryCgroup(const std::string& name, int64_t limit_bytes, const MemoryCgroup* parent = nullptr);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  bool ok() const { return ok_; }
  std::string procs_file() const { return directory_ + "/cgroup.procs"; }
  uint64_t inode() const;

 private:
  std::string directory_;
  bool ok_ = false;
};

}  // namespace memlog
