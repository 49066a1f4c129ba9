// SPDX-License-Identifier: Apache-2.0
#include "record/record_queue.h"

namespace memlog {
namespace {

constexpr size_t kReusedRecords = 2048;  // a larger batch's memory is given back

bool is_sample(const Record& record) {
  return std::holds_alternative<ProcessSample>(record) || std::holds_alternative<HostSample>(record) ||
         std::holds_alternative<CgroupSample>(record) || std::holds_alternative<DeviceSample>(record) ||
         std::holds_alternative<DeviceChipSample>(record) ||
         std::holds_alternative<DeviceProcessSample>(record) || std::holds_alternative<DeviceTotal>(record);
}

}  // namespace

RecordQueue::RecordQueue(size_t capacity) : capacity_(capacity), sample_capacity_(capacity - capacity / 8) {}

bool RecordQueue::push(Record record) {
  bool is_half_full = false;
  {
    const std::lock_guard lock(mutex_);
    if (records_.size() >= (is_sample(record) ? sample_capacity_ : capacity_)) return false;
    records_.push_back(std::move(record));
    is_half_full = records_.size() == capacity_ / 2;
  }
  if (is_half_full) wake_.notify_one();
  return true;
}

bool RecordQueue::pop_all(std::vector<Record>& batch, std::chrono::nanoseconds wait) {
  batch.clear();
  if (batch.capacity() > kReusedRecords) std::vector<Record>().swap(batch);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, wait,
                 [&] { return is_closed_ || is_flush_asked_ || records_.size() >= capacity_ / 2; });
  is_flush_asked_ = false;
  batch.swap(records_);
  return !batch.empty() || !is_closed_;
}

void RecordQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  wake_.notify_one();
}

void RecordQueue::flush() {
  {
    const std::lock_guard lock(mutex_);
    is_flush_asked_ = true;
  }
  wake_.notify_one();
}

}  // namespace memlog
