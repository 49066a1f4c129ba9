// SPDX-License-Identifier: Apache-2.0
#include "store/run_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/columns.h"
#include "store/sample_rows.h"

namespace memlog {
namespace {

constexpr size_t kSteps = 64;  // of which the interval is the median
constexpr size_t kCommBytes = 15;

}  // namespace

Result<RunImport> RunImport::begin(Database& database, int64_t run_id, const RunStart& run,
                                   const std::vector<size_t>& measured) {
  RunImport import;
  import.database_ = &database;
  import.measured_ = measured;
  import.started_ns_ = run.started_ns;
  import.row_.id = run_id;
  auto& values = import.row_.values;
  values["label"] = Nullable();
  if (run.label) values["label"] = valid_utf8(*run.label);
  values["host"] = valid_utf8(run.host);
  values["boot_id"] = run.boot_id;
  values["kernel"] = run.kernel;
  values["command"] = valid_utf8(run.command);
  values["target"] = valid_utf8(run.target);
  values["interval_ns"] = Nullable(0);
  values["started_ns"] = values["ended_ns"] = Nullable(run.started_ns);
  values["state"] = std::string(word(RunState::ended));
  values["end_reason"] = std::string("imported");
  values["event_source"] = std::string("import");
  values["uid"] = Nullable(run.uid);
  values["page_size_bytes"] = Nullable(run.page_size_bytes);
  values["cpu_count"] = Nullable(run.cpu_count);
  values["memlog_version"] = std::string(MEMLOG_VERSION);
  values["recorder_pid"] = values["recorder_start_ticks"] = values["recorder_pid_ns"] = Nullable(0);
  if (const Status status = import.prepare(); !status) return status.error();
  return import;
}

Status RunImport::prepare() {
  std::string names = "process_id, time_ns";
  std::string marks = "?, ?";
  for (const size_t index : measured_) {
    names += std::string(", ") + kProcessColumns[index].name;
    marks += ", ?";
  }
  const std::string insert = "INSERT OR REPLACE INTO process_sample (" + names + ") VALUES ";
  std::string rows = "(" + marks + ")";
  for (size_t i = 1; i < kRowsAStatement; ++i) rows += ", (" + marks + ")";
  for (const auto& [statement, sql] :
       {std::pair<Statement*, std::string>{
            &insert_process_,
            "INSERT INTO process (run_id, pid, comm, name, first_seen_ns, first_seen_by, end_reason) "
            "VALUES (?, ?, ?, ?, ?, 'import', 'unseen')"},
        {&insert_sample_, fmt::format("{}({})", insert, marks)},
        {&insert_samples_, insert + rows},
        {&insert_total_, insert_sample_sql("device_total", "run_id", kDeviceTotalColumns)}}) {
    Result<Statement> prepared = database_->prepare(sql);
    if (!prepared) return prepared.error();
    *statement = *std::move(prepared);
  }
  return rollups_.prepare(*database_);
}

Result<int64_t> RunImport::add_process(int64_t pid, const std::string& name, int64_t first_seen_ns) {
  const std::string clean = valid_utf8(name);
  const Status status =
      insert_process_.run(row_.id, pid, valid_utf8(clean.substr(0, kCommBytes)), clean, first_seen_ns);
  if (!status) return status.error();
  return database_->last_insert_id();
}

Status RunImport::add_sample(int64_t process_id, const ProcessSample& values) {
  if (latest_.second == nullptr || latest_.first != process_id) latest_ = {process_id, &seen_[process_id]};
  Seen& seen = *latest_.second;
  const int64_t time_ns = values.time_ns;
  if (time_ns == seen.latest_ns) ++repeated_count_;
  if (time_ns <= seen.latest_ns) seen.is_disordered = true;
  seen.latest_ns = time_ns;
  seen.first_ns = std::min(seen.first_ns, time_ns);
  seen.last_ns = std::max(seen.last_ns, time_ns);
  seen.peak_bytes = max_known(seen.peak_bytes, max_known(values.rss_bytes, values.hwm_bytes));
  ++seen.count;
  ++sample_count_;
  if (steps_ns_.size() < kSteps && time_ns > instant_ns_) {
    if (instant_ns_ != INT64_MIN) steps_ns_.push_back(time_ns - instant_ns_);
    instant_ns_ = time_ns;
  }
  pending_.emplace_back(process_id);
  pending_.emplace_back(time_ns);
  for (const size_t column : measured_) pending_.push_back(values.*kProcessColumns[column].field);
  if (pending_.size() == kRowsAStatement * (measured_.size() + 2)) {
    if (Status status = insert_pending(insert_samples_, kRowsAStatement); !status) return status;
  }
  return rollups_.process.add(process_id, values, kProcessRollup);
}

Status RunImport::add_device_total(const DeviceTotal& total) {
  const Status status = store_sample(insert_total_, row_.id, total, kDeviceTotalColumns);
  return status ? rollups_.device_total.add(row_.id, total, kDeviceTotalRollup) : status;
}

// Inserts the first `row_count` pending rows.
Status RunImport::insert_pending(Statement& statement, size_t row_count) {
  const size_t cell_count = row_count * (measured_.size() + 2);
  for (size_t i = 0; i < cell_count; ++i) statement.bind(static_cast<int>(i) + 1, pending_[i]);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(cell_count));
  return statement.run();
}

