// SPDX-License-Identifier: Apache-2.0
// DeviceTotals: the memory of all devices together, beside samples that are read in the order of time.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/records.h"
#include "store/database.h"

namespace memlog {

// What all devices held at the times of the samples, which come in order.
class DeviceTotals {
 public:
  // `database` outlives it. Totals before from_ns are passed over.
  static Result<DeviceTotals> open(Database& database, int64_t run_id, int64_t from_ns = INT64_MIN + 1) {
    DeviceTotals totals;
    Result<Statement> rows = database.prepare(
        "SELECT time_ns, device_count, dram_bytes, dram_min_bytes, dram_max_bytes FROM device_total "
        "WHERE run_id = ? AND time_ns >= ? ORDER BY time_ns");
    if (!rows) return rows.error();
    totals.rows_ = *std::move(rows);
    totals.rows_.bind(1, run_id);
    totals.rows_.bind(2, from_ns);
    if (const Status status = totals.step(); !status) return status.error();
    totals.has_any_ = totals.has_row_;
    return totals;
  }

  bool has_any() const { return has_any_; }
  // Nothing is known between two ticks.
  Result<DeviceTotal> at(int64_t time_ns) {
    while (has_row_ && row_.time_ns < time_ns) {
      if (const Status status = step(); !status) return status.error();
    }
    return has_row_ && row_.time_ns == time_ns ? row_ : DeviceTotal();
  }

 private:
  Status step() {
    const Result<bool> row = rows_.step();
    if (!row) return row.error();
    has_row_ = *row;
    if (!has_row_) return Ok{};
    row_.time_ns = rows_.integer(0).value_or(0);
    row_.device_count = rows_.integer(1);
    row_.dram_bytes = rows_.integer(2);
    row_.dram_min_bytes = rows_.integer(3);
    row_.dram_max_bytes = rows_.integer(4);
    return Ok{};
  }

  Statement rows_;
  DeviceTotal row_;
  bool has_row_ = false;
  bool has_any_ = false;
};

}  // namespace memlog
