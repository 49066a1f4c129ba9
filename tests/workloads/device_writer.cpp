// SPDX-License-Identifier: Apache-2.0
// A process that keeps device memory regions as a tt-metal workload does, for tests and demonstrations:
//
//   device_writer DIRECTORY NUMBER[,NUMBER...] v1k|v1|v2|v3|v4 STEP...
//
// It makes the regions (O_CREAT | O_EXCL, ftruncate, mmap, relaxed stores) or enters those that are there,
// and claims a slot in each. Steps: `dram BYTES` and `free BYTES` on every device, `dram-on INDEX BYTES`,
// `remote CHIP BYTES`, `churn HZ MILLISECONDS`, `say TEXT`, `read-line`, `close` (as a clean end does: own
// bytes subtracted, slot released, the last one out zeroes the totals). Ending without `close`, or by
// SIGKILL, leaves everything behind. With the first step `unmade BYTES` the files are only made that long and
// left all zero.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint32_t kNoChip = 0xFFFFFFFF;
constexpr uint32_t kInitInProgress = 1;
constexpr uint32_t kInitReady = 0x52454459;
constexpr int kReleasing = -1;

using Word32 = std::atomic<uint32_t>;
using Word64 = std::atomic<uint64_t>;

struct Memory {
  Word64 dram, l1, l1_small, trace, cb;
};
struct MemoryWithKernel : Memory {
  Word64 kernel;
};

template <typename Bytes, size_t TailBytes>
struct RegionOf {
  Word32 version, process_count;
  Word64 last_update;
  Word32 reference_count, padding;
  Word64 board_serial, asic_id;
  Word32 device_id, more_padding;
  Bytes totals;
  struct Chip {
    Word32 id, is_remote;
    Bytes memory;
  } chips[16];
  struct User {
    std::atomic<int32_t> pid;
    int32_t padding;
    Bytes memory;
    Word64 last_update;
    char name[64];
  } users[64];
  Word32 init_state;  // version 4; padding before
  char tail[TailBytes - sizeof(Word32)];
};
using RegionV1WithKernel = RegionOf<MemoryWithKernel, 96>;
using RegionV1 = RegionOf<Memory, 104>;
using RegionV2 = RegionOf<Memory, 40>;
static_assert(sizeof(RegionV1WithKernel) == 9280 && sizeof(RegionV1) == 8640 && sizeof(RegionV2) == 8576);

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

uint64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void subtract(Word64& counter, uint64_t bytes) { counter.fetch_sub(bytes, kRelaxed); }

struct Device {
  virtual ~Device() = default;
  virtual void allocate(uint32_t chip, bool is_remote, int64_t bytes) = 0;
  virtual void close() = 0;
  uint32_t id = 0;
};

// A region's file, mapped; `is_new` where this process made it.
void* map_file(const std::string& path, size_t size, bool& is_new) {
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  is_new = fd >= 0;
  if (!is_new) fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(path);
  if (is_new && ftruncate(fd, static_cast<off_t>(size)) != 0) fail(path);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) fail(path);
  ::close(fd);
  return mapped;
}

template <typename Region>
class MappedDevice final : public Device {
 public:
  MappedDevice(const std::string& path, uint64_t number, uint32_t version, uint32_t device_id)
      : version_(version) {
    id = device_id;
    bool is_new = false;
    region_ = static_cast<Region*>(map_file(path, sizeof(Region), is_new));
    if (is_new) make(number);
    claim_slot();
  }

  void allocate(uint32_t chip, bool is_remote, int64_t bytes) override {
    const auto change = static_cast<uint64_t>(bytes);  // a negative one subtracts
    region_->totals.dram.fetch_add(change, kRelaxed);
    chip_of(chip, is_remote).memory.dram.fetch_add(change, kRelaxed);
    region_->last_update.store(now_ns(), kRelaxed);
    user_->memory.dram.fetch_add(change, kRelaxed);
    user_->last_update.store(now_ns(), kRelaxed);
  }

  void close() override {
    user_->pid.store(kReleasing, kRelaxed);
    const uint64_t held = user_->memory.dram.exchange(0, kRelaxed);
    subtract(region_->totals.dram, held);
    std::memset(user_->name, 0, sizeof user_->name);
    user_->last_update.store(0, kRelaxed);
    user_->pid.store(0);
    region_->process_count.fetch_sub(1, kRelaxed);
    region_->last_update.store(now_ns(), kRelaxed);
    if (region_->reference_count.fetch_sub(1) == 1) {
      region_->totals.dram.store(0, kRelaxed);
      for (auto& chip : region_->chips) chip.memory.dram.store(0, kRelaxed);
    }
    munmap(region_, sizeof(Region));
  }

 private:
  uint32_t empty_chip() const { return version_ == 1 ? 0 : kNoChip; }

  void make(uint64_t number) {
    if (version_ == 4) region_->init_state.store(kInitInProgress);
    region_->version.store(version_, kRelaxed);
    region_->last_update.store(now_ns(), kRelaxed);
    region_->board_serial.store(version_ == 1 ? number >> 8U : 0, kRelaxed);
    region_->asic_id.store(version_ == 1 ? number & 0xFFU : number, kRelaxed);
    region_->device_id.store(id, kRelaxed);
    for (auto& chip : region_->chips) chip.id.store(empty_chip(), kRelaxed);
    region_->chips[0].id.store(id, kRelaxed);
    if (version_ == 4) region_->init_state.store(kInitReady);
  }