Status RunImport::flush_samples() {
  while (!pending_.empty()) {
    if (Status status = insert_pending(insert_sample_, 1); !status) return status;
  }
  return Ok{};
}

Status RunImport::flush() {
  rollups_.commit();
  return flush_samples();
}

Status RunImport::set_facts(const char* table, int64_t id, const std::vector<StoredFact>& facts) {
  if (facts.empty()) return Ok{};
  std::string sql = std::string("UPDATE ") + table + " SET ";
  std::vector<SqlValue> values;
  for (const StoredFact& fact : facts) {
    sql += (values.empty() ? "" : ", ") + std::string(fact.column) + " = ?";
    values.push_back(fact.value);
  }
  values.emplace_back(Nullable(id));
  return database_->each(sql + " WHERE id = ?", values, [](const Statement&) {});
}

Status RunImport::set_process_facts(int64_t process_id, const std::vector<StoredFact>& facts) {
  seen_[process_id].has_facts = true;
  return set_facts("process", process_id, facts);
}

void RunImport::set_run_facts(const std::vector<StoredFact>& facts) {
  has_run_facts_ = true;
  for (const StoredFact& fact : facts) {
    if (const std::string_view* text = std::get_if<std::string_view>(&fact.value)) {
      row_.values[fact.column] = std::string(*text);
    } else {
      row_.values[fact.column] = std::get<Nullable>(fact.value);
    }
  }
}

Status RunImport::set_parent(int64_t process_id, int64_t parent_process_id) {
  return set_facts("process", process_id, {{"parent_process_id", Nullable(parent_process_id)}});
}

int64_t RunImport::interval_ns() const {
  if (steps_ns_.empty()) return 0;
  std::vector<int64_t> steps = steps_ns_;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

Result<RunRow> RunImport::finish() {
  if (const Status status = flush_samples(); !status) return status.error();
  if (const Status status = rollups_.rebuild_disordered(); !status) return status.error();
  for (const auto& [id, seen] : seen_) {
    if (const Status status = finish_process(id, seen); !status) return status.error();
  }
  if (const Status status = finish_run(); !status) return status.error();
  return row_;
}

Status RunImport::finish_process(int64_t id, const Seen& seen) {
  int64_t count = seen.count;
  if (seen.is_disordered) {
    // Some may have replaced others.
    const Result<Nullable> stored =
        database_->integer("SELECT count(*) FROM process_sample WHERE process_id = ?", {Nullable(id)});
    if (!stored) return stored.error();
    count = stored->value_or(count);
  }
  std::vector<StoredFact> facts = {{"sample_count", Nullable(count)}};
  if (!seen.has_facts && seen.count > 0) {
    facts.push_back({"first_seen_ns", Nullable(seen.first_ns)});
    facts.push_back({"ended_ns", Nullable(seen.last_ns)});
    facts.push_back({"peak_rss_bytes", seen.peak_bytes});
    if (seen.peak_bytes.has_value()) facts.push_back({"peak_source", word(PeakSource::sampled)});
  }
  return set_facts("process", id, facts);
}

Status RunImport::finish_run() {
  Nullable first_ns;
  Nullable last_ns;
  for (const auto& [id, seen] : seen_) {
    if (seen.count == 0) continue;
    first_ns = std::min(first_ns.value_or(INT64_MAX), seen.first_ns);
    last_ns = max_known(last_ns, seen.last_ns);
  }
  const Result<Nullable> peak_bytes =
      database_->integer("SELECT max(peak_rss_bytes) FROM process WHERE run_id = ?", {Nullable(row_.id)});
  if (!peak_bytes) return peak_bytes.error();
  row_.values["peak_rss_bytes"] = *peak_bytes;
  if (has_run_facts_) return Ok{};
  row_.values["started_ns"] = Nullable(first_ns.value_or(started_ns_));
  row_.values["ended_ns"] = Nullable(last_ns.value_or(started_ns_));
  row_.values["interval_ns"] = Nullable(interval_ns());
  return Ok{};
}

}  // namespace memlog
