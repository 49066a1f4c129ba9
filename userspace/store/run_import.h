// SPDX-License-Identifier: Apache-2.0
// RunImport: a run that comes from a file, with its processes, samples and roll-ups. Its own row is the caller's to
// insert, last: see store/import_session.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/records.h"
#include "store/database.h"
#include "store/import_session.h"
#include "store/rollup.h"

namespace memlog {

// A column of the table run or process and its value.
struct StoredFact {
  const char* column;
  SqlValue value;
};

class RunImport {
 public:
  // A run of this id, with `event_source` 'import' and the state 'ended'. `measured`: indexes into
  // kProcessColumns of what samples may have.
  static Result<RunImport> begin(Database& database, int64_t run_id, const RunStart& run,
                                 const std::vector<size_t>& measured);

  int64_t run_id() const { return row_.id; }
  // The row's id. The process ends 'unseen' at its last sample.
  Result<int64_t> add_process(int64_t pid, const std::string& name, int64_t first_seen_ns);
  // `values.key` does not count. Of two samples of one instant the later one stays.
  Status add_sample(int64_t process_id, const ProcessSample& values);
  // What all devices hold; of two at one instant the later one stays.
  Status add_device_total(const DeviceTotal& total);
  // Facts of the file's own, instead of what the samples tell. Their columns' names become SQL: they must not
  // come from a file.
  Status set_process_facts(int64_t process_id, const std::vector<StoredFact>& facts);
  void set_run_facts(const std::vector<StoredFact>& facts);
  Status set_parent(int64_t process_id, int64_t parent_process_id);
  // Series of which the caller has stored samples itself.
  RollupWriters& rollups() { return rollups_; }

  // Before each commit of the caller's: stores what is held back.
  Status flush();
  // Samples' spans, peaks and counts, the roll-ups that are still to build, and the run's interval: the
  // median step between the first instants. The row to insert.
  Result<RunRow> finish();

  int64_t sample_count() const { return sample_count_; }
  int64_t repeated_count() const { return repeated_count_; }  // directly following samples of one instant

 private:
  struct Seen {
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    int64_t latest_ns = INT64_MIN;  // of the sample before
    int64_t count = 0;
    bool has_facts = false;
    bool is_disordered = false;
    Nullable peak_bytes;
  };
  // Rows are inserted so many at once: a statement costs more than a row.
  static constexpr size_t kRowsAStatement = 16;

  RunImport() = default;
  Status prepare();
  Status insert_pending(Statement& statement, size_t row_count);
  Status flush_samples();
  Status set_facts(const char* table, int64_t id, const std::vector<StoredFact>& facts);
  Status finish_process(int64_t id, const Seen& seen);
  Status finish_run();
  int64_t interval_ns() const;

  Database* database_ = nullptr;
  RunRow row_;
  std::vector<size_t> measured_;
  Statement insert_process_;
  Statement insert_sample_;
  Statement insert_samples_;       // kRowsAStatement of them
  std::vector<Nullable> pending_;  // cells of the rows that are not inserted yet
  Statement insert_total_;
  RollupWriters rollups_;
  std::unordered_map<int64_t, Seen> seen_;
  std::pair<int64_t, Seen*> latest_{0, nullptr};
  int64_t started_ns_ = 0;
  bool has_run_facts_ = false;
  std::vector<int64_t> steps_ns_;
  int64_t instant_ns_ = INT64_MIN;
  int64_t sample_count_ = 0;
  int64_t repeated_count_ = 0;
};

}  // namespace memlog
