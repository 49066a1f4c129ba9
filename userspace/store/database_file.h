// SPDX-License-Identifier: Apache-2.0
// The database as a file: its canonical name, what kind of thing is there, and how it is made.
//
// Nothing here opens an existing file: closing a second descriptor of it would drop the POSIX locks of this
// process's own SQLite connections.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/owned_fd.h"
#include "base/result.h"

namespace memlog {

// The parent directory resolved (links in it are the user's business) and the last component as it is, so
// that SQLite can refuse to follow any link.
Result<std::string> canonical_database_path(const std::string& path);

enum class FilePresence : uint8_t { missing, regular };
// An error where `path` is a directory, a symbolic link or no regular file.
Result<FilePresence> look_at_database_file(const std::string& path);

// Where an open database's file is now. The descriptor is for looking only (O_PATH), so closing it drops no lock.
enum class FilePlace : uint8_t { in_place, moved, deleted };
class FileWatch {
 public:
  // An unwatched file is always in place.
  FileWatch() = default;
  explicit FileWatch(const std::string& path);
  FilePlace place(const std::string& path) const;

 private:
  OwnedFd fd_;
};

// Makes an empty file of mode 0600 that belongs to the invoking user. Losing a race to another maker is fine.
Status make_database_file(const std::string& path);

}  // namespace memlog
