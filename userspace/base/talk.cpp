// SPDX-License-Identifier: Apache-2.0
#include "base/talk.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>

namespace memlog {
namespace {

std::mutex g_mutex;              // NOLINT(readability-identifier-naming)
bool g_status_is_shown = false;  // NOLINT(readability-identifier-naming)

// One write per line, so that lines of several processes never mix. A closed stderr is nobody's problem.
void write_stderr(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

void write_line(const std::string& line) {
  const std::lock_guard lock(g_mutex);
  write_stderr((g_status_is_shown ? "\r\x1b[K" : "") + line + "\n");
  g_status_is_shown = false;
}

size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// The longest prefix of `text` of at most `columns` characters (counting UTF-8 lead bytes).
std::string_view cut_to_columns(std::string_view text, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (seen++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

void say(std::string_view line) { write_line(fmt::format("memlog: {}", line)); }
void warn(std::string_view line) { write_line(fmt::format("memlog: warning: {}", line)); }

void complain(const Error& error) {
  std::string text = fmt::format("memlog: {}: {}", error.doing, error.reason);
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  write_line(text);
}

void show_status(std::string_view text) {
  if (!stderr_is_terminal()) return;
  const std::lock_guard lock(g_mutex);
  write_stderr(fmt::format("\r{}\x1b[K", cut_to_columns(text, terminal_columns() - 1)));
  g_status_is_shown = true;
}

void clear_status() {
  const std::lock_guard lock(g_mutex);
  if (g_status_is_shown) write_stderr("\r\x1b[K");
  g_status_is_shown = false;
}

}  // namespace memlog
