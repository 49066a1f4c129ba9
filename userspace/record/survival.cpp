// SPDX-License-Identifier: Apache-2.0
#include "record/survival.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/owned_fd.h"
#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr const char* kAdjFile = "/proc/self/oom_score_adj";
constexpr int kLowestAdj = -1000;

bool set_oom_score_adj(int value) {
  const OwnedFd file(open(kAdjFile, O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(value);
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

int read_oom_score_adj() {
  const Result<std::string> text = read_small_file(kAdjFile, 32);
  return text ? static_cast<int>(parse_int(trim(*text)).value_or(0)) : 0;
}

// Without CAP_SYS_RESOURCE the kernel allows any value down to the lowest a privileged process has set before.
int lower_oom_score_adj() {
  if (set_oom_score_adj(kLowestAdj)) return kLowestAdj;
  int refused = kLowestAdj;
  int allowed = read_oom_score_adj();
  while (allowed - refused > 1) {
    const int middle = refused + (allowed - refused) / 2;
    if (set_oom_score_adj(middle)) {
      allowed = middle;
    } else {
      refused = middle;
    }
  }
  return allowed;
}

// One arena for all threads, and what a burst needed goes back to the kernel after it: glibc would otherwise keep a heap
// a thread and raise its own thresholds.
void keep_the_heap_small() {
  constexpr int kept_bytes = 128 * 1024;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kept_bytes);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
}

// Reading the command line, loading BPF and relocating libraries touched code that never runs again: it leaves the resident
// set, and what is still needed comes back from the page cache. Only executable mappings of files, which hold no changes.
void let_go_of_start_up_code() {
  const Result<std::string> maps = read_small_file("/proc/self/maps", size_t{1} << 20);
  if (!maps) return;
  for (std::string_view rest = *maps; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    void* begin = nullptr;
    void* end = nullptr;
    int path = 0;
    if (sscanf(line.c_str(), "%p-%p r-xp %*s %*s %*s %n", &begin, &end, &path) == 2 && path > 0 &&
        line.compare(static_cast<size_t>(path), 1, "/") == 0)
      madvise(begin, static_cast<size_t>(static_cast<char*>(end) - static_cast<char*>(begin)), MADV_DONTNEED);
  }
}

}  // namespace

Survival harden_this_process() {
  keep_the_heap_small();
  Survival survival;
  survival.oom_score_adj = lower_oom_score_adj();
  if (survival.oom_score_adj > kLowestAdj) {
    survival.missing.push_back(
        fmt::format("the OOM killer may choose the recorder: its oom_score_adj is {} (lowering it to -1000 "
                    "needs CAP_SYS_RESOURCE)",
                    survival.oom_score_adj));
  }
  let_go_of_start_up_code();
  // Pages are locked as they are touched: locking all of them at once would make libraries resident that never run.
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) {
    survival.missing.emplace_back("the recorder's memory can be swapped out (locking it needs CAP_IPC_LOCK)");
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  survival.file_limit = files.rlim_cur;
  return survival;
}

}  // namespace memlog
