// SPDX-License-Identifier: Apache-2.0
#include "e2e/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "store/database.h"

namespace memlog::e2e {
namespace {

using Clock = std::chrono::steady_clock;

void append_available(int fd, std::string& text) {
  char buffer[65536];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

TempDir::TempDir() {
  char path[] = "/tmp/memlog-test-XXXXXX";
  if (mkdtemp(path) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = path;
}
TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Child Child::start(const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& environment) {
  Child child;
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  child.pid_ = fork();
  if (child.pid_ == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  child.out_ = out[0];
  child.err_ = err[0];
  fcntl(child.out_, F_SETFL, O_NONBLOCK);
  fcntl(child.err_, F_SETFL, O_NONBLOCK);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      collected_(std::move(other.collected_)) {}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

void Child::read_output(int timeout_ms) {
  pollfd waiting[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  poll(waiting, 2, timeout_ms);
  append_available(out_, collected_.out);
  append_available(err_, collected_.err);
}

bool Child::wait_for_output(const std::string& text) {
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (Clock::now() < deadline) {
    read_output(20);
    if ((collected_.out + collected_.err).find(text) != std::string::npos) return true;
    siginfo_t info{};
    const bool has_ended =
        waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
    if (has_ended) {
      read_output(0);
      return (collected_.out + collected_.err).find(text) != std::string::npos;
    }
  }
  return false;
}

void Child::signal(int number) const { kill(pid_, number); }

Finished Child::finish(int patience_seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(patience_seconds);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      collected_.err += "\n(killed by the test: it did not end)";
      break;
    }
    read_output(10);
  }
  pid_ = -1;
  read_output(0);
  collected_.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return collected_;
}

Finished run(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  return Child::start(command, environment).finish();
}

std::vector<Row> query(const std::string& path, const std::string& sql) {
  Result<Database> database = Database::open(path, Database::Mode::read);
  if (!database) throw std::runtime_error(database.error().doing + ": " + database.error().reason);
  std::vector<Row> rows;
  const Status asked = database->each(sql, {}, [&](const Statement& statement) {
    Row row;
    for (int column = 0; column < statement.column_count(); ++column) {
      const std::optional<std::string_view> text = statement.text(column);
      row[statement.column_name(column)] = text ? std::optional<std::string>(*text) : std::nullopt;
    }
    rows.push_back(std::move(row));
  });
  if (!asked) throw std::runtime_error(asked.error().doing + ": " + asked.error().reason);
  return rows;
}

std::string query_one(const std::string& path, const std::string& sql) {
  const std::vector<Row> rows = query(path, sql);
  if (rows.size() != 1 || rows[0].size() != 1) return "(" + std::to_string(rows.size()) + " rows)";
  return rows[0].begin()->second.value_or("NULL");
}

MemoryCgroup::MemoryCgroup(const std::string& name, int64_t limit_bytes) {
  const bool is_v1 = std::filesystem::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes") ||
                     std::filesystem::exists("/sys/fs/cgroup/memory/cgroup.procs");
  path_ = "/memlog-test-" + std::to_string(getpid()) + "-" + name;
  directory_ = (is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + path_;
  if (mkdir(directory_.c_str(), 0755) != 0) throw std::runtime_error("cannot make " + directory_);
  std::ofstream(directory_ + (is_v1 ? "/memory.limit_in_bytes" : "/memory.max")) << limit_bytes;
}

MemoryCgroup::~MemoryCgroup() {
  for (int i = 0; i < 100 && rmdir(directory_.c_str()) != 0; ++i) usleep(10000);
}

std::string EndToEnd::workload(const std::string& name) const {
  std::string path = dir_ / name;
  std::filesystem::copy_file(MEMLOG_WORKLOAD, path, std::filesystem::copy_options::overwrite_existing);
  return path;
}

Child EndToEnd::trace(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {MEMLOG_BINARY, "trace", "--db", database()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Child child = Child::start(command);
  EXPECT_TRUE(child.wait_for_output(" into ")) << child.finish().err;
  return child;
}

}  // namespace memlog::e2e
