// SPDX-License-Identifier: Apache-2.0
#include "base/invoking_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace memlog {
namespace {

std::optional<int64_t> id_from_environment(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::optional<int64_t> id = parse_int(text);
  if (!id || *id < 0 || *id >= UINT32_MAX) return std::nullopt;
  return id;
}

}  // namespace

InvokingUser invoking_user() {
  InvokingUser user{getuid(), getgid(), "", ""};
  if (geteuid() == 0) {
    const auto uid = id_from_environment("SUDO_UID");
    const auto gid = id_from_environment("SUDO_GID");
    if (uid && gid) {
      user.uid = static_cast<uid_t>(*uid);
      user.gid = static_cast<gid_t>(*gid);
    }
  }
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    user.name = entry.pw_name;
    user.home = entry.pw_dir;
  }
  return user;
}

Status give_to_invoking_user(int fd, const std::string& path) {
  const InvokingUser user = invoking_user();
  if (geteuid() != 0 || user.uid == 0) return Ok{};
  if (fchown(fd, user.uid, user.gid) != 0) return errno_error("giving " + path + " to " + user.name, errno);
  return Ok{};
}

}  // namespace memlog
