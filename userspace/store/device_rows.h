// SPDX-License-Identifier: Apache-2.0
// DeviceRows: the rows of accelerator chips, written for a RunWriter in its transactions.
#pragma once

#include "model/records.h"
#include "store/database.h"
#include "store/row_ids.h"

namespace memlog {

class DeviceRows {
 public:
  Status prepare(Database& database, int64_t run_id);

  Status store(const DeviceStart& record);
  Status store(const DeviceSample& record);
  Status store(const DeviceChipSample& record);
  // `process_id`: the row of the record's process; NULL: the record is left out.
  Status store(const DeviceProcessSample& record, Nullable process_id);
  Status store(const DeviceUserChange& record);
  Status store(const DeviceTotal& record);

  void commit() { devices_.commit(); }
  void roll_back() { devices_.roll_back(); }

 private:
  int64_t run_id_ = 0;
  RowIds devices_;
  Statement insert_device_;
  Statement insert_sample_;
  Statement set_reason_;
  Statement insert_chip_sample_;
  Statement insert_process_sample_;
  Statement insert_user_;
  Statement insert_total_;
};

}  // namespace memlog
