// SPDX-License-Identifier: Apache-2.0
#include "collect/cgroup_mount.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <memory>

#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr int kKernfsHandle = 0xfe;  // FILEID_KERNFS: the handle is the 64-bit id
constexpr int kDepthWalked = 64;
constexpr size_t kMountinfoLimitBytes = size_t{1024} * 1024;
constexpr size_t kPidsLimitBytes = size_t{4} * 1024 * 1024;

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool has_option(std::string_view options, std::string_view wanted) {
  for (const std::string_view option : split(options, ',')) {
    if (option == wanted) return true;
  }
  return false;
}

// One line: "35 31 0:29 ROOT DIRECTORY rw,relatime shared:1 - cgroup cgroup rw,memory".
std::optional<CgroupMount> parse_mount(std::string_view line) {
  constexpr size_t root_field = 3;
  constexpr size_t directory_field = 4;
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() <= static_cast<ptrdiff_t>(directory_field) || fields.end() - dash < 4) return {};
  const std::string_view type = dash[1];
  const std::string_view super_options = dash[3];
  const bool is_v1 = type == "cgroup" && has_option(super_options, "memory");
  if (!is_v1 && type != "cgroup2") return {};
  return CgroupMount{unescaped(fields[directory_field]), unescaped(fields[root_field]), is_v1 ? 1 : 2};
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// The cgroup path of a directory below the mount.
std::optional<std::string> path_of_directory(const CgroupMount& mount, std::string_view directory) {
  if (!is_below(directory, mount.directory)) return std::nullopt;
  const std::string_view rest = directory.substr(mount.directory.size());
  const std::string path = (mount.root == "/" ? "" : mount.root) + std::string(rest);
  return path.empty() ? "/" : path;
}

std::optional<uint64_t> inode_of(const std::string& directory) {
  struct stat found{};
  if (lstat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return std::nullopt;
  return found.st_ino;
}

bool is_cgroup_file_system(int fd) {
  struct statfs found{};
  if (fstatfs(fd, &found) != 0) return false;
  return found.f_type == CGROUP_SUPER_MAGIC || found.f_type == CGROUP2_SUPER_MAGIC;
}

// The error's code is ESTALE where the kernel knows no cgroup of this id.
Result<std::string> directory_from_handle(const CgroupMount& mount, uint64_t id) {
  const Result<OwnedFd> root = open_file(AT_FDCWD, mount.directory, O_DIRECTORY);
  if (!root) return root.error();
  if (!is_cgroup_file_system(root->get()))
    return errno_error("opening by handle in " + mount.directory, ENOTSUP);
  alignas(file_handle) std::array<char, sizeof(file_handle) + sizeof id> memory{};
  auto* handle = reinterpret_cast<file_handle*>(memory.data());
  handle->handle_bytes = sizeof id;
  handle->handle_type = kKernfsHandle;
  std::memcpy(handle->f_handle, &id, sizeof id);
  const OwnedFd found(open_by_handle_at(root->get(), handle, O_PATH | O_CLOEXEC));
  if (!found) return errno_error(fmt::format("opening cgroup {}", id), errno);
  std::array<char, PATH_MAX> target;
  const std::string link = fmt::format("/proc/self/fd/{}", found.get());
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  if (length <= 0) return errno_error("reading " + link, errno);
  return std::string(target.data(), static_cast<size_t>(length));
}

// Calls `visit` for `directory` and all below it, parents first, until it answers true. False: none did.
// `budget` counts down to 0, where the walk ends.
bool walk(const std::string& directory, int depth, size_t& budget,
          const std::function<bool(const std::string&)>& visit) {
  if (budget == 0 || depth > kDepthWalked) return false;
  --budget;
  if (visit(directory)) return true;
  std::vector<std::string> below;
  {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
    if (!open) return false;
    while (const dirent* entry = readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string_view name = entry->d_name;
      if (entry->d_type == DT_DIR && name != "." && name != "..")
        below.push_back(directory + "/" + entry->d_name);
    }
  }
  return std::any_of(below.begin(), below.end(),
                     [&](const std::string& next) { return walk(next, depth + 1, budget, visit); });
}

}  // namespace

