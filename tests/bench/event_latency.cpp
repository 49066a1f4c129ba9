// SPDX-License-Identifier: Apache-2.0
// How long an exec is under way: from the kernel's stamp to the sink, with the default time slice and a short
// one. Prints one line each; needs root (or CAP_BPF and CAP_PERFMON) and an idle machine. Argument: number of
// execs.
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collect/bpf_events.h"
#include "collect/scheduling.h"

namespace {

using memlog::kNsPerUs;

void run_true(int count) {
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  for (int i = 0; i < count; i++) {
    pid_t child = 0;
    if (posix_spawn(&child, name, nullptr, nullptr, arguments, environ) != 0) return;
    waitpid(child, nullptr, 0);
    usleep(3000);  // the machine is idle again before the next one
  }
}

std::vector<int64_t> measure(memlog::EventSource& source, size_t count) {
  std::vector<int64_t> latencies;
  std::thread starter(run_true, static_cast<int>(count));
  pollfd waiting{source.poll_fd(), POLLIN, 0};
  while (latencies.size() < count && poll(&waiting, 1, 2000) == 1) {
    source.drain([&](const memlog::KernelEvent& event) {
      if (event.kind == memlog::KernelEventKind::exec)
        latencies.push_back(memlog::boot_now_ns() - event.boot_ns);
    });
  }
  starter.join();
  return latencies;
}

void print(const char* label, std::vector<int64_t> latencies) {
  if (latencies.empty()) return;
  std::sort(latencies.begin(), latencies.end());
  const auto at = [&](size_t percent) {
    return latencies[(latencies.size() - 1) * percent / 100] / kNsPerUs;
  };
  fmt::print("= {:<16} {} execs: p50 {} us, p90 {} us, p99 {} us, worst {} us\n", label, latencies.size(),
             at(50), at(90), at(99), at(100));
}

}  // namespace

int main(int count, char** words) {
  const size_t execs = count > 1 ? static_cast<size_t>(atoi(words[1])) : 500;
  const int64_t begin_ns = memlog::boot_now_ns();
  auto opened = memlog::open_bpf_events({.comms = {"true"}});
  if (!opened.ok()) {
    fmt::print(stderr, "{}: {}\n", opened.error().doing, opened.error().reason);
    return 1;
  }
  fmt::print("open {} ms\n", (memlog::boot_now_ns() - begin_ns) / memlog::kNsPerMs);
  print("default slice", measure(**opened, execs));
  if (memlog::use_short_slice()) {
    print("100 us slice", measure(**opened, execs));
  } else {
    fmt::print("100 us slice: not granted here\n");
  }
  fmt::print("lost {}\n", (*opened)->lost_count());
  return 0;
}
