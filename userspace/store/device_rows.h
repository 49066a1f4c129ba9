// SPDX-License-Identifier: Apache-2.0
// DeviceRows: the rows of accelerator chips, written for a RunWriter in its transactions.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "model/records.h"
#include "store/database.h"
#include "store/rollup.h"
#include "store/row_ids.h"

namespace memlog {

class DeviceRows {
 public:
  // `rollups` are the caller's, who commits them and rolls them back.
  Status prepare(Database& database, int64_t run_id, RollupWriters& rollups);

  Status store(const DeviceStart& record);
  Status store(const DeviceSample& record);
  Status store(const DeviceChipSample& record);
  // `process_id`: the row of the record's process; NULL: the record is left out.
  Status store(const DeviceProcessSample& record, Nullable process_id);
  Status store(const DeviceUserChange& record);
  Status store(const DeviceTotal& record);
  // What the records since the last commit add to the processes' rows.
  Status store_peaks();

  void commit();
  void roll_back();

 private:
  // What a process holds at one instant, by device: its records may be handed in again after a failure.
  struct Held {
    int64_t time_ns = INT64_MIN;
    std::vector<std::pair<int64_t, int64_t>> bytes_by_device;
  };
  static constexpr size_t kMostHeld = 4096;

  void note_held(int64_t process_id, int64_t device_id, const DeviceProcessSample& record);

  int64_t run_id_ = 0;
  RollupWriters* rollups_ = nullptr;
  std::unordered_map<int64_t, Held> held_;
  std::unordered_map<int64_t, int64_t> peaks_;  // by process, of the open transaction
  RowIds devices_;
  Statement insert_device_;
  Statement insert_sample_;
  Statement set_reason_;
  Statement insert_chip_sample_;
  Statement insert_process_sample_;
  Statement insert_user_;
  Statement insert_total_;
  Statement raise_peak_;
};

}  // namespace memlog
