// SPDX-License-Identifier: Apache-2.0
// What one process sample costs beside a bare loop of preads of the same kept files: the part that is
// memlog's.
//
//   sample_cost [PID] [SAMPLES]      PID: whose memory is read (its own)
//
// The two loops take turns in short blocks, because the speed of a shared machine swings within seconds; the
// medians over the blocks are printed.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "collect/process_sampler.h"

namespace memlog {
namespace {

constexpr int kBlock = 500;

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

template <typename Function>
double ns_per_call(Function function) {
  const int64_t started_ns = monotonic_ns();
  for (int i = 0; i < kBlock; ++i) function();
  return static_cast<double>(monotonic_ns() - started_ns) / kBlock;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::vector<OwnedFd> open_all(pid_t pid, const std::vector<const char*>& names) {
  std::vector<OwnedFd> files;
  files.reserve(names.size());
  for (const char* name : names) {
    files.emplace_back(open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  }
  return files;
}

void read_all(const std::vector<OwnedFd>& files) {
  static std::array<char, 8192> buffer;
  for (const OwnedFd& file : files) {
    if (pread(file.get(), buffer.data(), buffer.size(), 0) < 0) std::exit(1);
  }
}

// `step_ns`: how far the sampler's clock goes on with each sample; 0 leaves stat out after the first.
void compare(const char* what, pid_t pid, int samples, int64_t step_ns,
             const std::vector<const char*>& names) {
  const std::vector<OwnedFd> files = open_all(pid, names);
  ProcessSampler sampler("/proc", pid, {});
  ProcessSample sample;
  int64_t now_ns = kNsPerSecond;
  std::vector<double> bare;
  std::vector<double> whole;
  for (int done = 0; done < samples; done += kBlock) {
    bare.push_back(ns_per_call([&] { read_all(files); }));
    whole.push_back(ns_per_call([&] {
      now_ns += step_ns;
      if (sampler.sample(now_ns, sample) != SampleOutcome::sampled) std::exit(1);
    }));
  }
  fmt::print("= {:<44} bare {:6.0f} ns  sample {:6.0f} ns  ratio {:.2f}\n", what, median(bare), median(whole),
             median(whole) / median(bare));
}

}  // namespace
}  // namespace memlog

int main(int argc, char** argv) {
  const pid_t pid = argc > 1 ? atoi(argv[1]) : getpid();
  const int samples = argc > 2 ? atoi(argv[2]) : 50000;
  memlog::compare("status, oom_score, oom_score_adj", pid, samples, 0,
                  {"status", "oom_score", "oom_score_adj"});
  memlog::compare("status, oom_score, oom_score_adj, stat", pid, samples, 1000 * memlog::kNsPerSecond,
                  {"status", "oom_score", "oom_score_adj", "stat"});
}
