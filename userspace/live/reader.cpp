// SPDX-License-Identifier: Apache-2.0
#include "live/reader.h"

#include <sys/stat.h>

#include <cerrno>

namespace memlog {

Result<Database*> Reader::database() {
  struct stat status{};
  if (stat(path_.c_str(), &status) != 0) {
    forget();
    return errno_error("opening the database " + path_, errno);
  }
  if (database_ && (status.st_ino != inode_ || status.st_dev != device_)) forget();
  if (!database_) {
    Result<Database> opened = Database::open(path_, Database::Mode::read);
    if (!opened) return opened.error();
    database_.emplace(*std::move(opened));
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  return &*database_;
}

Result<bool> Reader::has_changed() {
  const Result<Database*> opened = database();
  if (!opened) return opened.error();
  const Result<Nullable> version = (*opened)->integer("PRAGMA data_version");
  if (!version) return version.error();
  const bool is_other = version->value_or(0) != version_;
  version_ = version->value_or(0);
  return is_other;
}

void Reader::forget() {
  database_.reset();
  kept_.clear();
  version_ = -1;
}

const std::string* Reader::kept(const std::string& question) {
  const Result<bool> changed = has_changed();
  if (!changed || *changed) kept_.clear();
  for (const auto& [asked, answer] : kept_) {
    if (asked == question) return &answer;
  }
  return nullptr;
}

void Reader::keep(const std::string& question, std::string answer) {
  if (answer.size() > kMostKeptBytes) return;
  if (kept_.size() >= kKeptAnswers) kept_.pop_front();
  kept_.emplace_back(question, std::move(answer));
}

}  // namespace memlog
