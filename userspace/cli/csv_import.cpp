// SPDX-License-Identifier: Apache-2.0
#include "cli/csv_import.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/invoking_user.h"
#include "base/text.h"
#include "cli/progress_line.h"
#include "cli/wide_records.h"
#include "csv/sample_reader.h"
#include "store/run_import.h"

namespace memlog {
namespace {

constexpr size_t kMostProblems = 5;
constexpr size_t kMostProcesses = 100'000;
constexpr int64_t kRowsALook = 256;  // how often the clock is looked at

// The size of a regular file, 0 for anything else.
int64_t file_size(const std::string& path) {
  struct stat status{};
  const bool is_file = path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? status.st_size : 0;
}

std::vector<StoredFact> stored_facts(const auto& columns, const auto& facts) {
  std::vector<StoredFact> stored;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (facts[i].integer.has_value()) stored.push_back({columns[i].column, facts[i].integer});
    if (facts[i].text) stored.push_back({columns[i].column, std::string_view(*facts[i].text)});
  }
  return stored;
}

class CsvImporter {
 public:
  CsvImporter(Database& database, int64_t run_id, const std::string& path, const CsvImportOptions& options,
              ImportSession* session)
      : database_(database),
        run_id_(run_id),
        path_(path),
        options_(options),
        session_(session),
        size_bytes_(file_size(path)) {}

  Result<CsvImport> import();

 private:
  Status begin();
  Status look_around(int64_t row_count);
  Status take(const CsvSample& sample);
  Status take_record(const CsvSample& sample);
  Status take_devices(const CsvSample& sample);
  Result<int64_t> process_of(const CsvSample& sample);
  Result<int64_t> new_process(const CsvSample& sample);
  Status take_process_facts(int64_t id);
  Status take_run_facts();
  Status set_parents();
  void add_notes();
  Status refuse_row();
  Error failed(const std::string& reason, const std::string& hint = "") const {
    return {"importing " + printable(path_), reason, hint};
  }

