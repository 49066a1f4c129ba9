// SPDX-License-Identifier: Apache-2.0
#include "collect/process_status.h"

#include <gtest/gtest.h>

#include <string>

#include "collect/kernel_text.h"

namespace memlog {
namespace {

constexpr int64_t kKiB = 1024;
constexpr const char* kStatus =
    "Name:\tVmRSS: 7 kB\n"
    "State:\tS (sleeping)\n"
    "VmPeak:\t99999999 kB\n"
    "VmHWM:\t   50000 kB\n"
    "VmRSS:\t   49072 kB\n"
    "RssAnon:\t   40000 kB\n"
    "RssFile:\t    9000 kB\n"
    "RssShmem:\t      72 kB\n"
    "VmData:\t     360 kB\n"
    "VmPTE:\t      48 kB\n"
    "VmSwap:\t       4 kB\n"
    "HugetlbPages:\t 2097152 kB\n"
    "Threads:\t3\n"
    "VmRSS:\t 1 kB\n";

TEST(ParseStatus, TakesEachLine) {
  const StatusFields fields = parse_status(kStatus);
  EXPECT_EQ(fields.hwm_bytes, Nullable(50000 * kKiB));
  EXPECT_EQ(fields.anon_bytes, Nullable(40000 * kKiB));
  EXPECT_EQ(fields.file_bytes, Nullable(9000 * kKiB));
  EXPECT_EQ(fields.shmem_bytes, Nullable(72 * kKiB));
  EXPECT_EQ(fields.data_bytes, Nullable(360 * kKiB));
  EXPECT_EQ(fields.page_table_bytes, Nullable(48 * kKiB));
  EXPECT_EQ(fields.swap_bytes, Nullable(4 * kKiB));
  EXPECT_EQ(fields.threads, Nullable(3));
}

TEST(ParseStatus, HugePagesAreNotInTheRss) {
  const StatusFields fields = parse_status(kStatus);
  EXPECT_EQ(fields.rss_bytes, Nullable(49072 * kKiB));
  EXPECT_EQ(fields.hugetlb_bytes, Nullable(2097152 * kKiB));
}

TEST(ParseStatus, HoldsMoreThan32Bits) {
  EXPECT_EQ(parse_status("VmRSS:\t5368709120 kB\n").rss_bytes, Nullable(5497558138880));
}

TEST(ParseStatus, AKilobyteIs1024BytesWhateverThePageSize) {
  // 1000 pages of 64 KiB: the kernel has multiplied already.
  EXPECT_EQ(parse_status("VmRSS:\t   64000 kB\n").rss_bytes, Nullable(65536000));
}

TEST(ParseStatus, AZombieHasNoMemoryRatherThanZero) {
  const StatusFields fields = parse_status("Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n");
  EXPECT_FALSE(fields.rss_bytes.has_value());
  EXPECT_FALSE(fields.swap_bytes.has_value());
  EXPECT_FALSE(fields.hugetlb_bytes.has_value());
  EXPECT_EQ(fields.threads, Nullable(1));
}

TEST(ParseStatus, WhatIsNoNumberIsUnknown) {
  for (const char* bad : {"", "\n", "VmRSS:", "VmRSS: 5 kB", "VmRSS:\n", "VmRSS:\tkB\n", "VmRSS:\t-5 kB\n",
                          "VmRSS: 99999999999999999999 kB\n", "VmRSS: 9223372036854775807 kB\n",
                          " VmRSS:\t5 kB\n", "XVmRSS: 5 kB\n"}) {
    EXPECT_FALSE(parse_status(bad).rss_bytes.has_value()) << bad;
  }
}

TEST(ParseStatus, ACutTextGivesWholeValuesOrNone) {
  const std::string whole = kStatus;
  for (size_t length = 0; length < whole.size(); ++length) {
    const StatusFields fields = parse_status(std::string_view(whole).substr(0, length));
    const bool is_there = length >= whole.find("50000 kB\n") + 9;
    EXPECT_EQ(fields.hwm_bytes, is_there ? Nullable(50000 * kKiB) : Nullable()) << length;
  }
}

TEST(AfterKey, TakesOnlyALineThatStartsWithTheKey) {
  constexpr const char* text = "oom_kill_disable 0\nunder_oom 0\nnot oom_kill 5\noom_kill 7\n";
  EXPECT_EQ(after_key(text, "oom_kill "), "7");
  EXPECT_EQ(after_key("oom_kill 7", "oom_kill "), "7");
  EXPECT_EQ(after_key("oom_kill_disable 0\n", "oom_kill "), "");
  EXPECT_EQ(after_key("", "oom_kill "), "");
}

}  // namespace
}  // namespace memlog
