// SPDX-License-Identifier: Apache-2.0
#include "store/location.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/owned_fd.h"
#include "base/small_file.h"
#include "base/talk.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr uint64_t kFuseMagic = 0x65735546;

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The nearest of `path` and its ancestors that is there.
std::string existing_ancestor(std::string path) {
  struct stat status{};
  while (path != "/" && path != "." && stat(path.c_str(), &status) != 0) path = parent_of(path);
  return path;
}

// The network file system that `path` is, or would be made, on.
std::optional<std::string> network_file_system_of(const std::string& path) {
  const std::string there = existing_ancestor(path);
  struct statfs file_system{};
  struct stat status{};
  if (statfs(there.c_str(), &file_system) != 0 || stat(there.c_str(), &status) != 0) return std::nullopt;
  const auto magic = static_cast<uint64_t>(file_system.f_type) & UINT32_MAX;
  std::string type;
  if (magic == kFuseMagic) {
    const Result<std::string> mounts = read_small_file("/proc/self/mountinfo", size_t{1} << 20U);
    if (mounts) type = parse_mount_type(*mounts, major(status.st_dev), minor(status.st_dev));
  }
  return network_file_system(magic, type);
}

std::string fallback_directory(const InvokingUser& user) {
  return fmt::format("/var/tmp/memlog-{}", user.uid);
}

struct DefaultPlace {
  std::string directory;
  std::string why_not_home;  // empty: it is in the home
};

DefaultPlace default_place(const InvokingUser& user) {
  const std::string state = state_directory(user, user.uid == getuid(), std::getenv("XDG_STATE_HOME"));
  if (state.empty()) return {fallback_directory(user), "there is no home directory"};
  std::string directory = state + "/memlog";
  const std::optional<std::string> network = network_file_system_of(directory);
  if (!network) return {std::move(directory), ""};
  return {fallback_directory(user),
          fmt::format("{} is on a network file system ({})", printable(state), *network)};
}

// /var/tmp is everybody's: another user may have made the name first.
Status check_own_directory(const std::string& directory, const InvokingUser& user) {
  struct stat status{};
  const std::string doing = "using the directory " + directory;
  const std::string hint = "name another place with --db or $MEMLOG_DB";
  if (lstat(directory.c_str(), &status) != 0) return errno_error(doing, errno);
  if (!S_ISDIR(status.st_mode)) return Error{doing, "is not a directory", hint};
  if (status.st_uid != user.uid) return Error{doing, "belongs to another user", hint};
  if ((status.st_mode & 0022U) != 0) return Error{doing, "other users may write it", hint};
  return Ok{};
}

const char* database_from_environment() {
  const char* path = std::getenv("MEMLOG_DB");
  return path == nullptr || *path == '\0' ? nullptr : path;
}

// What the user named, or empty.
std::string named_path(const std::string& given) {
  if (!given.empty()) return given;
  const char* environment = database_from_environment();
  return environment == nullptr ? "" : environment;
}

}  // namespace

Result<std::string> database_path(const std::string& given) {
  if (std::string named = named_path(given); !named.empty()) return named;
  return default_place(invoking_user()).directory + "/memlog.db";
}

Result<std::string> prepare_database_path(const std::string& given) {
  if (std::string named = named_path(given); !named.empty()) {
    if (const auto network = network_file_system_of(parent_of(named)))
      return Error{
          "opening the database " + printable(named),
          fmt::format("is on a network file system ({}), where write-ahead logging can corrupt it", *network),
          "name a file on a local disk, such as /var/tmp/memlog.db, with --db"};
    return named;
  }
  const InvokingUser user = invoking_user();
  const DefaultPlace place = default_place(user);
  if (const Status made = make_directories(place.directory); !made) return made.error();
  if (!place.why_not_home.empty()) {
    if (const Status own = check_own_directory(place.directory, user); !own) return own.error();
    say(fmt::format("{}: recording into {}/memlog.db", place.why_not_home, place.directory));
  }
  return place.directory + "/memlog.db";
}

std::optional<std::string> network_file_system(uint64_t magic, std::string_view mount_type) {
  struct Known {
    uint64_t magic;
    const char* name;
  };
  constexpr std::array<Known, 15> known = {{{0x6969, "nfs"},
                                            {0x517B, "smb"},
                                            {0xFF534D42, "cifs"},
                                            {0xFE534D42, "smb2"},
                                            {0x01021997, "9p"},
                                            {0x5346414F, "afs"},
                                            {0x6B414653, "kafs"},
                                            {0x73757245, "coda"},
                                            {0x00C36400, "ceph"},
                                            {0x0BD00BD0, "lustre"},
                                            {0x47504653, "gpfs"},
                                            {0x7461636F, "ocfs2"},
                                            {0x01161970, "gfs2"},
                                            {0x19830326, "beegfs"},
                                            {0xBACBACBC, "vmhgfs"}}};
  for (const Known& file_system : known) {
    if (file_system.magic == magic) return file_system.name;
  }
  if (magic != kFuseMagic) return std::nullopt;
  // FUSE can be anything. What is known to keep its files on a local disk passes.
  constexpr std::array<std::string_view, 9> local = {
      "fuseblk",       "fuse.gocryptfs",      "fuse.encfs",   "fuse.cryfs", "fuse.bindfs",
      "fuse.mergerfs", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.exfat"};
  if (std::find(local.begin(), local.end(), mount_type) != local.end()) return std::nullopt;
  return mount_type.empty() ? "fuse" : std::string(mount_type);
}

std::string parse_mount_type(std::string_view mountinfo, unsigned int major, unsigned int minor) {
  // 36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw
  const std::string device = fmt::format("{}:{}", major, minor);
  std::string type;
  for_each_line(mountinfo, [&](std::string_view line) {
    const std::vector<std::string_view> fields = split(line, ' ');
    if (fields.size() < 3 || fields[2] != device) return;
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash != fields.end() && dash + 1 != fields.end()) type = *(dash + 1);
  });
  return type;
}

std::string state_directory(const InvokingUser& user, bool is_own_environment, const char* xdg_state_home) {
  if (is_own_environment && xdg_state_home != nullptr && *xdg_state_home == '/') return xdg_state_home;
  return user.home.empty() || user.home[0] != '/' ? "" : user.home + "/.local/state";
}

Status make_directories(const std::string& directory) {
  const std::string there = existing_ancestor(directory);
  OwnedFd parent(open(there.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return errno_error("opening the directory " + printable(there), errno);
  std::string path = there;
  for (const std::string_view part : split(std::string_view(directory).substr(there.size()), '/')) {
    if (part.empty()) continue;
    const std::string name(part);
    path += (path.ends_with('/') ? "" : "/") + name;
    const bool is_made = mkdirat(parent.get(), name.c_str(), 0700) == 0;
    if (!is_made && errno != EEXIST) return errno_error("making the directory " + printable(path), errno);
    OwnedFd child(openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return errno_error("opening the directory " + printable(path), errno);
    if (is_made) {
      if (const Status given = give_to_invoking_user(child.get(), path); !given) return given;
    }
    parent = std::move(child);
  }
  return Ok{};
}

}  // namespace memlog
