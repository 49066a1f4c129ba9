// SPDX-License-Identifier: Apache-2.0
#include "collect/process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/small_file.h"
#include "base/text.h"
#include "collect/kernel_text.h"

namespace memlog {
namespace {

constexpr int64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr size_t kStatLimitBytes = 2048;
constexpr size_t kCommLimitBytes = 256;
constexpr size_t kStatusLimitBytes = size_t{256} * 1024;  // a process may be in 65536 groups
constexpr size_t kCmdlineLimitBytes = size_t{32} * 1024;
constexpr size_t kCgroupLimitBytes = size_t{16} * 1024;
constexpr size_t kCommBytes = 15;

// Takes the number after the blanks at the start of `text` off it.
std::optional<int64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  const size_t length = std::min(text.size(), text.find_first_of(" \n"));
  const std::optional<int64_t> number = parse_int(text.substr(0, length));
  text.remove_prefix(length);
  return number;
}

Error malformed_stat() { return {"reading a process's stat", "not in the kernel's format", ""}; }

bool names_memory(std::string_view controllers) {
  for (const std::string_view controller : split(controllers, ',')) {
    if (controller == "memory") return true;
  }
  return false;
}

// The file that the kernel calls "/x (deleted)" is /x, unless there is a file of that very name.
std::string without_deleted_mark(std::string path) {
  constexpr std::string_view mark = " (deleted)";
  struct stat found{};
  if (path.ends_with(mark) && lstat(path.c_str(), &found) != 0) path.resize(path.size() - mark.size());
  return path;
}

std::optional<std::string> read_exe(int process_fd) {
  std::array<char, PATH_MAX + 16> target;
  const ssize_t length = readlinkat(process_fd, "exe", target.data(), target.size());
  if (length <= 0) return std::nullopt;
  return without_deleted_mark(std::string(target.data(), static_cast<size_t>(length)));
}

// The first argument; for a script with a long name, which the kernel names the process after, the one that has that name:
// its interpreter and perhaps an option of the #! line come before it.
std::string naming_argument(std::string_view arguments, std::string_view comm) {
  constexpr int most_before = 3;
  const std::string_view first = arguments.substr(0, arguments.find('\0'));
  std::string_view rest = arguments;
  for (int i = 0; comm.size() == kCommBytes && i < most_before && !rest.empty(); ++i) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    if (basename_of(rest.substr(0, end)).starts_with(comm)) return std::string(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::string(first);
}

void read_arguments(int process_fd, ProcessFacts& facts) {
  const Result<std::string> raw = read_small_file_at(process_fd, "cmdline", kCmdlineLimitBytes);
  if (!raw) return;
  std::string_view text = *raw;
  // setproctitle() leaves NULs behind its title.
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  if (text.empty()) return;
  facts.argv0 = naming_argument(text, facts.comm);
  facts.cmdline = text;
  std::replace(facts.cmdline->begin(), facts.cmdline->end(), '\0', ' ');
}

void read_identity(int process_fd, ProcessFacts& facts) {
  const Result<std::string> status = read_small_file_at(process_fd, "status", kStatusLimitBytes);
  if (!status) return;
  facts.uid = leading_count(after_key(*status, "Uid:"));
  const std::string_view ids = trim(after_key(*status, "NSpid:"));
  const size_t last = ids.find_last_of(" \t");
  facts.namespace_pid = leading_count(last == std::string_view::npos ? ids : ids.substr(last));
}

}  // namespace

Result<StatFields> parse_stat(std::string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return malformed_stat();
  StatFields fields;
  fields.comm = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  if (rest.size() < 3 || rest[0] != ' ' || rest[2] != ' ') return malformed_stat();
  fields.state = rest[1];
  rest.remove_prefix(2);
  constexpr int first_number = 4;  // proc(5) counts fields from 1
  constexpr int last_number = 22;
  std::array<int64_t, last_number + 1> number{};
  for (int i = first_number; i <= last_number; ++i) {
    const std::optional<int64_t> taken = take_number(rest);
    if (!taken) return malformed_stat();
    number[static_cast<size_t>(i)] = *taken;
  }
  if (number[4] < 0 || number[4] > INT_MAX) return malformed_stat();
  fields.parent_pid = static_cast<pid_t>(number[4]);
  fields.flags = number[9];
  fields.minor_faults = number[10];
  fields.major_faults = number[12];
  if (__builtin_add_overflow(number[14], number[15], &fields.cpu_ticks)) return malformed_stat();
  fields.threads = number[20];
  fields.start_ticks = number[22];
  return fields;
}

std::optional<std::string> parse_memory_cgroup(std::string_view text) {
  std::optional<std::string> unified;
  std::optional<std::string> memory;
  for_each_line(text, [&](std::string_view line) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) return;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') return;
    if (line.starts_with("0::")) {
      unified = path;
    } else if (names_memory(controllers)) {
      memory = path;
    }
  });
  return memory ? memory : unified;
}

std::string full_name(std::string_view comm, std::optional<std::string_view> exe,
                      std::optional<std::string_view> argv0) {
  if (comm.size() != kCommBytes) return std::string(comm);
  for (const auto& candidate : {exe, argv0}) {
    if (!candidate) continue;
    const std::string_view name = basename_of(*candidate);
    if (name.starts_with(comm)) return std::string(name);
  }
  return std::string(comm);
}

Result<ProcessFacts> read_process_facts(const std::string& proc, pid_t pid) {
  const std::string directory = fmt::format("{}/{}", proc, pid);
  // All files are opened below one descriptor of the process's directory: a reused pid cannot mix two.
  const Result<OwnedFd> process = open_file(AT_FDCWD, directory, O_PATH | O_DIRECTORY);
  if (!process) return process.error();
  const Result<std::string> stat = read_small_file_at(process->get(), "stat", kStatLimitBytes);
  if (!stat) return Error{"reading " + directory + "/stat", stat.error().reason, "", stat.error().code};
  const Result<StatFields> fields = parse_stat(*stat);
  if (!fields) return Error{"reading " + directory + "/stat", fields.error().reason, ""};

  ProcessFacts facts;
  facts.pid = pid;
  facts.start_ticks = fields->start_ticks;
  facts.parent_pid = fields->parent_pid;
  facts.state = fields->state;
  facts.threads = fields->threads;
  facts.is_kernel_thread = (fields->flags & kKernelThreadFlag) != 0;
  facts.comm = fields->comm;
  read_identity(process->get(), facts);
  if (!facts.is_kernel_thread) {
    facts.exe = read_exe(process->get());
    read_arguments(process->get(), facts);
  }
  const Result<std::string> cgroup = read_small_file_at(process->get(), "cgroup", kCgroupLimitBytes);
  if (cgroup) facts.memory_cgroup = parse_memory_cgroup(*cgroup);
  return facts;
}

Result<std::string> read_comm(const std::string& proc, pid_t pid) {
  Result<std::string> comm = read_small_file(fmt::format("{}/{}/comm", proc, pid), kCommLimitBytes);
  // The name itself may end in a newline: only the kernel's own is cut.
  if (comm.ok() && comm->ends_with('\n')) comm->pop_back();
  return comm;
}

Result<std::vector<pid_t>> list_pids(const std::string& proc) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(proc.c_str()), closedir);
  if (!directory) return errno_error("listing " + proc, errno);
  std::vector<pid_t> pids;
  while (const dirent* entry = readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::optional<int64_t> pid = parse_int(entry->d_name);
    if (pid && *pid > 0 && *pid <= INT_MAX) pids.push_back(static_cast<pid_t>(*pid));
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace memlog
