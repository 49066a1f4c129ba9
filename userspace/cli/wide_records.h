// SPDX-License-Identifier: Apache-2.0
// The rows of a wide CSV file that are no samples of processes: see csv/columns.h.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/nullable.h"
#include "store/database.h"
#include "store/rollup.h"
#include "store/run_tables.h"

namespace memlog {

// One row, on its way out of a database.
struct WideRecord {
  const char* record = "";
  Nullable time_ns;
  Nullable process_id;  // process.id
  std::string fields;   // JSON
};

// Hands every row of the run to `sink`, in the file's order; `processes` by their numbers in the file.
Status read_records(Database& database, int64_t run_id, const std::vector<int64_t>& processes,
                    const std::function<void(const WideRecord&)>& sink);

// Stores such rows again, as parts of another run.
class RecordImport {
 public:
  // `rollups` learns of the series that get samples here.
  RecordImport(Database& database, int64_t run_id, RollupWriters& rollups)
      : database_(database), run_id_(run_id), rollups_(rollups) {}

  // `process_id`: the row of the process that the record names, NULL for none. The reason why not.
  Status add(std::string_view record, Nullable time_ns, Nullable process_id, std::string_view fields);

 private:
  struct Column {
    std::string name;
    bool is_text = false;
  };
  struct Table {
    const RunTable* table = nullptr;
    std::vector<Column> columns;
    Statement insert;
  };

  Result<Table*> table_of(std::string_view record);
  Status bind(Table& table, Nullable time_ns, Nullable process_id, const nlohmann::json& fields);
  Result<Nullable> reference(const Table& table, const std::string& column, Nullable process_id,
                             const nlohmann::json& fields) const;
  void note_row(const Table& table, Nullable parent);

  Database& database_;
  int64_t run_id_;
  RollupWriters& rollups_;
  std::map<std::string, Table, std::less<>> tables_;
  std::vector<int64_t> cgroups_;  // row's ids by the number in the file
  std::vector<int64_t> devices_;
};

}  // namespace memlog
