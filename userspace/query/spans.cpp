// SPDX-License-Identifier: Apache-2.0
#include "query/spans.h"

#include <fmt/format.h>

#include <algorithm>

namespace memlog {
namespace {

// How many steps typical_step_ns() looks at, and how few tell nothing.
constexpr int kFirstSamples = 65;
constexpr size_t kLeastSteps = 8;

int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

Result<SpanReader> SpanReader::prepare(Database& database, const RollupTable& table,
                                       const std::vector<std::string>& columns) {
  std::string row_columns = "begin_ns, span_ns, longest_step_ns";
  std::string sample_columns = "time_ns";
  for (const std::string& column : columns) {
    for (const char* part : {"_min", "_range", "_mean", "_last"}) row_columns += ", " + column + part;
    sample_columns += ", " + column;
  }
  SpanReader reader;
  reader.column_count_ = columns.size();
  const std::string samples = " FROM " + table.samples + " WHERE " + table.key + " = ?1 ";
  const std::string rows = " FROM " + table.rollup + " WHERE " + table.key + " = ?1 ";
  for (const auto& [statement, sql] : {
           std::pair<Statement*, std::string>{
               &reader.select_rows_,
               fmt::format("SELECT {}{}AND level = ?2 AND begin_ns BETWEEN ?3 AND ?4 ORDER BY begin_ns",
                           row_columns, rows)},
           {&reader.select_samples_, fmt::format("SELECT {}{}AND time_ns BETWEEN ?2 AND ?3 ORDER BY time_ns",
                                                 sample_columns, samples)},
           {&reader.select_top_, "SELECT level" + rows + "ORDER BY level DESC LIMIT 1"},
           {&reader.select_first_, "SELECT time_ns" + samples + "ORDER BY time_ns LIMIT ?2"},
       }) {
    Result<Statement> prepared = database.prepare(sql);
    if (!prepared) return prepared.error();
    *statement = *std::move(prepared);
  }
  return reader;
}

Result<int> SpanReader::top_level(int64_t key) {
  select_top_.bind(1, key);
  const Result<bool> row = select_top_.step();
  if (!row) return row.error();
  const int64_t level = *row ? select_top_.integer(0).value_or(0) : 0;
  select_top_.reset();
  return static_cast<int>(std::clamp<int64_t>(level, 0, kRollupMostLevels));
}

Status SpanReader::read(int64_t key, int level, int64_t from_ns, int64_t to_ns, int64_t split_ns,
                        const SpanSink& sink) {
  splits_left_ = kMostSplits;
  return read_level(key, level, from_ns, to_ns, split_ns, sink);
}

Status SpanReader::read_level(int64_t key, int level, int64_t from_ns, int64_t to_ns, int64_t split_ns,
                              const SpanSink& sink) {
  if (from_ns > to_ns) return Ok{};
  if (level == 0) return read_samples(key, from_ns, to_ns, sink);
  const Result<std::vector<Span>> rows = read_rows(key, level, from_ns, to_ns);
  if (!rows) return rows.error();
  if (rows->empty()) return read_level(key, level - 1, from_ns, to_ns, split_ns, sink);
  Status status = read_level(key, level - 1, from_ns, rows->front().begin_ns - 1, split_ns, sink);
  for (const Span& row : *rows) {
    if (!status) return status;
    if (row.longest_step_ns <= split_ns || splits_left_ == 0) {
      sink(row);
    } else {
      --splits_left_;
      status = read_level(key, level - 1, row.begin_ns, row.end_ns, split_ns, sink);
    }
  }
  if (!status) return status;
  return read_level(key, level - 1, rows->back().end_ns + 1, to_ns, split_ns, sink);
}

Result<std::vector<Span>> SpanReader::read_rows(int64_t key, int level, int64_t from_ns, int64_t to_ns) {
  std::vector<Span> rows;
  select_rows_.bind(1, key);
  select_rows_.bind(2, static_cast<int64_t>(level));
  select_rows_.bind(3, from_ns);
  select_rows_.bind(4, to_ns);
  while (true) {
    const Result<bool> has_row = select_rows_.step();
    if (!has_row) return has_row.error();
    if (!*has_row) return rows;
    Span& row = rows.emplace_back();
    row.begin_ns = select_rows_.integer(0).value_or(0);
    row.end_ns = add(row.begin_ns, select_rows_.integer(1).value_or(0));
    row.longest_step_ns = select_rows_.integer(2).value_or(0);
    row.sample_count = rollup_samples(level);
    if (row.end_ns > to_ns || row.end_ns < row.begin_ns) {
      rows.pop_back();
      select_rows_.reset();
      return rows;
    }
    int column = 2;
    for (size_t i = 0; i < column_count_; ++i, column += 4) {
      const Nullable min = select_rows_.integer(column + 1);
      if (!min.has_value()) continue;
      const auto above_min = [&](int offset) {
        return add(min.value(), select_rows_.integer(column + offset).value_or(0));
      };
      row.measures[i] = {true, min.value(), above_min(2), above_min(3), above_min(4)};
    }
  }
}

Status SpanReader::read_samples(int64_t key, int64_t from_ns, int64_t to_ns, const SpanSink& sink) {
  select_samples_.bind(1, key);
  select_samples_.bind(2, from_ns);
  select_samples_.bind(3, to_ns);
  while (true) {
    const Result<bool> has_row = select_samples_.step();
    if (!has_row) return has_row.error();
    if (!*has_row) return Ok{};
    Span span;
    span.begin_ns = span.end_ns = select_samples_.integer(0).value_or(0);
    for (size_t i = 0; i < column_count_; ++i) {
      const Nullable value = select_samples_.integer(static_cast<int>(i) + 1);
      if (value.has_value())
        span.measures[i] = {true, value.value(), value.value(), value.value(), value.value()};
    }
    sink(span);
  }
}

Result<int64_t> SpanReader::find_peak(int64_t key, Span span, size_t index) {
  const int64_t peak = span.measures[index].max;
  while (span.sample_count > 1) {
    int level = 0;
    while (rollup_samples(level + 1) < span.sample_count) ++level;
    bool is_found = false;
    const Span whole = span;
    const Status status = read(key, level, whole.begin_ns, whole.end_ns, INT64_MAX, [&](const Span& part) {
      if (is_found || !part.measures[index].is_known || part.measures[index].max < peak) return;
      is_found = true;
      span = part;
    });
    if (!status) return status.error();
    if (!is_found || span.sample_count >= whole.sample_count) break;
  }
  return span.begin_ns;
}

Result<int64_t> SpanReader::typical_step_ns(int64_t key) {
  std::vector<int64_t> steps;
  Nullable before;
  select_first_.bind(1, key);
  select_first_.bind(2, static_cast<int64_t>(kFirstSamples));
  while (true) {
    const Result<bool> has_row = select_first_.step();
    if (!has_row) return has_row.error();
    if (!*has_row) break;
    const int64_t time_ns = select_first_.integer(0).value_or(0);
    if (before.has_value()) steps.push_back(time_ns - before.value());
    before = time_ns;
  }
  if (steps.size() < kLeastSteps) return 0;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace memlog
