// SPDX-License-Identifier: Apache-2.0
// Real swap, on a compressed RAM disk that the test sets up and takes down again.
#include <sys/swap.h>

#include <filesystem>
#include <fstream>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

class Swap : public EndToEnd {
 protected:
  void SetUp() override {
    EndToEnd::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const bool has_zram = std::filesystem::exists("/sys/block/zram0/disksize");
    std::string size;
    std::ifstream("/sys/block/zram0/disksize") >> size;
    if (!has_zram || size != "0") GTEST_SKIP() << "needs an unused /dev/zram0 to swap on";
    std::ofstream("/sys/block/zram0/disksize") << "256M";
    ASSERT_EQ(e2e::run({"mkswap", "/dev/zram0"}).exit_status, 0);
    ASSERT_EQ(swapon("/dev/zram0", 0), 0);
    is_on_ = true;
  }
  void TearDown() override {
    if (!is_on_) return;
    EXPECT_EQ(swapoff("/dev/zram0"), 0);
    std::ofstream("/sys/block/zram0/reset") << "1";
  }
  bool is_on_ = false;
};

TEST_F(Swap, WhatIsSwappedOutIsCountedApartFromWhatIsResident) {
  MemoryCgroup cgroup("swap", 32 << 20);
  Child trace = this->trace({"--name", "e2e-swapped", "--interval", "20ms"});
  EXPECT_EQ(e2e::run({workload("e2e-swapped"), "cgroup=" + cgroup.directory(), "grow=80M", "sleep=300ms"})
                .exit_status,
            0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  const auto samples =
      rows("SELECT anon_bytes, swap_bytes FROM process_sample ORDER BY swap_bytes DESC LIMIT 1");
  const int64_t anon_bytes = std::stoll(samples.at(0).at("anon_bytes").value());
  const int64_t swap_bytes = std::stoll(samples.at(0).at("swap_bytes").value());
  EXPECT_GE(swap_bytes, 48 << 20);
  EXPECT_LE(anon_bytes, 32 << 20);
  EXPECT_GE(anon_bytes + swap_bytes, 80 << 20);
  EXPECT_GE(std::stoll(ask("SELECT max(swap_total_bytes - swap_free_bytes) FROM host_sample")), 40 << 20);
}

}  // namespace
}  // namespace memlog::e2e
