// SPDX-License-Identifier: Apache-2.0
// Reading small kernel files (/proc, /sys, cgroups) whole into a caller's buffer.
//
// Reads are bounded by the buffer: a longer file is cut there, and the result says so by filling the buffer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"

namespace memlog {

// pread from offset 0 until the end or a full buffer. The error's code is errno (ESRCH: the process is gone).
Result<std::string_view> read_from_start(int fd, std::span<char> buffer, std::string_view path);

// Opens (O_RDONLY | O_CLOEXEC | `flags`) relative to `dir_fd`; AT_FDCWD for absolute paths.
Result<OwnedFd> open_file(int dir_fd, const std::string& path, int flags = 0);

// Opens, reads and closes; at most `limit_bytes` are returned.
Result<std::string> read_small_file(const std::string& path, size_t limit_bytes = size_t{64} * 1024);
Result<std::string> read_small_file_at(int dir_fd, const std::string& path,
                                       size_t limit_bytes = size_t{64} * 1024);

}  // namespace memlog
