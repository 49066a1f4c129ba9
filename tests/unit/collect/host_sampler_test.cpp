// SPDX-License-Identifier: Apache-2.0
#include "collect/host_sampler.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "model/columns.h"
#include "unit/collect/fake_tree.h"

namespace memlog {
namespace {

using test::FakeTree;

constexpr const char* kMeminfo =
    "MemTotal:       24746836 kB\nMemFree:        20000000 kB\nMemAvailable:   23000000 kB\n"
    "SwapCached:            1 kB\nSwapTotal:        262140 kB\nSwapFree:         200000 kB\n"
    "HugePages_Total:       4\nHugePages_Free:        3\nHugepagesize:       2048 kB\n";
constexpr const char* kPressure =
    "some avg10=1.00 avg60=2.00 avg300=3.00 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n";

HostSample stale_sample() {
  HostSample sample;
  sample.time_ns = 77;
  for (const auto& column : kHostColumns) sample.*column.field = 424242;
  return sample;
}

TEST(HostSampler, ReadsATreeOfLiterals) {
  FakeTree proc;
  proc.file("meminfo", kMeminfo)
      .file("pressure/memory", kPressure)
      .file("vmstat", "nr_free_pages 1\noom_kill 5\npgfault 7\n");
  HostSample sample = stale_sample();
  HostSampler(proc.root(), proc.path("no-pools")).sample(sample);
  EXPECT_EQ(sample.time_ns, 77);
  EXPECT_EQ(sample.mem_total_bytes, Nullable(int64_t{24746836} * 1024));
  EXPECT_EQ(sample.mem_free_bytes, Nullable(int64_t{20000000} * 1024));
  EXPECT_EQ(sample.mem_available_bytes, Nullable(int64_t{23000000} * 1024));
  EXPECT_EQ(sample.swap_total_bytes, Nullable(int64_t{262140} * 1024));
  EXPECT_EQ(sample.swap_free_bytes, Nullable(int64_t{200000} * 1024));
  EXPECT_EQ(sample.hugepage_total_bytes, Nullable(int64_t{4} * 2048 * 1024));
  EXPECT_EQ(sample.hugepage_free_bytes, Nullable(int64_t{3} * 2048 * 1024));
  EXPECT_EQ(sample.psi_some_ns, Nullable(123456 * kNsPerUs));
  EXPECT_EQ(sample.psi_full_ns, Nullable(99 * kNsPerUs));
  EXPECT_EQ(sample.oom_kill_count, Nullable(5));
}

TEST(HostSampler, WhatIsMissingIsUnknown) {
  FakeTree proc;
  HostSample sample = stale_sample();
  HostSampler(proc.root(), proc.path("no-pools")).sample(sample);
  for (const auto& column : kHostColumns) EXPECT_FALSE((sample.*column.field).has_value()) << column.name;
}

TEST(HostSampler, HugePagesOfEverySizeAreCounted) {
  FakeTree proc;
  proc.file("meminfo", kMeminfo)
      .file("pools/hugepages-2048kB/nr_hugepages", "4\n")
      .file("pools/hugepages-2048kB/free_hugepages", "3\n")
      .file("pools/hugepages-1048576kB/nr_hugepages", "2\n")
      .file("pools/hugepages-1048576kB/free_hugepages", "1\n")
      .file("pools/hugepages-kB/nr_hugepages", "9\n");
  HostSample sample;
  HostSampler(proc.root(), proc.path("pools")).sample(sample);
  EXPECT_EQ(sample.hugepage_total_bytes, Nullable((int64_t{4} * 2048 + int64_t{2} * 1048576) * 1024));
  EXPECT_EQ(sample.hugepage_free_bytes, Nullable((int64_t{3} * 2048 + int64_t{1} * 1048576) * 1024));
}

TEST(HostSampler, AFileIsReadAnewEachTime) {
  FakeTree proc;
  proc.file("meminfo", "MemFree: 1 kB\n");
  HostSampler sampler(proc.root(), proc.path("no-pools"));
  HostSample sample;
  sampler.sample(sample);
  proc.file("meminfo", "MemFree: 2 kB\n");
  sampler.sample(sample);
  EXPECT_EQ(sample.mem_free_bytes, Nullable(2048));
}

TEST(HostSampler, TextThatIsNoNumberIsUnknown) {
  HostSample sample;
  parse_meminfo("MemTotal: x kB\nMemFree:\nMemAvailable: 9223372036854775807 kB\nHugepagesize: 0 kB\n",
                sample);
  EXPECT_FALSE(sample.mem_total_bytes.has_value());
  EXPECT_FALSE(sample.mem_free_bytes.has_value());
  EXPECT_FALSE(sample.mem_available_bytes.has_value());
  EXPECT_FALSE(sample.hugepage_total_bytes.has_value());
  for (const char* bad :
       {"", "some", "some total=", "some avg10=1 total=x\n", "some total=9223372036854775807"}) {
    parse_memory_pressure(bad, sample);
    EXPECT_FALSE(sample.psi_some_ns.has_value()) << bad;
  }
}

TEST(HostSampler, TheRealMachineHoldsTogether) {
  HostSample sample;
  HostSampler().sample(sample);
  EXPECT_GT(sample.mem_total_bytes.value(), 0);
  EXPECT_LE(sample.mem_free_bytes.value(), sample.mem_total_bytes.value());
  EXPECT_LE(sample.mem_available_bytes.value(), sample.mem_total_bytes.value());
  EXPECT_LE(sample.swap_free_bytes.value(), sample.swap_total_bytes.value());
  EXPECT_LE(sample.hugepage_free_bytes.value(), sample.hugepage_total_bytes.value());
  EXPECT_GE(sample.oom_kill_count.value(), 0);
}

}  // namespace
}  // namespace memlog
