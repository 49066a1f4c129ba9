// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "model/rollup.h"

namespace memlog {
namespace {

// The column names of `table` in the schema, in order, without its keys.
std::vector<std::string> schema_columns(const std::string& table,
                                        const std::string& in = "0001_recording.sql") {
  std::ifstream file(MEMLOG_SOURCE "/schema/" + in);
  std::vector<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "CREATE TABLE " + table + " (") {
      inside = true;
    } else if (inside && line.starts_with(")")) {
      break;
    } else if (inside) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (name != "PRIMARY" && name != "time_ns" && !name.ends_with("_id")) names.push_back(name);
    }
  }
  return names;
}

template <typename Columns>
std::vector<std::string> names_of(const Columns& columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const auto& column : columns) names.emplace_back(column.name);
  return names;
}

TEST(Columns, AreThoseOfTheSchemaInItsOrder) {
  EXPECT_EQ(names_of(kProcessColumns), schema_columns("process_sample"));
  EXPECT_EQ(names_of(kHostColumns), schema_columns("host_sample"));
  EXPECT_EQ(names_of(kCgroupColumns), schema_columns("cgroup_sample"));
  const std::string devices = "0003_device.sql";
  std::vector<std::string> device_columns = schema_columns("device_sample", devices);
  ASSERT_EQ(device_columns.back(), "unreadable_reason");  // the one text among the numbers
  device_columns.pop_back();
  EXPECT_EQ(names_of(kDeviceColumns), device_columns);
  EXPECT_EQ(names_of(kDeviceChipColumns), schema_columns("device_chip_sample", devices));
  EXPECT_EQ(names_of(kDeviceProcessColumns), schema_columns("device_process_sample", devices));
  EXPECT_EQ(names_of(kDeviceTotalColumns), schema_columns("device_total", devices));
}

TEST(Columns, EachNamesAFieldOfItsOwn) {
  ProcessSample sample;
  for (size_t i = 0; i < kProcessColumns.size(); ++i)
    sample.*kProcessColumns[i].field = static_cast<int64_t>(i);
  for (size_t i = 0; i < kProcessColumns.size(); ++i) {
    EXPECT_EQ((sample.*kProcessColumns[i].field).value(), static_cast<int64_t>(i)) << kProcessColumns[i].name;
  }
}

// In a roll-up's table each column is there as least, range, mean and last.
template <typename Sample, size_t kCount>
std::vector<std::string> parts_of(const Rollup<Sample, kCount>& rollup) {
  std::vector<std::string> names = {"level", "begin_ns", "span_ns", "longest_step_ns"};
  for (const auto& column : rollup.columns)
    for (const char* part : {"_min", "_range", "_mean", "_last"})
      names.push_back(column.name + std::string(part));
  return names;
}

TEST(Rollups, AreTheTablesOfTheSchema) {
  EXPECT_EQ(parts_of(kProcessRollup), schema_columns("process_rollup", "0002_rollup.sql"));
  EXPECT_EQ(parts_of(kHostRollup), schema_columns("host_rollup", "0002_rollup.sql"));
  EXPECT_EQ(parts_of(kCgroupRollup), schema_columns("cgroup_rollup", "0002_rollup.sql"));
  EXPECT_EQ(parts_of(kDeviceRollup), schema_columns("device_rollup", "0005_device_picture.sql"));
  EXPECT_EQ(parts_of(kDeviceTotalRollup), schema_columns("device_total_rollup", "0005_device_picture.sql"));
}

TEST(Nullable, UnknownIsNeverZero) {
  EXPECT_FALSE(Nullable().has_value());
  EXPECT_NE(Nullable(), Nullable(0));
  EXPECT_FALSE((Nullable() + Nullable(1)).has_value());
  EXPECT_EQ(max_known(Nullable(), Nullable(3)), Nullable(3));
  EXPECT_EQ(max_known(Nullable(5), Nullable(3)), Nullable(5));
}

}  // namespace
}  // namespace memlog
