// SPDX-License-Identifier: Apache-2.0
// What happens when many events come at once, or nobody reads them.
#include <gtest/gtest.h>
#include <unistd.h>

#include "bpf/listener.h"

namespace memlog {
namespace {

constexpr size_t kCrowd = 4000;
constexpr size_t kUnread = 200;

TEST(BpfLoss, NoneWhenFourThousandProcessesAreKilledAtOnce) {
  Stage stage;
  Listener listener({.comms = {own("crowd")}});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child crowd({stage.actor(own("crowd")), "crowd", std::to_string(kCrowd), "pause"});
  crowd.wait_for_output("ready");
  ASSERT_EQ(listener.count(KernelEventKind::fork), kCrowd);

  crowd.kill_group();
  crowd.wait();
  // The children are init's now: their end can only be seen by the events themselves.
  for (int attempt = 0; attempt < 3000 && listener.count(KernelEventKind::exit) < kCrowd + 1; attempt++)
    usleep(10'000);
  EXPECT_EQ(listener.count(KernelEventKind::exit), kCrowd + 1);
  EXPECT_EQ(listener.source().lost_count(), 0U);
}

TEST(BpfLoss, IsCountedToTheLastEventWhenNobodyReads) {
  Stage stage;
  Listener listener({.comms = {own("unread")}}, {.ring_bytes = 4096});
  MEMLOG_LISTENER_OR_SKIP(listener);
  Child child({stage.actor(own("unread")), "fork", std::to_string(kUnread)});
  child.wait();
  const size_t seen = listener.all().size();
  const uint64_t lost = listener.source().lost_count();
  EXPECT_GT(lost, 0U);
  const size_t sent = 2 * kUnread + 2;  // fork and exit of each; exec and exit of their parent
  EXPECT_GE(seen + lost, sent);
  EXPECT_LE(seen + lost, sent + 4);  // an OOM kill elsewhere on the host would be an event too
}

}  // namespace
}  // namespace memlog
