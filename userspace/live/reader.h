// SPDX-License-Identifier: Apache-2.0
// Reader: one thread's read-only view of the database.
//
// The connection is opened when it is first needed and again when the file was replaced; no transaction stays
// open between two questions. Answers to the same question are kept until the database changes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/database.h"

namespace memlog {

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  // Valid until the next call. An error: there is no database (yet), or it cannot be read.
  Result<Database*> database();
  // Whether another connection has stored something since the last call of this function.
  Result<bool> has_changed();
  // Lets the connection go, after an error.
  void forget();

  // An answer that was kept and is still true; nullptr: it must be made.
  const std::string* kept(const std::string& question);
  void keep(const std::string& question, std::string answer);

 private:
  static constexpr size_t kKeptAnswers = 16;
  static constexpr size_t kMostKeptBytes = size_t{2} << 20U;

  std::string path_;
  std::optional<Database> database_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  int64_t version_ = -1;
  std::deque<std::pair<std::string, std::string>> kept_;
};

}  // namespace memlog
