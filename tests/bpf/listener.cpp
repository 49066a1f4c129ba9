// SPDX-License-Identifier: Apache-2.0
#include "bpf/listener.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace memlog {
namespace {

SeenEvent keep(const KernelEvent& event) {
  SeenEvent seen{
      event, std::string(event.comm), std::string(event.exe), {}, std::string(event.oom.trigger_comm)};
  std::istringstream arguments{std::string(event.arguments)};
  for (std::string argument; std::getline(arguments, argument, '\0');) seen.arguments.push_back(argument);
  return seen;
}

const char* kind_name(KernelEventKind kind) {
  switch (kind) {
    case KernelEventKind::exec:
      return "exec";
    case KernelEventKind::fork:
      return "fork";
    case KernelEventKind::rename:
      return "rename";
    case KernelEventKind::exit:
      return "exit";
    case KernelEventKind::oom_victim:
      return "oom_victim";
  }
  return "?";
}

std::string stat_after_comm(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.substr(text.rfind(')') + 2);
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

}  // namespace

Listener::Listener(const EventFilter& filter, const BpfOptions& options) {
  Result<std::unique_ptr<EventSource>> opened = open_bpf_events(filter, options);
  if (opened.ok()) {
    source_ = std::move(*opened);
  } else {
    error_ = opened.error();
  }
}

const std::vector<SeenEvent>& Listener::all() {
  source_->drain([this](const KernelEvent& event) { events_.push_back(keep(event)); });
  return events_;
}

std::vector<SeenEvent> Listener::of(pid_t pid) {
  std::vector<SeenEvent> found;
  for (const SeenEvent& event : all()) {
    if (event.facts.pid == pid) found.push_back(event);
  }
  return found;
}

std::vector<SeenEvent> Listener::of(pid_t pid, KernelEventKind kind) {
  std::vector<SeenEvent> found = of(pid);
  std::erase_if(found, [kind](const SeenEvent& event) { return event.facts.kind != kind; });
  return found;
}

size_t Listener::count(KernelEventKind kind) {
  size_t found = 0;
  for (const SeenEvent& event : all()) found += event.facts.kind == kind ? 1 : 0;
  return found;
}

std::string own(const std::string& name) {
  std::string prefix;
  for (pid_t rest = getpid(); rest > 0; rest /= 26) prefix += static_cast<char>('a' + rest % 26);
  return prefix + "-" + name;
}

std::string kinds(const std::vector<SeenEvent>& events) {
  std::string text;
  for (const SeenEvent& event : events)
    text += (text.empty() ? "" : " ") + std::string(kind_name(event.facts.kind));
  return text;
}

Stage::Stage() {
  std::string pattern = (std::filesystem::temp_directory_path() / "memlog_bpf_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  directory_ = pattern;
}

Stage::~Stage() {
  for (const std::string& link : links_) unlink(link.c_str());
  rmdir(directory_.c_str());
}

std::string Stage::actor(const std::string& name) {
  std::string link = directory_ + "/" + name;
  if (symlink(MEMLOG_BPF_ACTOR, link.c_str()) == 0) links_.push_back(link);
  return link;
}

Child::Child(std::vector<std::string> command, const std::string& cgroup_procs) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  output_.reset(ends[0]);
  const OwnedFd input(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  setpgid(0, 0);
  dup2(input.get(), STDOUT_FILENO);
  if (!cgroup_procs.empty()) {
    const int fd = open(cgroup_procs.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1) _exit(70);
  }
  execv(arguments[0], arguments.data());
  _exit(71);
}

Child::~Child() {
  if (!reaped_) kill_and_wait(SIGKILL);
}

int64_t Child::start_boot_ns() const {
  std::istringstream fields(stat_after_comm(pid_));
  std::string field;
  for (int number = 3; number <= 22; number++) fields >> field;
  return std::stoll(field) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

int64_t Child::peak_rss_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return -1;
}

int Child::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1;
  reaped_ = true;
  return status;
}

int Child::kill_and_wait(int signal) {
  kill(pid_, signal);
  return wait();
}

void Child::kill_group() { kill(-pid_, SIGKILL); }

void Child::wait_for_output(const std::string& text) {
  std::string seen;
  char byte = 0;
  while (!seen.ends_with(text) && read(output_.get(), &byte, 1) == 1) seen += byte;
}

void Child::wait_until_sleeping() const {
  while (stat_after_comm(pid_)[0] != 'S') usleep(1000);
}

MemoryCgroup::MemoryCgroup(const std::string& name, int64_t limit_bytes, const MemoryCgroup* parent) {
  const bool is_v1 = std::filesystem::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes") ||
                     std::filesystem::exists("/sys/fs/cgroup/memory/cgroup.procs");
  const std::string root = is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  const std::string above = parent != nullptr ? parent->directory_ : root;
  directory_ = above + "/" + name + "_" + std::to_string(getpid());
  if (!is_v1) write_file(above + "/cgroup.subtree_control", "+memory");
  if (mkdir(directory_.c_str(), 0755) != 0) return;
  const std::string limit_file = directory_ + (is_v1 ? "/memory.limit_in_bytes" : "/memory.max");
  ok_ = limit_bytes == 0 || write_file(limit_file, std::to_string(limit_bytes));
  if (limit_bytes == 0) return;
  if (is_v1) {
    write_file(directory_ + "/memory.memsw.limit_in_bytes", std::to_string(limit_bytes));
  } else {
    write_file(directory_ + "/memory.swap.max", "0");
  }
}

MemoryCgroup::~MemoryCgroup() {
  // A process that was just reaped may hold it for a moment longer.
  for (int attempt = 0; attempt < 200 && rmdir(directory_.c_str()) != 0 && errno == EBUSY; attempt++)
    usleep(10'000);
}

uint64_t MemoryCgroup::inode() const {
  struct stat facts{};
  return stat(directory_.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace memlog
