// SPDX-License-Identifier: Apache-2.0
#include "record/record_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace memlog {
namespace {

using std::chrono::milliseconds;

TEST(RecordQueue, WhatIsFullDropsSamplesFirst) {
  RecordQueue queue(16);
  for (int i = 0; i < 14; ++i) EXPECT_TRUE(queue.push(ProcessSample{}));
  EXPECT_FALSE(queue.push(ProcessSample{}));
  EXPECT_FALSE(queue.push(HostSample{}));
  EXPECT_TRUE(queue.push(ProcessEnd{}));
  EXPECT_TRUE(queue.push(Gap{}));
  EXPECT_FALSE(queue.push(ProcessEnd{}));
  std::vector<Record> batch;
  EXPECT_TRUE(queue.pop_all(batch, milliseconds(1000)));
  EXPECT_EQ(batch.size(), 16U);
  EXPECT_TRUE(queue.push(ProcessSample{}));
}

TEST(RecordQueue, AHalfFullQueueDoesNotWait) {
  RecordQueue queue(4);
  std::vector<Record> batch;
  std::thread writer([&] { EXPECT_TRUE(queue.pop_all(batch, std::chrono::hours(1))); });
  queue.push(ProcessSample{});
  queue.push(ProcessSample{});
  writer.join();
  EXPECT_EQ(batch.size(), 2U);
}

TEST(RecordQueue, ClosingHandsOutTheRestAndThenEnds) {
  RecordQueue queue(4);
  queue.push(ProcessSample{});
  queue.close();
  std::vector<Record> batch;
  EXPECT_TRUE(queue.pop_all(batch, std::chrono::hours(1)));
  EXPECT_EQ(batch.size(), 1U);
  EXPECT_FALSE(queue.pop_all(batch, std::chrono::hours(1)));
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace memlog