  Database& database_;
  int64_t run_id_;
  const std::string& path_;
  const CsvImportOptions& options_;
  ImportSession* session_;
  ProgressLine progress_;
  int64_t size_bytes_;
  int64_t bytes_read_ = 0;
  std::optional<SampleReader> reader_;
  std::optional<RunImport> run_;
  std::optional<RecordImport> records_;
  DeviceTotal devices_;  // of the latest instant that has any
  bool is_first_row_ = true;
  bool is_ended_run_ = false;  // a wide file says so
  CsvImport result_;
  std::unordered_map<int64_t, int64_t> by_number_;    // wide: the file's number to the row's id
  std::unordered_map<std::string, int64_t> by_name_;  // else: pid and name
  std::vector<std::pair<int64_t, int64_t>> parents_;  // row's id, parent's number
  // The process of the row before.
  int64_t latest_id_ = 0;
  int64_t latest_pid_ = 0;
  std::string latest_name_;
};

Status CsvImporter::begin() {
  Result<CsvRows::Source> source = csv_file_source(path_, &bytes_read_);
  if (!source) return source.error();
  Result<SampleReader> reader = SampleReader::open(*std::move(source), path_);
  if (!reader) return reader.error();
  reader_.emplace(*std::move(reader));
  RunStart start;
  start.label = options_.label;
  start.command = options_.command_line;
  start.target = path_ == "-" ? "stdin" : std::string(basename_of(path_));
  start.started_ns = wall_now_ns();
  start.uid = static_cast<int64_t>(invoking_user().uid);
  Result<RunImport> run = RunImport::begin(database_, run_id_, start, reader_->measured());
  if (!run) return run.error();
  run_.emplace(*std::move(run));
  records_.emplace(database_, run_id_, run_->rollups());
  return Ok{};
}

Result<CsvImport> CsvImporter::import() {
  if (const Status status = begin(); !status) return status.error();
  for (int64_t row_count = 0;; ++row_count) {
    if (row_count % kRowsALook == 0) {
      if (const Status status = look_around(row_count); !status) return status.error();
    }
    const Result<SampleReader::Found> found = reader_->next();
    if (!found) return found.error();
    if (*found == SampleReader::Found::end) break;
    Status status = Ok{};
    if (*found == SampleReader::Found::sample) status = take(reader_->sample());
    if (*found == SampleReader::Found::bad) status = refuse_row();
    // The program that wrote the file was killed in the middle of its last line.
    if (*found == SampleReader::Found::cut)
      result_.notes.push_back("the last line is cut off and was left out (" + reader_->problem() + ")");
    if (!status) return status.error();
  }
  progress_.set("ordering what was read");
  if (const Status status = set_parents(); !status) return failed(status.error().reason);
  Result<RunRow> row = run_->finish();
  if (!row) return failed(row.error().reason);
  result_.run = *std::move(row);
  result_.sample_count = run_->sample_count();
  add_notes();
  return result_;
}

Status CsvImporter::look_around(int64_t row_count) {
  if (progress_.wants_text(row_count)) {
    const std::string part =
        size_bytes_ > 0 ? fmt::format(", {} %", std::min<int64_t>(100, bytes_read_ * 100 / size_bytes_)) : "";
    progress_.set(fmt::format("reading {}: {} rows{}", path_ == "-" ? "stdin" : printable(basename_of(path_)),
                              row_count, part));
  }
  if (session_ == nullptr || !session_->is_due()) return Ok{};
  const Status flushed = run_->flush();
  return flushed ? session_->commit_part() : flushed;
}

Status CsvImporter::refuse_row() {
  if (!options_.is_lenient)
    return failed(reader_->problem(), "--lenient takes the rows that are whole and reports the others");
  ++result_.bad_count;
  if (result_.problems.size() < kMostProblems) result_.problems.push_back(reader_->problem());
  return Ok{};
}

Status CsvImporter::take(const CsvSample& sample) {
  const bool is_first = std::exchange(is_first_row_, false);
  if (is_first && reader_->is_wide()) {
    if (Status status = take_run_facts(); !status) return status;
  }
  if (!sample.record.empty()) return take_record(sample);
  if (sample.devices.device_count.has_value() || sample.devices.dram_bytes.has_value()) {
    if (Status status = take_devices(sample); !status) return status;
  }
  const Result<int64_t> id = process_of(sample);
  if (!id) return id.error();
  if (!sample.time_ns.has_value()) return Ok{};
  ProcessSample values = sample.values;
  values.time_ns = sample.time_ns.value();
  Status status = run_->add_sample(*id, values);
  if (!status) return failed(fmt::format("line {}: {}", reader_->line(), status.error().reason));
  return status;
}

Status CsvImporter::take_record(const CsvSample& sample) {
  if (sample.record == kRecordOfRun) return Ok{};
  Nullable process_id;
  if (sample.process.has_value()) {
    const auto found = by_number_.find(sample.process.value());
    if (found == by_number_.end())
      return failed(
          fmt::format("line {}: process {} has no row before", reader_->line(), sample.process.value()));
    process_id = found->second;
  }
  Status status = records_->add(sample.record, sample.time_ns, process_id, sample.fields);
  if (!status)
    return failed(fmt::format("{}: a record of '{}': {}", reader_->place_of_fields(),
                              printable(sample.record), printable(status.error().reason)));
  return status;
}

// The rows of several processes of one instant repeat what the devices hold.
Status CsvImporter::take_devices(const CsvSample& sample) {
  DeviceTotal total = sample.devices;
  total.time_ns = sample.time_ns.value_or(0);
  const bool is_told = devices_.time_ns == total.time_ns && devices_.device_count == total.device_count &&
                       devices_.dram_bytes == total.dram_bytes;
  if (is_told) return Ok{};
  devices_ = total;
  Status status = run_->add_device_total(total);
  if (!status) return failed(fmt::format("line {}: {}", reader_->line(), status.error().reason));
  return status;
}

Result<int64_t> CsvImporter::process_of(const CsvSample& sample) {
  if (reader_->is_wide()) {
    const auto found = by_number_.find(sample.process.value());
    if (found != by_number_.end()) return found->second;
    return new_process(sample);
  }
  if (latest_id_ != 0 && sample.pid == latest_pid_ && sample.process_name == latest_name_) return latest_id_;
  latest_pid_ = sample.pid;
  latest_name_ = sample.process_name;
  const std::string key = fmt::format("{} {}", sample.pid, sample.process_name);
  const auto found = by_name_.find(key);
  if (found != by_name_.end()) return latest_id_ = found->second;
  Result<int64_t> id = new_process(sample);
  if (!id) return id;
  by_name_.emplace(key, *id);
  return latest_id_ = *id;
}

Result<int64_t> CsvImporter::new_process(const CsvSample& sample) {
  if (++result_.process_count > static_cast<int64_t>(kMostProcesses))
    return failed(fmt::format("line {}: more than {} processes", reader_->line(), kMostProcesses));
  const std::string name =
      reader_->has_process_name() ? std::string(sample.process_name) : std::string(basename_of(path_));
  Result<int64_t> id = run_->add_process(sample.pid, name, sample.time_ns.value_or(0));
  if (!id) return failed(fmt::format("line {}: {}", reader_->line(), id.error().reason));
  if (!reader_->is_wide()) return id;
  by_number_.emplace(sample.process.value(), *id);
  if (sample.parent_process.has_value()) parents_.emplace_back(*id, sample.parent_process.value());
  if (const Status status = take_process_facts(*id); !status) return status.error();
  return id;
}

Status CsvImporter::take_process_facts(int64_t id) {
  std::array<CsvFact, kProcessFacts.size()> facts;
  if (!reader_->read_process_facts(facts)) return failed(reader_->problem());
  for (CsvFact& fact : facts) {
    if (fact.text) fact.text = valid_utf8(*fact.text);
  }
  std::vector<StoredFact> stored = stored_facts(kProcessFacts, facts);
  // It ran on when the file was written, in a run that had no end yet: what became of it is not known here.
  for (StoredFact& fact : stored) {
    if (is_ended_run_) break;
    const std::string_view* text = std::get_if<std::string_view>(&fact.value);
    if (text != nullptr && fact.column == std::string_view("end_reason") && *text == word(EndReason::running))
      fact.value = std::string_view(word(EndReason::unseen));
  }
  Status status = run_->set_process_facts(id, stored);
  if (!status) return failed(fmt::format("line {}: {}", reader_->line(), status.error().reason));
  return status;
}

Status CsvImporter::take_run_facts() {
  std::array<CsvFact, kRunFacts.size()> facts;
  if (!reader_->read_run_facts(facts)) return failed(reader_->problem());
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].text) facts[i].text = valid_utf8(*facts[i].text);
    if (options_.label && kRunFacts[i].column == std::string_view("label")) facts[i].text.reset();
  }
  std::vector<StoredFact> stored = stored_facts(kRunFacts, facts);
  if (stored.empty()) return Ok{};
  // It was being recorded when the file was written; its end is not known here.
  for (StoredFact& fact : stored) {
    const std::string_view* text = std::get_if<std::string_view>(&fact.value);
    if (text == nullptr || fact.column != std::string_view("state")) continue;
    is_ended_run_ = *text == word(RunState::ended);
    if (*text == word(RunState::running)) fact.value = std::string_view(word(RunState::interrupted));
    if (*text != word(RunState::running) && *text != word(RunState::ended) &&
        *text != word(RunState::interrupted))
      return failed(
          fmt::format("line {}: there is no state '{}' of a run", reader_->line(), printable(*text)));
  }
  run_->set_run_facts(stored);
  return Ok{};
}

