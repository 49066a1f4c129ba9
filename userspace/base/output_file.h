// SPDX-License-Identifier: Apache-2.0
// OutputFile: a result that appears whole under its name, or not at all.
//
// The bytes go to a nameless file in the same directory (a dot-named one where the file system has none),
// which commit() gives its name in one step: a full disk, a signal or an error leaves what was there before.
// Symbolic links are refused, never followed or replaced; directories are refused. The file belongs to the
// invoking user, and one that it replaces hands on its permissions. "-" is stdout; a device or pipe is
// written straight to.
#pragma once

#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"

namespace memlog {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // not committed: no trace is left

  // Collected into large writes; an error may be told by a later call.
  Status write(std::string_view bytes);
  // Writes what is collected, waits until it is on the disk, and gives the file its name.
  Status commit();

  const std::string& path() const { return path_; }  // as it was given
  bool is_stdout() const { return path_ == "-"; }

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  Status open_in_directory();
  Status open_straight();
  Status flush();
  Status take_name();
  Error failed(const char* doing, int code) const;

  std::string path_;
  std::string name_;            // the last component
  std::string temporary_name_;  // empty: the file has no name yet
  OwnedFd directory_;           // none: written straight to its target
  OwnedFd file_;
  std::string buffer_;
};

// stem + extension, or stem-2 and so on: a default name takes no place that is taken.
std::string free_file_name(const std::string& stem, const std::string& extension);

}  // namespace memlog
