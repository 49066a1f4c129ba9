// SPDX-License-Identifier: Apache-2.0
#include "cli/wide_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "csv/sample_writer.h"

namespace memlog {
namespace {

using nlohmann::json;

constexpr int64_t kMostTimeNs = 7'258'118'400'000'000'000;  // the year 2200
constexpr int64_t kMostValue = int64_t{1} << 52U;           // of bytes and counts

struct TableColumn {
  std::string name;
  bool is_text = false;
};

// Those of the table but its mere key and the run.
Result<std::vector<TableColumn>> columns_of(Database& database, const RunTable& table) {
  std::vector<TableColumn> columns;
  const Status status = database.each("SELECT name, type FROM pragma_table_info(?) ORDER BY cid",
                                      {std::string_view(table.name)}, [&](const Statement& row) {
                                        const std::string name = row.text_or(0);
                                        if (name == "run_id" || (table.has_row_id && name == "id")) return;
                                        columns.push_back({name, row.text_or(1) == "TEXT"});
                                      });
  if (!status) return status.error();
  return columns;
}

// device.device_id is the workload's number of the chip; everywhere else it names a row of device.
bool is_reference(const RunTable& table, const std::string& column) {
  return column == "process_id" || column == "cgroup_id" ||
         (column == "device_id" && std::string_view(table.name) != "device");
}

void append_field(std::string& json, const std::string& name, std::string_view value) {
  json += json.size() == 1 ? "\"" : ",\"";
  json.append(name).append("\":").append(value);
}

using Numbers = std::unordered_map<int64_t, int64_t>;  // in the file, by the row's id

class RecordReader {
 public:
  RecordReader(Database& database, int64_t run_id, const std::vector<int64_t>& processes,
               const std::function<void(const WideRecord&)>& sink)
      : database_(database), run_id_(run_id), processes_(processes), sink_(sink) {}

  Status read() {
    for (const RunTable& table : kRunTables) {
      if (const Status status = read_table(table); !status) return status;
    }
    return Ok{};
  }

 private:
  Status number_rows(const char* table, std::vector<int64_t>& ids, Numbers& numbers) {
    return database_.each(fmt::format("SELECT id FROM {} WHERE run_id = ? ORDER BY id", table),
                          {Nullable(run_id_)}, [&](const Statement& row) {
                            ids.push_back(row.integer(0).value_or(0));
                            numbers[ids.back()] = static_cast<int64_t>(ids.size());
                          });
  }

  Status read_table(const RunTable& table) {
    const std::string_view name = table.name;
    Status status = Ok{};
    if (name == "cgroup") status = number_rows("cgroup", cgroups_, cgroup_numbers_);
    if (name == "device") status = number_rows("device", devices_, device_numbers_);
    if (!status) return status;
    const Result<std::vector<TableColumn>> columns = columns_of(database_, table);
    if (!columns) return columns.error();
    std::string names;
    for (const TableColumn& column : *columns) names += (names.empty() ? "" : ", ") + column.name;
    const std::string sql = fmt::format("SELECT {} FROM {} WHERE {} = ? ORDER BY {}", names, table.name,
                                        table.parent_column, table.order);
    const std::vector<int64_t> run = {run_id_};
    const std::vector<int64_t>& parents = table.parent == RunPart::process  ? processes_
                                          : table.parent == RunPart::cgroup ? cgroups_
                                          : table.parent == RunPart::device ? devices_
                                                                            : run;
    for (const int64_t parent : parents) {
      status = database_.each(sql, {Nullable(parent)},
                              [&](const Statement& row) { hand_out(table, *columns, row); });
      if (!status) return status;
    }
    return Ok{};
  }

  void hand_out(const RunTable& table, const std::vector<TableColumn>& columns, const Statement& row) {
    WideRecord record;
    record.record = table.name;
    record.fields = "{";
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto at = static_cast<int>(i);
      const std::string& name = columns[i].name;
      if (columns[i].is_text) {
        const std::optional<std::string_view> text = row.text(at);
        if (text)
          append_field(record.fields, name, json(*text).dump(-1, ' ', false, json::error_handler_t::replace));
        continue;
      }
      const Nullable value = row.integer(at);
      if (!value.has_value()) continue;
      if (name == "time_ns") {
        record.time_ns = value;
      } else if (name == "process_id") {
        record.process_id = value;
      } else if (is_reference(table, name)) {
        const Numbers& numbers = name == "cgroup_id" ? cgroup_numbers_ : device_numbers_;
        const auto number = numbers.find(value.value());
        if (number == numbers.end()) continue;
        append_field(record.fields, name.substr(0, name.size() - 3), std::to_string(number->second));
      } else {
        append_field(record.fields, name, std::to_string(value.value()));
      }
    }
    record.fields += '}';
    sink_(record);
  }

