// SPDX-License-Identifier: Apache-2.0
// SampleReader: the samples in a CSV file of memory_logger.py or memlog (see csv/columns.h), one by one.
//
// Columns are found by their names. What is wrong with a row is told with its line, column and value; the
// caller decides whether to go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "csv/columns.h"
#include "csv/rows.h"
#include "model/records.h"

namespace memlog {

// A cell of kProcessFacts or kRunFacts: NULL where neither is set.
struct CsvFact {
  Nullable integer;
  std::optional<std::string> text;
};

struct CsvSample {
  Nullable time_ns;  // NULL: a process without samples (wide files only)
  int64_t pid = 0;
  std::string_view process_name;  // valid until the next row
  ProcessSample values;           // key and time_ns are not set
  DeviceTotal devices;            // of memory_logger.py's dram columns; time_ns is not set
  // Wide files only:
  Nullable process;  // its number in the file
  Nullable parent_process;
  std::string_view record;  // the table that the row belongs to; empty: a sample. Valid until the next row
  std::string_view fields;  // JSON, of a record
};

class SampleReader {
 public:
  // Reads the header. `name` is the file's name in errors.
  static Result<SampleReader> open(CsvRows::Source source, const std::string& name);

  enum class Found : uint8_t {
    sample,
    bad,  // problem() tells why
    cut,  // the last line of the file, which ends in its middle; problem() tells where
    end
  };
  Result<Found> next();

  const CsvSample& sample() const { return sample_; }
  int64_t line() const { return rows_.line(); }
  const std::string& problem() const { return problem_; }  // "line 7, column 4 (rss_bytes): ..."

  bool is_wide() const { return is_wide_; }
  bool has_process_name() const { return has_process_name_; }
  bool has_devices() const { return has_devices_; }  // memory_logger.py's dram columns
  // "line 7, column 90 (fields)": where a record's fields are, for errors about them.
  std::string place_of_fields() const;
  // Indexes into kProcessColumns of what the file can hold.
  const std::vector<size_t>& measured() const { return measured_; }
  // Columns that say something which memlog does not take over.
  const std::vector<std::string>& ignored() const { return ignored_; }

  // Of the row that was read last, in the order of kProcessFacts and kRunFacts. False: a cell is bad, see
  // problem().
  bool read_process_facts(std::array<CsvFact, kProcessFacts.size()>& facts);
  bool read_run_facts(std::array<CsvFact, kRunFacts.size()>& facts);

 private:
  enum class Role : uint8_t {
    ignored,
    timestamp,
    time_ns,
    pid,
    process_name,
    measure,
    rss_mib,
    swap_mib,
    process,
    parent_process,
    process_fact,
    run_fact,
    record,
    fields,
    dram
  };
  struct Column {
    std::string name;
    Role role = Role::ignored;
    size_t index = 0;  // into kProcessColumns, kProcessFacts, kRunFacts or kDramColumns
  };

  explicit SampleReader(CsvRows rows) : rows_(std::move(rows)) {}
  Status read_header(const std::string& name);
  Column recognise(std::string_view text) const;
  Status check_header(const std::string& name);
  bool has(Role role) const;
  bool has_measure(std::string_view name) const;
  bool parse_row();
  bool parse_dram(size_t column, std::string_view text);
  bool parse_cell(size_t column, const CsvCell& cell);
  bool parse_number(size_t column, std::string_view text, int64_t least, int64_t most, Nullable& value);
  bool parse_mib(size_t column, std::string_view text, Nullable& value);
  bool parse_fact(size_t column, const FactColumn& fact, CsvFact& value);
  bool refuse(size_t column, std::string_view value, std::string_view reason);

  CsvRows rows_;
  std::vector<Column> columns_;
  std::vector<size_t> measured_;
  std::vector<std::string> ignored_;
  bool is_wide_ = false;
  bool has_process_name_ = false;
  bool has_devices_ = false;
  Nullable dram_mean_bytes_;  // of the row that is being parsed
  CsvSample sample_;
  std::string problem_;
};

// A source that reads the file at `path`; "-" is stdin. The error names it.
Result<CsvRows::Source> csv_file_source(const std::string& path, int64_t* bytes_read = nullptr);

}  // namespace memlog
