// SPDX-License-Identifier: Apache-2.0
#include "cli/wide_export.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "cli/progress_line.h"
#include "cli/wide_records.h"
#include "csv/columns.h"
#include "csv/sample_writer.h"
#include "model/columns.h"
#include "query/sample_stream.h"

namespace memlog {
namespace {

constexpr size_t kLineBytes = size_t{64} * 1024;  // collected before they are handed on

template <typename Columns>
std::string facts_sql(const std::string& table, const Columns& columns) {
  std::string names;
  for (const FactColumn& fact : columns) names += (names.empty() ? "" : ", ") + std::string(fact.column);
  return "SELECT " + names + " FROM " + table + " WHERE id = ?";
}

class WideExport {
 public:
  WideExport(Database& database, int64_t run_id, bool is_safe, OutputFile& file)
      : database_(database), run_id_(run_id), is_safe_(is_safe), file_(file) {}

  void write() {
    process_facts_ = or_die(database_.prepare(facts_sql("process", kProcessFacts)));
    run_facts_ = or_die(database_.prepare(facts_sql("run", kRunFacts)));
    lines_ = wide_header();
    write_samples();
    or_die(read_records(database_, run_id_, ids_, [&](const WideRecord& record) { write_record(record); }));
    if (row_count_ == 0) write_record({kRecordOfRun, {}, {}, "{}"});
    or_die(file_.write(lines_));
  }

 private:
  using Process = SampleStream::Process;

  void write_samples() {
    std::vector<std::string> columns;
    columns.reserve(kProcessColumns.size());
    for (const auto& column : kProcessColumns) columns.emplace_back(column.name);
    SampleStream stream = or_die(SampleStream::open(database_, run_id_, columns));
    for (const Process& process : stream.processes()) {
      ids_.push_back(process.id);
      numbers_[process.id] = static_cast<int64_t>(ids_.size());
    }
    has_facts_.resize(ids_.size());
    while (or_die(stream.next())) {
      const Process& process = stream.processes()[stream.process()];
      begin_row(stream.time_ns(), process.id, &process);
      for (size_t i = 0; i < columns.size(); ++i) add(stream.value(i));
      end_row(&process, {});
    }
    for (size_t i = 0; i < stream.processes().size(); ++i) {
      if (has_facts_[i]) continue;
      begin_row({}, stream.processes()[i].id, &stream.processes()[i]);
      lines_.append(columns.size(), ',');
      end_row(&stream.processes()[i], {});
    }
  }

  void write_record(const WideRecord& record) {
    begin_row(record.time_ns, record.process_id, nullptr);
    lines_.append(kProcessColumns.size(), ',');
    end_row(nullptr, record);
  }

  void add(Nullable value) {
    lines_ += ',';
    if (value.has_value()) append_integer(lines_, value.value());
  }
  void add(std::optional<std::string_view> text) {
    lines_ += ',';
    if (!text) return;
    if (text->empty()) lines_ += "\"\"";
    append_text_cell(lines_, *text, is_safe_);
  }
  Nullable number_of(Nullable process_id) const {
    const auto found = numbers_.find(process_id.value_or(0));
    return found == numbers_.end() ? Nullable() : Nullable(found->second);
  }

  void begin_row(Nullable time_ns, Nullable process_id, const Process* process) {
    if (time_ns.has_value()) time_.append(lines_, time_ns.value());
    add(time_ns);
    add(number_of(process_id));
    if (process == nullptr) return void(lines_ += ",,");
    add(Nullable(process->pid));
    add(std::optional<std::string_view>(process->name));
  }

  // What is known of the process in its first row, of the run in the file's first.
  void end_row(const Process* process, const WideRecord& record) {
    bool is_new = false;
    if (process != nullptr) {
      const auto index = static_cast<size_t>(numbers_.at(process->id)) - 1;
      is_new = !has_facts_[index];
      has_facts_[index] = true;
    }
    add(is_new ? number_of(process->parent_process_id) : Nullable());
    add_facts(process_facts_, kProcessFacts, is_new ? Nullable(process->id) : Nullable());
    add_facts(run_facts_, kRunFacts, row_count_ == 0 ? Nullable(run_id_) : Nullable());
    lines_.append(",").append(record.record).append(",");
    append_text_cell(lines_, record.fields, false);
    lines_ += "\r\n";
    if (progress_.wants_text(row_count_))
      progress_.set(fmt::format("exporting run {}: {} rows", run_id_, row_count_));
    ++row_count_;
    if (lines_.size() < kLineBytes) return;
    or_die(file_.write(lines_));
    lines_.clear();
  }

  template <typename Columns>
  void add_facts(Statement& statement, const Columns& columns, Nullable id) {
    if (id.has_value()) statement.bind(1, id);
    if (!id.has_value() || !or_die(statement.step())) return void(lines_.append(columns.size(), ','));
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto column = static_cast<int>(i);
      if (columns[i].kind == CellKind::integer) {
        add(statement.integer(column));
      } else {
        add(statement.text(column));
      }
    }
    statement.reset();
  }

  Database& database_;
  int64_t run_id_;
  bool is_safe_;
  OutputFile& file_;
  ProgressLine progress_;
  std::string lines_;
  TimestampWriter time_;
  std::vector<int64_t> ids_;  // of the processes, by their numbers in the file
  std::unordered_map<int64_t, int64_t> numbers_;
  std::vector<bool> has_facts_;
  int64_t row_count_ = 0;
  Statement process_facts_;
  Statement run_facts_;
};

}  // namespace

void export_wide(Database& database, int64_t run_id, bool is_safe, OutputFile& file) {
  WideExport(database, run_id, is_safe, file).write();
}

}  // namespace memlog
