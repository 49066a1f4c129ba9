// SPDX-License-Identifier: Apache-2.0
#include "cli/csv_import.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <unordered_map>

#include "base/clock.h"
#include "base/invoking_user.h"
#include "base/talk.h"
#include "base/text.h"
#include "csv/sample_reader.h"
#include "store/run_import.h"

namespace memlog {
namespace {

constexpr size_t kMostProblems = 5;
constexpr size_t kMostProcesses = 100'000;
constexpr int64_t kRowsALook = 16'384;  // how often the clock is looked at
constexpr int64_t kQuietNs = kNsPerSecond;
constexpr int64_t kStatusNs = 200 * kNsPerMs;

// A line about work that takes longer than a second.
class ImportProgress {
 public:
  explicit ImportProgress(const std::string& path) : name_(basename_of(path)) {
    struct stat status{};
    if (path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      size_bytes_ = status.st_size;
  }
  ~ImportProgress() { clear_status(); }
  ImportProgress(const ImportProgress&) = delete;
  ImportProgress& operator=(const ImportProgress&) = delete;

  int64_t* bytes_read() { return &bytes_read_; }
  void show(int64_t row_count) {
    if (row_count % kRowsALook != 0 || !stderr_is_terminal()) return;
    const int64_t now_ns = boot_now_ns();
    if (now_ns - started_ns_ < kQuietNs || now_ns - shown_ns_ < kStatusNs) return;
    shown_ns_ = now_ns;
    const std::string part =
        size_bytes_ > 0 ? fmt::format(", {} %", std::min<int64_t>(100, bytes_read_ * 100 / size_bytes_)) : "";
    show_status(fmt::format("reading {}: {} rows{}", printable(name_), row_count, part));
  }

 private:
  std::string name_;
  int64_t size_bytes_ = 0;
  int64_t bytes_read_ = 0;
  int64_t started_ns_ = boot_now_ns();
  int64_t shown_ns_ = 0;
};

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
  CsvImporter(Database& database, const std::string& path, const CsvImportOptions& options)
      : database_(database), path_(path), options_(options), progress_(path) {}

  Result<CsvImport> import();

 private:
  Status begin();
  Status take(const CsvSample& sample);
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
  const std::string& path_;
  const CsvImportOptions& options_;
  ImportProgress progress_;
  std::optional<SampleReader> reader_;
  std::optional<RunImport> run_;
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
  Result<CsvRows::Source> source = csv_file_source(path_, progress_.bytes_read());
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
  Result<RunImport> run = RunImport::begin(database_, start, reader_->measured());
  if (!run) return run.error();
  run_.emplace(*std::move(run));
  result_.run_id = run_->run_id();
  return Ok{};
}

Result<CsvImport> CsvImporter::import() {
  if (const Status status = begin(); !status) return status.error();
  for (int64_t row_count = 0;; ++row_count) {
    progress_.show(row_count);
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
  Status status = set_parents();
  if (status) status = run_->finish();
  if (!status) return failed(status.error().reason);
  result_.sample_count = run_->sample_count();
  add_notes();
  return result_;
}

Status CsvImporter::refuse_row() {
  if (!options_.is_lenient)
    return failed(reader_->problem(), "--lenient takes the rows that are whole and reports the others");
  ++result_.bad_count;
  if (result_.problems.size() < kMostProblems) result_.problems.push_back(reader_->problem());
  return Ok{};
}

Status CsvImporter::take(const CsvSample& sample) {
  const Result<int64_t> id = process_of(sample);
  if (!id) return id.error();
  if (!sample.time_ns.has_value()) return Ok{};
  ProcessSample values = sample.values;
  values.time_ns = sample.time_ns.value();
  Status status = run_->add_sample(*id, values);
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
  Status status = take_process_facts(*id);
  if (status && result_.process_count == 1) status = take_run_facts();
  if (!status) return failed(status.error().reason);
  return id;
}

Status CsvImporter::take_process_facts(int64_t id) {
  std::array<CsvFact, kProcessFacts.size()> facts;
  if (!reader_->read_process_facts(facts)) return failed(reader_->problem());
  for (CsvFact& fact : facts) {
    if (fact.text) fact.text = valid_utf8(*fact.text);
  }
  std::vector<StoredFact> stored = stored_facts(kProcessFacts, facts);
  // It ran on when the file was written; what became of it is not known here.
  for (StoredFact& fact : stored) {
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
  const std::vector<StoredFact> stored = stored_facts(kRunFacts, facts);
  if (stored.empty()) return Ok{};
  Status status = run_->set_run_facts(stored);
  if (!status) return failed(fmt::format("line {}: {}", reader_->line(), status.error().reason));
  return status;
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

Result<CsvImport> import_csv(Database& database, const std::string& path, const CsvImportOptions& options) {
  return CsvImporter(database, path, options).import();
}

Result<Timeline> timeline_from_csv(const std::string& path, const TimelineRequest& request, bool is_lenient) {
  Result<Database> database = Database::open_private();
  if (!database) return database.error();
  Result<Transaction> transaction = Transaction::begin(*database);
  if (!transaction) return transaction.error();
  CsvImportOptions options;
  options.is_lenient = is_lenient;
  const Result<CsvImport> import = import_csv(*database, path, options);
  if (!import) return import.error();
  if (const Status status = transaction->commit(); !status) return status.error();
  Result<Timeline> timeline = read_timeline(*database, import->run_id, request);
  if (!timeline) return timeline.error();
  timeline->run_id = 0;
  timeline->source = path == "-" ? "stdin" : path;
  if (import->bad_count > 0)
    timeline->notes.push_back(fmt::format("{} lines of the file could not be read", import->bad_count));
  timeline->notes.insert(timeline->notes.end(), import->notes.begin(), import->notes.end());
  return timeline;
}

}  // namespace memlog
