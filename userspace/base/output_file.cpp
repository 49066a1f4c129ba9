// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/invoking_user.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr size_t kBufferBytes = size_t{256} * 1024;
constexpr int kNameAttempts = 100;

// A name that nobody else uses; the caller counts up where somebody does.
std::string temporary_name(int attempt) { return fmt::format(".memlog-{}-{}.part", getpid(), attempt); }

}  // namespace

Error OutputFile::failed(const char* doing, int code) const {
  return errno_error(std::string(doing) + " " + (is_stdout() ? "standard output" : path_), code);
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file(path);
  if (file.is_stdout()) {
    file.file_.reset(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!file.file_) return file.failed("writing", errno);
    return file;
  }
  const size_t slash = path.rfind('/');
  file.name_ = basename_of(path);
  const Error unfit{"writing " + path, "", ""};
  if (file.name_.empty() || file.name_ == "." || file.name_ == "..")
    return Error{unfit.doing, "this is no file name", "", EINVAL};
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  file.directory_.reset(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!file.directory_) return file.failed("writing", errno);
  struct stat existing{};
  if (fstatat(file.directory_.get(), file.name_.c_str(), &existing, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(existing.st_mode)) return Error{unfit.doing, "it is a directory", "name a file", EISDIR};
    if (S_ISLNK(existing.st_mode))
      return Error{unfit.doing, "it is a symbolic link, which is not followed", "name the file itself",
                   ELOOP};
    if (!S_ISREG(existing.st_mode)) {
      const Status opened = file.open_straight();
      if (!opened) return opened.error();
      return file;
    }
  }
  const Status opened = file.open_in_directory();
  if (!opened) return opened.error();
  if (S_ISREG(existing.st_mode)) fchmod(file.file_.get(), existing.st_mode & 0777U);
  const Status given = give_to_invoking_user(file.file_.get(), path);
  if (!given) return given.error();
  return file;
}

Status OutputFile::open_straight() {
  file_.reset(openat(directory_.get(), name_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
  directory_.reset();
  if (!file_) return failed("writing", errno);
  return Ok{};
}

Status OutputFile::open_in_directory() {
  file_.reset(openat(directory_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  for (int attempt = 0; !file_ && attempt < kNameAttempts; ++attempt) {
    const std::string name = temporary_name(attempt);
    file_.reset(
        openat(directory_.get(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file_) temporary_name_ = name;
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) return failed("writing", errno);
  return Ok{};
}

OutputFile::~OutputFile() {
  if (!temporary_name_.empty() && directory_) unlinkat(directory_.get(), temporary_name_.c_str(), 0);
}

Status OutputFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    if (const Status status = flush(); !status) return status;
  }
  buffer_ += bytes;
  return Ok{};
}

Status OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return failed("writing", errno);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
  return Ok{};
}

Status OutputFile::commit() {
  if (const Status status = flush(); !status) return status;
  if (!directory_) {
    file_.reset();
    return Ok{};
  }
  // Delayed allocation and quotas report a full disk only here.
  if (fsync(file_.get()) != 0) return failed("writing", errno);
  return take_name();
}

Status OutputFile::take_name() {
  if (temporary_name_.empty()) {
    const std::string nameless = fmt::format("/proc/self/fd/{}", file_.get());
    for (int attempt = 0;; ++attempt) {
      const std::string name = temporary_name(attempt);
      if (linkat(AT_FDCWD, nameless.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        temporary_name_ = name;
        break;
      }
      if (errno != EEXIST || attempt == kNameAttempts) return failed("naming", errno);
    }
  }
  if (renameat(directory_.get(), temporary_name_.c_str(), directory_.get(), name_.c_str()) != 0)
    return failed("naming", errno);
  temporary_name_.clear();
  file_.reset();
  return Ok{};
}

std::string free_file_name(const std::string& stem, const std::string& extension) {
  std::string name = stem + extension;
  for (int number = 2; faccessat(AT_FDCWD, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 && number < 10000;
       ++number) {
    name = fmt::format("{}-{}{}", stem, number, extension);
  }
  return name;
}

}  // namespace memlog
