// SPDX-License-Identifier: Apache-2.0
// Records of the ring buffer, as bytes, into events.
#include <gtest/gtest.h>
#include <linux/types.h>

#include <cstring>

#include "bpf/events.h"
#include "collect/bpf_decode.h"

namespace memlog {
namespace {

constexpr int64_t kPage = 4096;

template <typename Record>
std::optional<KernelEvent> decode(const Record& record) {
  return decode_bpf_event(std::as_bytes(std::span(&record, 1)), kPage);
}

TEST(BpfDecode, PagesBecomeBytesAndUnknownBecomesNull) {
  BpfExitEvent record{};
  record.header.kind = kBpfExit;
  record.peak_pages = 3;
  EXPECT_EQ(decode(record)->exit.peak_rss_bytes, Nullable(3 * kPage));
  record.peak_pages = BPF_UNKNOWN;
  EXPECT_EQ(decode(record)->exit.peak_rss_bytes, Nullable());
}

TEST(BpfDecode, AVictimKnownByItsThreadAloneHasNoZeros) {
  BpfOomEvent record{};
  record.header.kind = kBpfOomVictim;
  record.victim_tid = 77;
  for (__s64* unknown :
       {&record.total_vm_pages, &record.anon_pages, &record.file_pages, &record.shmem_pages,
        &record.swap_pages, &record.page_table_bytes, &record.limit_pages, &record.usage_pages})
    *unknown = BPF_UNKNOWN;
  const std::optional<KernelEvent> event = decode(record);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->oom.victim_tid, 77);
  for (const Nullable& fact : {event->oom.total_vm_bytes, event->oom.anon_bytes, event->oom.file_bytes,
                               event->oom.shmem_bytes, event->oom.swap_bytes, event->oom.page_table_bytes,
                               event->oom.limit_bytes, event->oom.usage_bytes, event->oom.oom_score_adj})
    EXPECT_FALSE(fact.has_value());
}

TEST(BpfDecode, NoLimitIsNull) {
  BpfOomEvent record{};
  record.header.kind = kBpfOomVictim;
  record.limit_pages = INT64_MAX / kPage;
  EXPECT_EQ(decode(record)->oom.limit_bytes, Nullable());
  record.limit_pages = 8192;
  EXPECT_EQ(decode(record)->oom.limit_bytes, Nullable(8192 * kPage));
}

TEST(BpfDecode, NamesEndAtTheirNulOrTheirField) {
  BpfEventHeader record{};
  record.kind = kBpfRename;
  memcpy(record.comm, "ab\0cd", 5);
  EXPECT_EQ(decode(record)->comm, "ab");
  memset(record.comm, 'x', sizeof record.comm);
  EXPECT_EQ(decode(record)->comm, std::string(sizeof record.comm, 'x'));
}

TEST(BpfDecode, ArgumentsNeverReachBeyondTheRecord) {
  BpfExecEvent record{};
  record.header.kind = kBpfExec;
  record.argument_bytes = 1U << 31U;
  EXPECT_EQ(decode(record)->arguments.size(), sizeof record.arguments);
}

TEST(BpfDecode, RefusesWhatIsNotARecord) {
  BpfExecEvent record{};
  record.header.kind = kBpfExec;
  const auto bytes = std::as_bytes(std::span(&record, 1));
  for (const size_t size : {size_t{0}, sizeof(BpfEventHeader) - 1, sizeof(BpfEventHeader), bytes.size() - 1})
    EXPECT_FALSE(decode_bpf_event(bytes.first(size), kPage)) << size;
  for (const __u32 kind : {0U, 6U, 0xffffffffU}) {
    record.header.kind = kind;
    EXPECT_FALSE(decode(record)) << kind;
  }
}

}  // namespace
}  // namespace memlog