  Database& database_;
  int64_t run_id_;
  const std::vector<int64_t>& processes_;
  const std::function<void(const WideRecord&)>& sink_;
  std::vector<int64_t> cgroups_;
  std::vector<int64_t> devices_;
  Numbers cgroup_numbers_;
  Numbers device_numbers_;
};

// Sums and differences of what is let in must stay numbers.
bool is_in_range(std::string_view column, int64_t value) {
  if (column.ends_with("_ns")) return value >= 0 && value <= kMostTimeNs;
  const bool is_bytes = column.ends_with("_bytes") || column.ends_with("_count");
  return value >= (is_bytes ? 0 : INT64_MIN) && (!is_bytes || value <= kMostValue);
}

Error refused(std::string reason) { return {"storing a record", std::move(reason), ""}; }

}  // namespace

Status read_records(Database& database, int64_t run_id, const std::vector<int64_t>& processes,
                    const std::function<void(const WideRecord&)>& sink) {
  return RecordReader(database, run_id, processes, sink).read();
}

Result<RecordImport::Table*> RecordImport::table_of(std::string_view record) {
  if (const auto found = tables_.find(record); found != tables_.end()) return &found->second;
  const auto* known = std::find_if(kRunTables.begin(), kRunTables.end(),
                                   [&](const RunTable& table) { return table.name == record; });
  if (known == kRunTables.end()) return refused("there is no such kind of record");
  Table table;
  table.table = known;
  const Result<std::vector<TableColumn>> columns = columns_of(database_, *known);
  if (!columns) return columns.error();
  const bool has_run = known->parent == RunPart::run;
  std::string names = has_run ? "run_id" : "";
  std::string marks = has_run ? "?" : "";
  for (const TableColumn& column : *columns) {
    table.columns.push_back({column.name, column.is_text});
    names += (names.empty() ? "" : ", ") + column.name;
    marks += marks.empty() ? "?" : ", ?";
  }
  Result<Statement> insert =
      database_.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", known->name, names, marks));
  if (!insert) return insert.error();
  table.insert = *std::move(insert);
  return &tables_.emplace(record, std::move(table)).first->second;
}

Status RecordImport::add(std::string_view record, Nullable time_ns, Nullable process_id,
                         std::string_view fields) {
  const Result<Table*> found = table_of(record);
  if (!found) return found.error();
  Table& table = **found;
  const json values = json::parse(fields, nullptr, false);
  if (!values.is_object()) return refused("no JSON object");
  if (const Status status = bind(table, time_ns, process_id, values); !status) return status;
  if (const Status status = table.insert.run(); !status) return status;
  const Result<Nullable> parent = reference(table, table.table->parent_column, process_id, values);
  note_row(table, parent ? *parent : Nullable());
  return Ok{};
}

Result<Nullable> RecordImport::reference(const Table& table, const std::string& column, Nullable process_id,
                                         const json& fields) const {
  if (column == "run_id") return Nullable(run_id_);
  if (column == "process_id") {
    if (table.table->parent == RunPart::process && !process_id.has_value())
      return refused("it names no process");
    return process_id;
  }
  const std::string name = column.substr(0, column.size() - 3);
  const std::vector<int64_t>& rows = column == "cgroup_id" ? cgroups_ : devices_;
  const auto number = fields.find(name);
  if (number == fields.end() || !number->is_number_unsigned() || number->get<uint64_t>() < 1 ||
      number->get<uint64_t>() > rows.size())
    return refused(fmt::format("'{}' is the number of none that came before", name));
  return Nullable(rows[number->get<uint64_t>() - 1]);
}

Status RecordImport::bind(Table& table, Nullable time_ns, Nullable process_id, const json& fields) {
  int index = 0;
  if (table.table->parent == RunPart::run) table.insert.bind(++index, run_id_);
  for (const Column& column : table.columns) {
    ++index;
    if (column.name == "time_ns") {
      table.insert.bind(index, time_ns);
    } else if (is_reference(*table.table, column.name)) {
      const Result<Nullable> id = reference(table, column.name, process_id, fields);
      if (!id) return id.error();
      table.insert.bind(index, *id);
    } else if (const auto value = fields.find(column.name); value == fields.end() || value->is_null()) {
      table.insert.bind(index, Nullable());
    } else if (column.is_text && value->is_string()) {
      table.insert.bind(index, value->get_ref<const std::string&>());
    } else if (!column.is_text && value->is_number_integer() &&
               (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX)) {
      const auto number = value->get<int64_t>();
      if (!is_in_range(column.name, number)) return refused(fmt::format("'{}' is out of range", column.name));
      table.insert.bind(index, number);
    } else {
      return refused(
          fmt::format("'{}' is not {}", column.name, column.is_text ? "a text" : "a whole number"));
    }
  }
  return Ok{};
}

void RecordImport::note_row(const Table& table, Nullable parent) {
  const std::string_view name = table.table->name;
  if (name == "cgroup") cgroups_.push_back(database_.last_insert_id());
  if (name == "device") devices_.push_back(database_.last_insert_id());
  if (name == "host_sample") rollups_.host.leave_to_rebuild(run_id_);
  if (name == "cgroup_sample") rollups_.cgroup.leave_to_rebuild(parent.value_or(0));
  if (name == "device_sample") rollups_.device.leave_to_rebuild(parent.value_or(0));
  if (name == "device_total") rollups_.device_total.leave_to_rebuild(run_id_);
}

}  // namespace memlog