Status CsvImporter::set_parents() {
  for (const auto& [id, number] : parents_) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) continue;
    if (const Status status = run_->set_parent(id, found->second); !status) return status;
  }
  return Ok{};
}

void CsvImporter::add_notes() {
  if (run_->repeated_count() > 0)
    result_.notes.push_back(fmt::format("{} rows repeat an instant of their process: the later row was kept",
                                        run_->repeated_count()));
  if (!reader_->ignored().empty())
    result_.notes.push_back(
        printable(fmt::format("these columns were left out: {}", fmt::join(reader_->ignored(), ", "))));
}

}  // namespace

Result<CsvImport> import_csv(Database& database, int64_t run_id, const std::string& path,
                             const CsvImportOptions& options, ImportSession* session) {
  return CsvImporter(database, run_id, path, options, session).import();
}

Result<Timeline> timeline_from_csv(const std::string& path, const TimelineRequest& request, bool is_lenient) {
  Result<Database> database = Database::open_private();
  if (!database) return database.error();
  Result<Transaction> transaction = Transaction::begin(*database);
  if (!transaction) return transaction.error();
  CsvImportOptions options;
  options.is_lenient = is_lenient;
  const Result<CsvImport> import = import_csv(*database, 1, path, options);
  if (!import) return import.error();
  Status status = import->run.insert(*database);
  if (status) status = transaction->commit();
  if (!status) return status.error();
  Result<Timeline> timeline = read_timeline(*database, 1, request);
  if (!timeline) return timeline.error();
  timeline->run_id = 0;
  timeline->source = path == "-" ? "stdin" : path;
  if (import->bad_count > 0)
    timeline->notes.push_back(fmt::format("{} lines of the file could not be read", import->bad_count));
  timeline->notes.insert(timeline->notes.end(), import->notes.begin(), import->notes.end());
  return timeline;
}

}  // namespace memlog
