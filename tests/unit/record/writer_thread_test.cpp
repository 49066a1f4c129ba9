// SPDX-License-Identifier: Apache-2.0
#include "record/writer_thread.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/clock.h"

namespace memlog {
namespace {

// A store whose disk is full for the first `failures` writes.
class FlakyWriter final : public RunWriter {
 public:
  explicit FlakyWriter(int failures) : failures_(failures) {}
  int64_t run_id() const override { return 1; }
  Status write(std::span<const Record> records) override {
    if (failures_-- > 0) return Error{"storing", "disk full", ""};
    stored_count += records.size();
    return Ok{};
  }
  Status end(const RunEnd& /*end*/) override { return Ok{}; }
  Status discard() override { return Ok{}; }
  FilePlace place() const override { return FilePlace::in_place; }
  Result<std::string> rescue() override { return std::string(); }
  Status mark_incomplete() override { return Ok{}; }
  size_t stored_count = 0;

 private:
  int failures_;
};

TEST(WriterThread, KeepsABatchUntilItCanBeStoredAndSaysSo) {
  FlakyWriter writer(1);
  RecordQueue queue(64);
  std::vector<std::string> said;
  std::mutex mutex;
  WriterThread thread(
      writer, queue, kNsPerMs,
      [&](const std::string& reason) {
        const std::lock_guard lock(mutex);
        said.push_back(reason);
      },
      [](FilePlace) {});
  queue.push(ProcessSample{});
  queue.push(ProcessSample{});
  EXPECT_TRUE(thread.finish().ok());
  EXPECT_EQ(writer.stored_count, 2U);
  EXPECT_EQ(said, (std::vector<std::string>{"storing: disk full", ""}));
}

TEST(WriterThread, TellsWhenTheLastRecordsCouldNotBeStored) {
  FlakyWriter writer(1000);
  RecordQueue queue(64);
  WriterThread thread(writer, queue, kNsPerMs, [](const std::string&) {}, [](FilePlace) {});
  queue.push(ProcessSample{});
  const Status outcome = thread.finish();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().reason, "disk full");
}

}  // namespace
}  // namespace memlog
