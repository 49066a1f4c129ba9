// SPDX-License-Identifier: Apache-2.0
#include "query/sample_stream.h"

#include <algorithm>

namespace memlog {

Result<SampleStream> SampleStream::open(Database& database, int64_t run_id,
                                        const std::vector<std::string>& columns, const Window& window) {
  SampleStream stream;
  stream.window_ = window;
  stream.database_ = &database;
  stream.sql_ = "SELECT time_ns";
  for (const std::string& column : columns) stream.sql_ += ", " + column;
  stream.sql_ += " FROM process_sample WHERE process_id = ? AND time_ns BETWEEN ? AND ? ORDER BY time_ns";
  const Status status = database.each(
      "SELECT id, pid, name, parent_process_id, (SELECT min(time_ns) FROM process_sample WHERE process_id = "
      "process.id AND time_ns BETWEEN ?2 AND ?3) AS first_ns FROM process WHERE run_id = ?1 "
      "ORDER BY first_ns NULLS LAST, id",
      {Nullable(run_id), Nullable(window.from_ns), Nullable(window.to_ns)}, [&](const Statement& row) {
        stream.processes_.push_back({row.integer(0).value_or(0), row.integer(1).value_or(0), row.text_or(2),
                                     row.integer(3), row.integer(4)});
      });
  if (!status) return status.error();
  return stream;
}

Result<bool> SampleStream::step(Cursor& cursor) const {
  const Result<bool> row = cursor.samples.step();
  if (row && *row) cursor.time_ns = cursor.samples.integer(0).value_or(0);
  return row;
}

void SampleStream::put(std::unique_ptr<Cursor> cursor) {
  heap_.push_back(std::move(cursor));
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

std::unique_ptr<SampleStream::Cursor> SampleStream::take() {
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  std::unique_ptr<Cursor> cursor = std::move(heap_.back());
  heap_.pop_back();
  return cursor;
}

// Opens the cursors of the processes whose first sample is not later than what comes next.
Status SampleStream::begin_processes() {
  while (next_process_ < processes_.size() && processes_[next_process_].first_ns.has_value() &&
         (heap_.empty() || processes_[next_process_].first_ns.value() <= heap_.front()->time_ns)) {
    auto cursor = std::make_unique<Cursor>();
    cursor->process = next_process_;
    if (spare_.empty()) {
      Result<Statement> prepared = database_->prepare(sql_);
      if (!prepared) return prepared.error();
      cursor->samples = *std::move(prepared);
    } else {
      cursor->samples = std::move(spare_.back());
      spare_.pop_back();
    }
    cursor->samples.bind(1, processes_[next_process_].id);
    cursor->samples.bind(2, window_.from_ns);
    cursor->samples.bind(3, window_.to_ns);
    ++next_process_;
    const Result<bool> row = step(*cursor);
    if (!row) return row.error();
    if (*row) put(std::move(cursor));
  }
  return Ok{};
}

Result<bool> SampleStream::next() {
  if (current_ != nullptr) {
    const Result<bool> row = step(*current_);
    if (!row) return row.error();
    if (*row) {
      put(std::move(current_));
    } else {
      spare_.push_back(std::move(current_->samples));
      current_.reset();
    }
  }
  if (const Status status = begin_processes(); !status) return status.error();
  if (heap_.empty()) return false;
  current_ = take();
  return true;
}

}  // namespace memlog
