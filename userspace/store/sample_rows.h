// SPDX-License-Identifier: Apache-2.0
// Sample tables are written by walking their columns (model/columns.h): the statement and its binding, once
// for all.
#pragma once

#include <initializer_list>
#include <string>

#include "store/database.h"

namespace memlog {

// "INSERT OR REPLACE INTO <table> (<keys>, time_ns, <columns>) VALUES (?, ?, ...)": of two samples of one
// instant the later wins.
template <typename Columns>
std::string insert_sample_sql(const std::string& table, std::initializer_list<const char*> keys,
                              const Columns& columns) {
  std::string names;
  std::string marks;
  for (const char* key : keys) {
    names += std::string(key) + ", ";
    marks += "?, ";
  }
  names += "time_ns";
  marks += "?";
  for (const auto& column : columns) {
    names += std::string(", ") + column.name;
    marks += ", ?";
  }
  return "INSERT OR REPLACE INTO " + table + " (" + names + ") VALUES (" + marks + ")";
}

template <typename Columns>
std::string insert_sample_sql(const std::string& table, const char* key, const Columns& columns) {
  return insert_sample_sql(table, {key}, columns);
}

template <typename Sample, typename Columns>
Status store_sample(Statement& statement, std::initializer_list<int64_t> keys, const Sample& record,
                    const Columns& columns) {
  int index = 0;
  for (const int64_t key : keys) statement.bind(++index, key);
  statement.bind(++index, record.time_ns);
  for (const auto& column : columns) statement.bind(++index, record.*column.field);
  return statement.run();
}
template <typename Sample, typename Columns>
Status store_sample(Statement& statement, int64_t key, const Sample& record, const Columns& columns) {
  return store_sample(statement, {key}, record, columns);
}

}  // namespace memlog