std::optional<CgroupMount> parse_cgroup_mount(std::string_view mountinfo) {
  std::optional<CgroupMount> best;
  const auto rank = [](const CgroupMount& mount) {
    return (mount.version == 1 ? 2 : 0) + (mount.root == "/" ? 1 : 0);
  };
  for_each_line(mountinfo, [&](std::string_view line) {
    const std::optional<CgroupMount> mount = parse_mount(line);
    if (mount && (!best || rank(*mount) > rank(*best))) best = mount;
  });
  return best;
}

std::optional<CgroupMount> read_cgroup_mount(const std::string& proc) {
  const Result<std::string> mountinfo = read_small_file(proc + "/self/mountinfo", kMountinfoLimitBytes);
  if (!mountinfo) return std::nullopt;
  return parse_cgroup_mount(*mountinfo);
}

std::optional<std::string> cgroup_directory(const CgroupMount& mount, std::string_view path) {
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string_view::npos) return std::nullopt;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return std::nullopt;
  }
  if (mount.root != "/") {
    if (!is_below(path, mount.root)) return std::nullopt;
    path.remove_prefix(mount.root.size());
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return mount.directory + std::string(path);
}

Result<std::string> cgroup_path_from_argument(const CgroupMount& mount, std::string_view argument) {
  const std::string doing = fmt::format("finding the cgroup '{}'", printable(argument));
  std::string_view given = argument;
  while (given.size() > 1 && given.ends_with('/')) given.remove_suffix(1);
  if (given.empty()) return Error{doing, "no path given", "name a directory below " + mount.directory};
  std::optional<std::string> path = path_of_directory(mount, given);
  if (!path) path = given[0] == '/' ? std::string(given) : "/" + std::string(given);
  const std::optional<std::string> directory = cgroup_directory(mount, *path);
  if (!directory || !inode_of(*directory)) {
    return Error{doing, "no such memory cgroup", "name a directory below " + mount.directory, ENOENT};
  }
  return *path;
}

Result<std::string> cgroup_path_from_id(const CgroupMount& mount, uint64_t id) {
  const Error unknown{fmt::format("finding the cgroup with id {}", id), "no such cgroup", "", ENOENT};
  if (id == 0) return unknown;
  const Result<std::string> by_handle = directory_from_handle(mount, id);
  if (by_handle.ok()) {
    const std::optional<std::string> path = path_of_directory(mount, *by_handle);
    if (path && inode_of(*by_handle) == id) return *path;
  } else if (by_handle.error().code == ESTALE) {
    return unknown;
  }
  std::string found;
  size_t budget = kCgroupsWalked;
  const bool is_found = walk(mount.directory, 0, budget, [&](const std::string& directory) {
    if (inode_of(directory) != id) return false;
    found = directory;
    return true;
  });
  if (!is_found) return unknown;
  return path_of_directory(mount, found).value_or("/");
}

Result<std::vector<pid_t>> list_cgroup_pids(const CgroupMount& mount, std::string_view path) {
  const std::optional<std::string> top = cgroup_directory(mount, path);
  if (!top)
    return Error{fmt::format("listing the cgroup '{}'", printable(path)), "not below " + mount.directory, "",
                 ENOENT};
  const Result<std::string> own = read_small_file(*top + "/cgroup.procs", kPidsLimitBytes);
  // A threaded cgroup has no list of its own (EOPNOTSUPP): its domain's has its processes.
  if (!own && own.error().code != EOPNOTSUPP) return own.error();
  std::vector<pid_t> pids;
  size_t budget = kCgroupsWalked;
  walk(*top, 0, budget, [&](const std::string& directory) {
    const Result<std::string> text = read_small_file(directory + "/cgroup.procs", kPidsLimitBytes);
    if (!text) return false;
    for_each_line(*text, [&](std::string_view line) {
      // 0 stands for a process that this pid namespace does not show.
      const std::optional<int64_t> pid = parse_int(line);
      if (pid && *pid > 0 && *pid <= INT_MAX) pids.push_back(static_cast<pid_t>(*pid));
    });
    return false;
  });
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace memlog
