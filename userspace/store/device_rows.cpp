// SPDX-License-Identifier: Apache-2.0
#include "store/device_rows.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/columns.h"
#include "store/sample_rows.h"

namespace memlog {

Status DeviceRows::prepare(Database& database, int64_t run_id, RollupWriters& rollups) {
  run_id_ = run_id;
  rollups_ = &rollups;
  const std::array<std::pair<Statement*, std::string>, 8> texts = {{
      {&insert_device_,
       "INSERT INTO device (run_id, region, layout_version, board_serial, asic_id, device_id, is_remote, "
       "first_seen_ns, directory) "
       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, region) DO UPDATE SET "
       "layout_version = coalesce(excluded.layout_version, layout_version), "
       "board_serial = coalesce(excluded.board_serial, board_serial), asic_id = coalesce(excluded.asic_id, "
       "asic_id), "
       "device_id = coalesce(excluded.device_id, device_id), is_remote = coalesce(excluded.is_remote, "
       "is_remote) "
       "RETURNING id"},
      {&insert_sample_, insert_sample_sql("device_sample", {"device_id"}, kDeviceColumns)},
      {&set_reason_, "UPDATE device_sample SET unreadable_reason = ?3 WHERE device_id = ?1 AND time_ns = ?2"},
      {&insert_chip_sample_,
       insert_sample_sql("device_chip_sample", {"device_id", "chip_id"}, kDeviceChipColumns)},
      {&insert_process_sample_,
       insert_sample_sql("device_process_sample", {"process_id", "device_id"}, kDeviceProcessColumns)},
      {&insert_user_,
       "INSERT INTO device_user (device_id, time_ns, pid, name, state, dram_bytes) VALUES (?, ?, ?, ?, ?, "
       "?)"},
      {&insert_total_, insert_sample_sql("device_total", {"run_id"}, kDeviceTotalColumns)},
      {&raise_peak_,
       "UPDATE process SET peak_device_bytes = max(coalesce(peak_device_bytes, ?2), ?2) WHERE id = ?1"},
  }};
  for (const auto& [statement, text] : texts) {
    Result<Statement> prepared = database.prepare(text);
    if (!prepared) return prepared.error();
    *statement = *std::move(prepared);
  }
  return Ok{};
}

Status DeviceRows::store(const DeviceStart& record) {
  insert_device_.bind(1, run_id_);
  insert_device_.bind(2, valid_utf8(record.region));
  int index = 2;
  for (const Nullable fact :
       {record.layout_version, record.board_serial, record.asic_id, record.device_id, record.is_remote}) {
    insert_device_.bind(++index, fact);
  }
  insert_device_.bind(++index, record.first_seen_ns);
  insert_device_.bind(++index, record.directory.empty()
                                   ? std::nullopt
                                   : std::optional<std::string>(valid_utf8(record.directory)));
  const Result<bool> row = insert_device_.step();
  if (!row) return row.error();
  const Nullable id = *row ? insert_device_.integer(0) : Nullable();
  const Status status = insert_device_.run();
  if (status && id.has_value() && devices_.find(record.key) != id) devices_.add(record.key, id.value());
  return status;
}

Status DeviceRows::store(const DeviceSample& record) {
  const Nullable id = devices_.find(record.key);
  if (!id.has_value()) return Ok{};
  Status status = store_sample(insert_sample_, {id.value()}, record, kDeviceColumns);
  if (status) status = rollups_->device.add(id.value(), record, kDeviceRollup);
  if (!status || !record.unreadable_reason) return status;
  return set_reason_.run(id, record.time_ns, valid_utf8(*record.unreadable_reason));
}

Status DeviceRows::store(const DeviceChipSample& record) {
  const Nullable id = devices_.find(record.key);
  if (!id.has_value()) return Ok{};
  return store_sample(insert_chip_sample_, {id.value(), record.chip_id}, record, kDeviceChipColumns);
}

Status DeviceRows::store(const DeviceProcessSample& record, Nullable process_id) {
  const Nullable id = devices_.find(record.key);
  if (!id.has_value() || !process_id.has_value()) return Ok{};
  note_held(process_id.value(), id.value(), record);
  return store_sample(insert_process_sample_, {process_id.value(), id.value()}, record,
                      kDeviceProcessColumns);
}

Status DeviceRows::store(const DeviceUserChange& record) {
  const Nullable id = devices_.find(record.key);
  if (!id.has_value()) return Ok{};
  return insert_user_.run(id, record.time_ns, record.pid, valid_utf8(record.name), word(record.state),
                          record.dram_bytes);
}

Status DeviceRows::store(const DeviceTotal& record) {
  const Status status = store_sample(insert_total_, {run_id_}, record, kDeviceTotalColumns);
  return status ? rollups_->device_total.add(run_id_, record, kDeviceTotalRollup) : status;
}

void DeviceRows::note_held(int64_t process_id, int64_t device_id, const DeviceProcessSample& record) {
  if (!record.dram_bytes.has_value()) return;
  Held& held = held_[process_id];
  if (held.time_ns != record.time_ns) {
    held.time_ns = record.time_ns;
    held.bytes_by_device.clear();
  }
  const auto found = std::find_if(held.bytes_by_device.begin(), held.bytes_by_device.end(),
                                  [&](const auto& entry) { return entry.first == device_id; });
  if (found == held.bytes_by_device.end()) {
    held.bytes_by_device.emplace_back(device_id, record.dram_bytes.value());
  } else {
    found->second = record.dram_bytes.value();
  }
  int64_t sum = 0;
  for (const auto& [device, bytes] : held.bytes_by_device) sum += bytes;
  const auto [peak, is_new] = peaks_.try_emplace(process_id, sum);
  if (!is_new) peak->second = std::max(peak->second, sum);
}

Status DeviceRows::store_peaks() {
  for (const auto& [process_id, bytes] : peaks_) {
    if (const Status status = raise_peak_.run(process_id, bytes); !status) return status;
  }
  return Ok{};
}

void DeviceRows::commit() {
  devices_.commit();
  peaks_.clear();
  if (held_.size() > kMostHeld) held_.clear();
}

void DeviceRows::roll_back() {
  devices_.roll_back();
  peaks_.clear();
}

}  // namespace memlog
