// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"
#include "base/talk.h"

namespace memlog {
namespace {

constexpr size_t kBufferBytes = size_t{64} * 1024;

}  // namespace

Output::~Output() {
  try {
    flush();
  } catch (const FatalError&) {
    // Where the error matters, the command has flushed and thrown before.
    is_closed_ = true;
  }
}

bool Output::put(std::string_view text) {
  if (is_closed_) return false;
  buffer_ += text;
  return buffer_.size() < kBufferBytes || flush();
}

bool Output::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !is_closed_) {
    const ssize_t wrote = write(STDOUT_FILENO, rest.data(), rest.size());
    if (wrote >= 0) {
      rest.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EPIPE) {
      is_closed_ = true;
    } else if (errno != EINTR) {
      const int code = errno;
      is_closed_ = true;
      buffer_.clear();
      throw FatalError(errno_error("writing the output", code));
    }
  }
  buffer_.clear();
  return !is_closed_;
}

size_t stdout_columns() {
  winsize size{};
  if (!stdout_is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace memlog
