// SPDX-License-Identifier: Apache-2.0
#include "base/small_file.h"

#include <fcntl.h>

#include <cerrno>

namespace memlog {

Result<std::string_view> read_from_start(int fd, std::span<char> buffer, std::string_view path) {
  size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t got = pread(fd, buffer.data() + length, buffer.size() - length, static_cast<off_t>(length));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno_error("reading " + std::string(path), errno);
    }
    length += static_cast<size_t>(got);
  }
  return std::string_view(buffer.data(), length);
}

Result<OwnedFd> open_file(int dir_fd, const std::string& path, int flags) {
  const int fd = openat(dir_fd, path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return errno_error("opening " + path, errno);
  return OwnedFd(fd);
}

Result<std::string> read_small_file(const std::string& path, size_t limit_bytes) {
  return read_small_file_at(AT_FDCWD, path, limit_bytes);
}

Result<std::string> read_small_file_at(int dir_fd, const std::string& path, size_t limit_bytes) {
  Result<OwnedFd> fd = open_file(dir_fd, path);
  if (!fd) return fd.error();
  std::string content(limit_bytes, '\0');
  const Result<std::string_view> read = read_from_start(fd->get(), content, path);
  if (!read) return read.error();
  content.resize(read->size());
  return content;
}

}  // namespace memlog
