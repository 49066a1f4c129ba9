// SPDX-License-Identifier: Apache-2.0
// What end-to-end tests share: real child processes, the built memlog, its database, and memory cgroups of their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace memlog::e2e {

// A directory that is removed, with all in it, at the end of the test.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Finished {
  int exit_status = -1;  // as a shell sees it: 128 + N for a signal
  std::string out;
  std::string err;
};

// A child process whose output is collected. Killed, by its pid, if it still runs when the object ends.
class Child {
 public:
  static Child start(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // Waits until stdout and stderr together hold `text`; false after ten seconds or at the end of the process.
  bool wait_for_output(const std::string& text);
  // What it has said so far, as far as it was read.
  std::string output() const { return collected_.out + collected_.err; }
  void signal(int number) const;
  Finished finish(int patience_seconds = 30);

 private:
  Child() = default;
  void read_output(int timeout_ms);
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Finished collected_;
};

Finished run(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment = {});

using Row = std::map<std::string, std::optional<std::string>>;

// The rows that `sql` gives, read through a connection of its own.
std::vector<Row> query(const std::string& database, const std::string& sql);
// The only value of the only row; "NULL" for NULL.
std::string query_one(const std::string& database, const std::string& sql);

// A memory cgroup (v1 or v2) of the test's own, removed at its end.
class MemoryCgroup {
 public:
  MemoryCgroup(const std::string& name, int64_t limit_bytes);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  const std::string& directory() const { return directory_; }
  const std::string& path() const { return path_; }  // as in /proc/PID/cgroup

 private:
  std::string directory_;
  std::string path_;
};

// Skips the test, or fails it where MEMLOG_REQUIRE_BPF=1, unless BPF programs can be loaded / cgroups be made.
#define MEMLOG_NEEDS_ROOT()                                                                    \
  do {                                                                                         \
    if (geteuid() == 0) break;                                                                 \
    if (const char* required = getenv("MEMLOG_REQUIRE_BPF"); required && required[0] == '1') { \
      FAIL() << "needs root (BPF programs, memory cgroups)";                                   \
    }                                                                                          \
    GTEST_SKIP() << "needs root (BPF programs, memory cgroups)";                               \
  } while (false)

// The fixture: a directory, a database in it, and the workload program under any name.
class EndToEnd : public testing::Test {
 protected:
  void SetUp() override { MEMLOG_NEEDS_ROOT(); }

  std::string database() const { return dir_ / "memlog.db"; }
  // A copy of the workload program called `name`.
  std::string workload(const std::string& name) const;
  // `memlog trace --db ... ARGUMENTS`, started and attached (it names its database once it is).
  Child trace(const std::vector<std::string>& arguments) const;
  std::string ask(const std::string& sql) const { return query_one(database(), sql); }
  std::vector<Row> rows(const std::string& sql) const { return query(database(), sql); }

  TempDir dir_;
};

}  // namespace memlog::e2e
