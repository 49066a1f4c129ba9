// SPDX-License-Identifier: Apache-2.0
#include "store/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/invoking_user.h"
#include "base/owned_fd.h"
#include "base/text.h"

namespace memlog {
namespace {

std::string opening(const std::string& path) { return "opening the database " + printable(path); }

}  // namespace

Result<std::string> canonical_database_path(const std::string& path) {
  const std::string_view name = basename_of(path);
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{opening(path), "not a file name", ""};
  if (name.empty() || name == "." || name == "..")
    return Error{opening(path), "is a directory", "name a file in it"};
  std::string parent = path.substr(0, path.size() - name.size());
  if (parent.empty()) parent = ".";
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(parent.c_str(), nullptr), &std::free);
  if (!resolved) {
    Error error = errno_error(opening(path), errno);
    if (error.code == ENOENT) error.reason = "there is no directory " + printable(parent);
    return error;
  }
  const std::string directory = resolved.get();
  return (directory == "/" ? "" : directory) + "/" + std::string(name);
}

Result<FilePresence> look_at_database_file(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return FilePresence::missing;
    return errno_error(opening(path), errno);
  }
  if (S_ISDIR(status.st_mode)) return Error{opening(path), "is a directory", "name a file in it"};
  if (S_ISLNK(status.st_mode))
    return Error{opening(path), "is a symbolic link, which memlog does not follow", "name the file itself"};
  if (!S_ISREG(status.st_mode)) return Error{opening(path), "not a regular file", ""};
  return FilePresence::regular;
}

FileWatch::FileWatch(const std::string& path) : fd_(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}

FilePlace FileWatch::place(const std::string& path) const {
  struct stat ours{};
  if (!fd_ || fstat(fd_.get(), &ours) != 0) return FilePlace::in_place;
  if (ours.st_nlink == 0) return FilePlace::deleted;
  struct stat there{};
  const bool is_there = lstat(path.c_str(), &there) == 0;
  const bool is_same = is_there && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
  return is_same || (!is_there && errno != ENOENT) ? FilePlace::in_place : FilePlace::moved;
}

Status make_database_file(const std::string& path) {
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd) return give_to_invoking_user(fd.get(), path);
  if (errno == EEXIST) return Ok{};
  return errno_error("making the database " + printable(path), errno);
}

}  // namespace memlog