  void claim_slot() {
    for (auto& user : region_->users) {
      int32_t expected = 0;
      if (!user.pid.compare_exchange_strong(expected, getpid())) continue;
      user_ = &user;
      user.memory.dram.store(0, kRelaxed);
      user.last_update.store(now_ns(), kRelaxed);
      FILE* comm = std::fopen("/proc/self/comm", "re");
      if (comm != nullptr && std::fgets(user.name, sizeof user.name, comm) != nullptr)
        user.name[strcspn(user.name, "\n")] = '\0';
      if (comm != nullptr) std::fclose(comm);
      region_->reference_count.fetch_add(1);
      region_->process_count.fetch_add(1, kRelaxed);
      return;
    }
    std::fputs("every slot is taken\n", stderr);
    std::exit(1);
  }

  auto& chip_of(uint32_t chip_id, bool is_remote) {
    for (auto& chip : region_->chips) {
      if (chip.id.load(kRelaxed) == chip_id && (chip_id != 0 || &chip == region_->chips)) return chip;
    }
    for (auto& chip : region_->chips) {
      uint32_t expected = empty_chip();
      if (&chip == region_->chips || !chip.id.compare_exchange_strong(expected, chip_id)) continue;
      chip.is_remote.store(is_remote ? 1 : 0, kRelaxed);
      return chip;
    }
    return region_->chips[0];
  }

  uint32_t version_;
  Region* region_ = nullptr;
  typename Region::User* user_ = nullptr;
};

std::unique_ptr<Device> open_device(const std::string& path, uint64_t number, const std::string& layout,
                                    uint32_t id) {
  if (layout == "v1k") return std::make_unique<MappedDevice<RegionV1WithKernel>>(path, number, 1, id);
  if (layout == "v1") return std::make_unique<MappedDevice<RegionV1>>(path, number, 1, id);
  const auto version = static_cast<uint32_t>(std::atoi(layout.c_str() + 1));
  return std::make_unique<MappedDevice<RegionV2>>(path, number, version, id);
}

void churn(std::vector<std::unique_ptr<Device>>& devices, int64_t hertz, int64_t milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  constexpr int64_t bytes = int64_t{64} << 20;
  bool holds = false;
  for (auto next = Clock::now(); next < end; next += std::chrono::nanoseconds(1'000'000'000 / hertz)) {
    std::this_thread::sleep_until(next);
    for (auto& device : devices) device->allocate(device->id, false, holds ? -bytes : bytes);
    holds = !holds;
  }
  if (!holds) return;
  for (auto& device : devices) device->allocate(device->id, false, -bytes);
}

void leave_unmade(const std::string& path, int64_t bytes) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, bytes) != 0) fail(path);
  close(fd);
}

std::vector<uint64_t> numbers_of(const std::string& list) {
  std::vector<uint64_t> numbers;
  const char* at = list.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    numbers.push_back(std::strtoull(at, &end, 10));
    if (end == at) fail(list);
    at = *end == ',' ? end + 1 : end;
  }
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: device_writer DIRECTORY NUMBERS LAYOUT STEP...\n", stderr);
    return 2;
  }
  const std::vector<std::string> steps(argv + 4, argv + argc);
  std::vector<std::unique_ptr<Device>> devices;
  const bool is_unmade = !steps.empty() && steps[0] == "unmade";
  for (const uint64_t number : numbers_of(argv[2])) {
    const std::string path = std::string(argv[1]) + "/tt_device_" + std::to_string(number) + "_memory";
    if (is_unmade) {
      leave_unmade(path, std::atoll(steps.at(1).c_str()));
    } else {
      devices.push_back(open_device(path, number, argv[3], static_cast<uint32_t>(devices.size())));
    }
  }
  for (size_t i = is_unmade ? 2 : 0; i < steps.size(); ++i) {
    const std::string& step = steps[i];
    const auto number = [&] { return std::atoll(steps.at(++i).c_str()); };
    if (step == "dram" || step == "free") {
      const int64_t bytes = step == "dram" ? number() : -number();
      for (auto& device : devices) device->allocate(device->id, false, bytes);
    } else if (step == "dram-on") {
      Device& device = *devices.at(static_cast<size_t>(number()));
      device.allocate(device.id, false, number());
    } else if (step == "remote") {
      const auto chip = static_cast<uint32_t>(number());
      const int64_t bytes = number();
      for (auto& device : devices) device->allocate(chip, true, bytes);
    } else if (step == "churn") {
      const int64_t hertz = number();
      churn(devices, hertz, number());
    } else if (step == "say") {
      std::puts(steps.at(++i).c_str());
      std::fflush(stdout);
    } else if (step == "read-line") {
      for (int byte = std::getchar(); byte != '\n' && byte != EOF;) byte = std::getchar();
    } else if (step == "close") {
      for (auto& device : devices) device->close();
      devices.clear();
    } else {
      std::fprintf(stderr, "unknown step %s\n", step.c_str());
      return 2;
    }
  }
  return 0;
}
