// SPDX-License-Identifier: Apache-2.0
#include "store/rollup.h"

#include <algorithm>

#include "store/row_ids.h"

namespace memlog {
namespace {

// b - a without overflow; what is stored is added back the same way.
int64_t distance(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
}

std::string insert_sql(const RollupTable& table) {
  std::string names = table.key + ", level, begin_ns, span_ns, longest_step_ns";
  std::string marks = "?, ?, ?, ?, ?";
  for (const std::string& column : table.columns) {
    for (const char* part : {"_min", "_range", "_mean", "_last"}) {
      names += ", " + column + part;
      marks += ", ?";
    }
  }
  return "INSERT INTO " + table.rollup + " (" + names + ") VALUES (" + marks + ")";
}

std::string select_sql(const RollupTable& table) {
  std::string names = "time_ns";
  for (const std::string& column : table.columns) names += ", " + column;
  return "SELECT " + names + " FROM " + table.samples + " WHERE " + table.key + " = ? ORDER BY time_ns";
}

}  // namespace

Result<RollupWriter> RollupWriter::prepare(Database& database, const RollupTable& table) {
  RollupWriter writer;
  writer.column_count_ = table.columns.size();
  Result<Statement> insert = database.prepare(insert_sql(table));
  if (!insert) return insert.error();
  writer.insert_ = *std::move(insert);
  Result<Statement> remove = database.prepare("DELETE FROM " + table.rollup + " WHERE " + table.key + " = ?");
  if (!remove) return remove.error();
  writer.delete_ = *std::move(remove);
  Result<Statement> select = database.prepare(select_sql(table));
  if (!select) return select.error();
  writer.select_samples_ = *std::move(select);
  return writer;
}

RollupWriter::Series& RollupWriter::touch(int64_t key) {
  Series& series = series_[key];
  if (series.batch != batch_) {
    before_.emplace(key, series);
    series.batch = batch_;
  }
  return series;
}

Status RollupWriter::add(int64_t key, int64_t time_ns, std::span<const Nullable> values) {
  Series& series = touch(key);
  if (series.is_disordered) return Ok{};
  if (time_ns > series.last_ns) return extend(key, series, time_ns, values);
  series.is_disordered = true;
  series.levels.clear();
  disordered_.insert(key);
  return delete_.run(key);
}

Status RollupWriter::extend(int64_t key, Series& series, int64_t time_ns, std::span<const Nullable> values) {
  series.last_ns = time_ns;
  Span part;
  part.begin_ns = part.end_ns = time_ns;
  for (size_t i = 0; i < column_count_; ++i) {
    if (!values[i].has_value()) continue;
    const int64_t value = values[i].value();
    part.measures[i] = {value, value, value, 1, value};
  }
  for (int level = 1;; ++level) {
    if (series.levels.size() < static_cast<size_t>(level)) series.levels.emplace_back();
    Span& filling = series.levels[static_cast<size_t>(level) - 1];
    absorb(filling, part);
    if (filling.part_count < (level == 1 ? kRollupBase : kRollupGrowth)) return Ok{};
    if (const Status status = insert(key, level, filling); !status) return status;
    part = filling;
    filling = Span();
    if (level == kRollupMostLevels) return Ok{};
  }
}

void RollupWriter::absorb(Span& whole, const Span& part) const {
  if (whole.part_count == 0) {
    whole.begin_ns = part.begin_ns;
  } else {
    whole.longest_step_ns = std::max(whole.longest_step_ns, distance(whole.end_ns, part.begin_ns));
  }
  whole.longest_step_ns = std::max(whole.longest_step_ns, part.longest_step_ns);
  whole.end_ns = part.end_ns;
  ++whole.part_count;
  for (size_t i = 0; i < column_count_; ++i) {
    const Measure& from = part.measures[i];
    if (from.known_count == 0) continue;
    Measure& into = whole.measures[i];
    into.min = into.known_count == 0 ? from.min : std::min(into.min, from.min);
    into.max = into.known_count == 0 ? from.max : std::max(into.max, from.max);
    into.last = from.last;
    into.sum += from.mean();
    ++into.known_count;
  }
}

Status RollupWriter::insert(int64_t key, int level, const Span& span) {
  insert_.bind(1, key);
  insert_.bind(2, static_cast<int64_t>(level));
  insert_.bind(3, span.begin_ns);
  insert_.bind(4, distance(span.begin_ns, span.end_ns));
  insert_.bind(5, span.longest_step_ns);
  int index = 5;
  for (size_t i = 0; i < column_count_; ++i) {
    const Measure& measure = span.measures[i];
    const bool is_known = measure.known_count > 0;
    insert_.bind(++index, is_known ? Nullable(measure.min) : Nullable());
    for (const int64_t value : {measure.max, is_known ? measure.mean() : 0, measure.last})
      insert_.bind(++index, is_known ? Nullable(distance(measure.min, value)) : Nullable());
  }
  return insert_.run();
}

void RollupWriter::commit() {
  ++batch_;
  before_.clear();
  ended_.insert(ended_.end(), ended_now_.begin(), ended_now_.end());
  ended_now_.clear();
  while (ended_.size() > RowIds::kKeptEnds) {
    series_.erase(ended_.front());
    ended_.pop_front();
  }
}

void RollupWriter::roll_back() {
  ++batch_;
  for (auto& [key, series] : before_) {
    if (series.is_disordered) {
      disordered_.insert(key);
    } else {
      disordered_.erase(key);
    }
    series_[key] = std::move(series);
  }
  before_.clear();
  ended_now_.clear();
}

Status RollupWriter::rebuild_disordered() {
  for (const int64_t key : disordered_) {
    if (const Status status = rebuild(key); !status) return status;
  }
  disordered_.clear();
  return Ok{};
}

Status RollupWriter::rebuild(int64_t key) {
  Series series;
  std::array<Nullable, kRollupMostColumns> values;
  select_samples_.bind(1, key);
  while (true) {
    const Result<bool> row = select_samples_.step();
    if (!row) return row.error();
    if (!*row) break;
    for (size_t i = 0; i < column_count_; ++i) values[i] = select_samples_.integer(static_cast<int>(i) + 1);
    const Status status = extend(key, series, select_samples_.integer(0).value_or(0), values);
    if (status) continue;
    select_samples_.reset();
    return status;
  }
  touch(key) = series;
  return Ok{};
}

Status RollupWriters::prepare(Database& database) {
  for (const auto& [writer, table] : {std::pair{&process, process_rollup_table()},
                                      {&host, host_rollup_table()},
                                      {&cgroup, cgroup_rollup_table()},
                                      {&device, device_rollup_table()},
                                      {&device_total, device_total_rollup_table()}}) {
    Result<RollupWriter> prepared = RollupWriter::prepare(database, table);
    if (!prepared) return prepared.error();
    *writer = *std::move(prepared);
  }
  return Ok{};
}

void RollupWriters::commit() {
  for (RollupWriter* writer : all()) writer->commit();
}

void RollupWriters::roll_back() {
  for (RollupWriter* writer : all()) writer->roll_back();
}

Status RollupWriters::rebuild_disordered() {
  for (RollupWriter* writer : all()) {
    if (const Status status = writer->rebuild_disordered(); !status) return status;
  }
  return Ok{};
}

}  // namespace memlog
