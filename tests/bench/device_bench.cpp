// SPDX-License-Identifier: Apache-2.0
// What looking at 32 devices costs, with 64 users each and with one: the sampler alone, and the watch with
// its records.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/clock.h"
#include "collect/device_watch.h"
#include "support/region_bytes.h"

namespace memlog {
namespace {

constexpr int kDevices = 32;
constexpr int kLooks = 500;

// Time on the CPU: what other processes take does not count.
int64_t cpu_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

void print_costs(const char* what, std::vector<int64_t> costs_ns) {
  std::sort(costs_ns.begin(), costs_ns.end());
  int64_t sum_ns = 0;
  for (const int64_t cost_ns : costs_ns) sum_ns += cost_ns;
  const double mean_us = static_cast<double>(sum_ns) / static_cast<double>(costs_ns.size()) / 1000;
  fmt::print("= {:<44} mean {:7.1f} µs  p50 {:7.1f}  p99 {:7.1f}  at 10 Hz {:.3f} % of a core\n", what,
             mean_us, static_cast<double>(costs_ns[costs_ns.size() / 2]) / 1000,
             static_cast<double>(costs_ns[costs_ns.size() * 99 / 100]) / 1000, mean_us * 10 / 1e6 * 100);
}

template <typename Function>
void measure(const char* what, Function look) {
  look();  // the first look opens and judges
  std::vector<int64_t> costs_ns;
  for (int i = 0; i < kLooks; ++i) {
    const int64_t before_ns = cpu_now_ns();
    look();
    costs_ns.push_back(cpu_now_ns() - before_ns);
  }
  print_costs(what, std::move(costs_ns));
}

void write_regions(const std::string& directory, const std::vector<pid_t>& users) {
  for (int device = 0; device < kDevices; ++device) {
    test::RegionBytes bytes(test::kV3);
    bytes.totals(users.size() << 20U)
        .device_id(static_cast<uint32_t>(device))
        .last_update(static_cast<uint64_t>(wall_now_ns()));
    for (size_t slot = 0; slot < users.size(); ++slot) {
      bytes.user(slot, users[slot], uint64_t{1} << 20U, "bench-user", static_cast<uint64_t>(wall_now_ns()));
    }
    std::ofstream(fmt::format("{}/tt_device_{}_memory", directory, device), std::ios::binary)
        << bytes.bytes();
  }
}

void measure_with(const std::string& directory, const std::vector<pid_t>& users) {
  write_regions(directory, users);
  int64_t handed_out = 0;
  DeviceSampler sampler({directory, 64, 256, {"/proc", reader_sees_every_process(), 64}});
  measure(fmt::format("sampler, {} devices x {} users", kDevices, users.size()).c_str(), [&] {
    const ClockPair clocks = read_clock_pair();
    (void)sampler.sample(clocks.boot_ns, clocks.wall_ns - clocks.boot_ns,
                         [&](const DeviceReading&) { ++handed_out; });
  });
  for (const bool is_recorded : {false, true}) {
    DeviceWatch::Options options;
    options.directory = directory;
    options.key_of = [is_recorded](pid_t pid) {
      return is_recorded ? static_cast<ProcessKey>(pid) : ProcessKey{0};
    };
    DeviceWatch watch(std::move(options));
    std::vector<Record> records;
    measure(is_recorded ? "  watch, every user recorded" : "  watch, no user recorded", [&] {
      records.clear();
      watch.sample(boot_now_ns(),
                   {[&](Record record) { records.push_back(std::move(record)); }, [](const std::string&) {}});
    });
    fmt::print("    {} records a look\n", records.size());
  }
}

int run() {
  std::string directory = "/dev/shm/memlog-bench.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return 1;
  std::vector<pid_t> users;
  for (size_t i = 0; i < kRegionUserSlots; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, "bench-user");
      pause();
      _exit(0);
    }
    users.push_back(pid);
  }
  usleep(200'000);
  measure_with(directory, users);
  measure_with(directory, {users[0]});
  for (const pid_t pid : users) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace memlog

int main() { return memlog::run(); }
