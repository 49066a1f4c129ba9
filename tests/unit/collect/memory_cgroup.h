// SPDX-License-Identifier: Apache-2.0
// A real memory cgroup (v1) for one test, removed by its owner once its processes have ended.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "collect/cgroup_mount.h"

namespace memlog::test {

class MemoryCgroup {
 public:
  MemoryCgroup(const CgroupMount& mount, std::string path) : path_(std::move(path)) {
    directory_ = cgroup_directory(mount, path_).value_or("");
    is_made_ = !directory_.empty() && mkdir(directory_.c_str(), 0755) == 0;
  }
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  ~MemoryCgroup() { remove(); }

  bool is_made() const { return is_made_; }
  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }
  void limit(const std::string& bytes) { std::ofstream(directory_ + "/memory.limit_in_bytes") << bytes; }
  bool remove() {
    // A process leaves its cgroup a moment after it was reaped.
    for (int tries = 0; is_made_ && tries < 2000; ++tries) {
      if (rmdir(directory_.c_str()) == 0) is_made_ = false;
      if (is_made_) usleep(1000);
    }
    return !is_made_;
  }

 private:
  std::string path_;
  std::string directory_;
  bool is_made_ = false;
};

}  // namespace memlog::test

// Declares `found_mount`, or skips the test and says why.
#define MEMLOG_NEEDS_CGROUP_V1()                                                                \
  const std::optional<CgroupMount> found_mount = read_cgroup_mount("/proc");                    \
  if (!found_mount || found_mount->version != 1) GTEST_SKIP() << "no v1 memory hierarchy here"; \
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a memory cgroup"
