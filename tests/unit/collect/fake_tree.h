// SPDX-License-Identifier: Apache-2.0
// A directory tree written as literals: a fake /proc or cgroup file system, gone with its owner.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace memlog::test {

class FakeTree {
 public:
  FakeTree() {
    std::string path = (std::filesystem::temp_directory_path() / "memlog-tree.XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) abort();
    root_ = path;
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::string& root() const { return root_; }
  std::string path(std::string_view name) const { return root_ + "/" + std::string(name); }

  // Makes the file and the directories above it.
  FakeTree& file(std::string_view name, std::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return *this;
  }
  FakeTree& link(std::string_view name, std::string_view target) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::filesystem::create_symlink(target, path(name));
    return *this;
  }
  FakeTree& directory(std::string_view name) {
    std::filesystem::create_directories(path(name));
    return *this;
  }

 private:
  std::string root_;
};

}  // namespace memlog::test
