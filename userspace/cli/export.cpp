// SPDX-License-Identifier: Apache-2.0
// memlog export RUN --csv FILE: the samples of a run by time, as memory_logger.py writes them or with all
// that is stored.
#include <fmt/format.h>

#include <unordered_map>

#include "base/clock.h"
#include "base/output_file.h"
#include "base/talk.h"
#include "cli/commands.h"
#include "csv/columns.h"
#include "csv/sample_writer.h"
#include "model/columns.h"
#include "query/runs.h"
#include "query/sample_stream.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr size_t kLineBytes = size_t{64} * 1024;  // collected before they are handed on
constexpr int64_t kRowsALook = 16'384;

class ExportProgress {
 public:
  explicit ExportProgress(int64_t run_id) : run_id_(run_id) {}
  ~ExportProgress() { clear_status(); }
  ExportProgress(const ExportProgress&) = delete;
  ExportProgress& operator=(const ExportProgress&) = delete;
  void count_row() {
    if (++row_count_ % kRowsALook != 0 || !stderr_is_terminal()) return;
    const int64_t now_ns = boot_now_ns();
    if (now_ns - started_ns_ < kNsPerSecond || now_ns - shown_ns_ < kNsPerSecond / 5) return;
    shown_ns_ = now_ns;
    show_status(fmt::format("exporting run {}: {} rows", run_id_, row_count_));
  }

 private:
  int64_t run_id_;
  int64_t row_count_ = 0;
  int64_t started_ns_ = boot_now_ns();
  int64_t shown_ns_ = 0;
};

void put(OutputFile& file, std::string& lines, bool is_last) {
  if (!is_last && lines.size() < kLineBytes) return;
  or_die(file.write(lines));
  lines.clear();
}

void export_narrow(Database& database, int64_t run_id, bool is_safe, OutputFile& file) {
  SampleStream stream =
      or_die(SampleStream::open(database, run_id, {"rss_bytes", "swap_bytes", "oom_score"}));
  NarrowWriter writer(is_safe);
  ExportProgress progress(run_id);
  std::string lines = narrow_header();
  while (or_die(stream.next())) {
    const SampleStream::Process& process = stream.processes()[stream.process()];
    writer.append(lines, stream.time_ns(), process.pid, process.name, stream.value(0), stream.value(1),
                  stream.value(2));
    put(file, lines, false);
    progress.count_row();
  }
  put(file, lines, true);
}

// The wide file: see csv/columns.h.
class WideExport {
 public:
  WideExport(Database& database, int64_t run_id, bool is_safe, OutputFile& file)
      : database_(database), run_id_(run_id), is_safe_(is_safe), file_(file) {}

  void write() {
    std::vector<std::string> columns;
    columns.reserve(kProcessColumns.size());
    for (const auto& column : kProcessColumns) columns.emplace_back(column.name);
    SampleStream stream = or_die(SampleStream::open(database_, run_id_, columns));
    for (size_t i = 0; i < stream.processes().size(); ++i) numbers_[stream.processes()[i].id] = i;
    has_facts_.resize(stream.processes().size());
    process_facts_ = or_die(database_.prepare(facts_sql("process", kProcessFacts)));
    run_facts_ = or_die(database_.prepare(facts_sql("run", kRunFacts)));
    ExportProgress progress(run_id_);
    lines_ = wide_header();
    while (or_die(stream.next())) {
      begin_row(stream.processes()[stream.process()], stream.process(), stream.time_ns());
      for (size_t i = 0; i < columns.size(); ++i) add(stream.value(i));
      end_row(stream.processes()[stream.process()], stream.process());
      progress.count_row();
    }
    for (size_t i = 0; i < stream.processes().size(); ++i) {
      if (has_facts_[i]) continue;
      begin_row(stream.processes()[i], i, {});
      for (size_t column = 0; column < columns.size(); ++column) add(Nullable());
      end_row(stream.processes()[i], i);
    }
    put(file_, lines_, true);
  }

 private:
  template <typename Columns>
  static std::string facts_sql(const std::string& table, const Columns& columns) {
    std::string names;
    for (const FactColumn& fact : columns) names += (names.empty() ? "" : ", ") + std::string(fact.column);
    return "SELECT " + names + " FROM " + table + " WHERE id = ?";
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

  void begin_row(const SampleStream::Process& process, size_t index, Nullable time_ns) {
    if (time_ns.has_value()) time_.append(lines_, time_ns.value());
    add(time_ns);
    add(Nullable(static_cast<int64_t>(index) + 1));
    add(Nullable(process.pid));
    add(std::optional<std::string_view>(process.name));
  }

  // What is known of the process in its first row, of the run in the file's first.
  void end_row(const SampleStream::Process& process, size_t index) {
    const bool is_new = !has_facts_[index];
    has_facts_[index] = true;
    const auto parent = numbers_.find(process.parent_process_id.value_or(0));
    add(is_new && parent != numbers_.end() ? Nullable(static_cast<int64_t>(parent->second) + 1) : Nullable());
    add_facts(process_facts_, kProcessFacts, is_new ? Nullable(process.id) : Nullable());
    add_facts(run_facts_, kRunFacts, is_first_row_ ? Nullable(run_id_) : Nullable());
    is_first_row_ = false;
    lines_ += "\r\n";
    put(file_, lines_, false);
  }

  template <typename Columns>
  void add_facts(Statement& statement, const Columns& columns, Nullable id) {
    if (!id.has_value()) {
      lines_.append(columns.size(), ',');
      return;
    }
    statement.bind(1, id);
    if (!or_die(statement.step())) return lines_.append(columns.size(), ','), void();
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
  std::string lines_;
  TimestampWriter time_;
  std::unordered_map<int64_t, size_t> numbers_;
  std::vector<bool> has_facts_;
  bool is_first_row_ = true;
  Statement process_facts_;
  Statement run_facts_;
};

}  // namespace

int run_export(const ExportOptions& options) {
  Database database = or_die(open_for_reading(or_die(database_path(options.database))));
  const int64_t run_id = or_die(find_run(database, options.run));
  OutputFile file = or_die(OutputFile::create(options.csv));
  const Transaction snapshot = or_die(Transaction::begin_reading(database));
  if (options.wide) {
    WideExport(database, run_id, options.spreadsheet_safe, file).write();
  } else {
    export_narrow(database, run_id, options.spreadsheet_safe, file);
  }
  or_die(file.commit());
  return 0;
}

}  // namespace memlog
