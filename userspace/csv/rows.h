// SPDX-License-Identifier: Apache-2.0
// CsvRows: RFC 4180 text as rows of cells, in constant memory whatever the file's size.
//
// Lines end with LF or CRLF; a UTF-8 byte order mark is skipped, and so are blank lines. A cell in quotes may
// hold commas, doubled quotes and line ends. A row that breaks the rules (a NUL byte, a quote out of place, a
// lone CR, more than kMostRowBytes) is told as bad, and reading goes on after it: after a run of NUL bytes,
// else at the next line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memlog {

struct CsvCell {
  std::string_view text;   // without its quotes
  bool is_quoted = false;  // tells "" from nothing
};

class CsvRows {
 public:
  static constexpr size_t kMostRowBytes = size_t{1} << 20U;

  // Puts bytes into `space` and says how many; 0 at the end.
  using Source = std::function<Result<size_t>(std::span<char> space)>;
  explicit CsvRows(Source source) : source_(std::move(source)) {}

  enum class Found : uint8_t { row, bad, end };
  // The error is the source's own.
  Result<Found> next();

  // Of the row found; valid until the next.
  const std::vector<CsvCell>& cells() const { return cells_; }
  int64_t line() const { return line_; }                 // where it begins, from 1
  bool is_unended() const { return is_unended_; }        // the file's last line, without a line end
  const std::string& reason() const { return reason_; }  // of a bad one

 private:
  static constexpr size_t kNone = SIZE_MAX;

  Result<bool> more();
  Status begin();
  Result<size_t> find_line_end();
  Result<size_t> find_record_end();
  Result<Found> read_record(size_t line_end);
  Result<Found> skip_nuls(size_t at);
  Result<Found> skip_line(size_t line_end, std::string reason);
  bool split_plain(size_t length);
  bool split_quoted(size_t length);
  void consume(size_t length);
  char at(size_t offset) const { return buffer_[begin_ + offset]; }
  size_t size() const { return end_ - begin_; }

  Source source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not consumed
  size_t end_ = 0;    // of what was read
  bool is_at_end_ = false;
  bool has_begun_ = false;
  size_t pending_ = 0;             // length of the row that was given out
  bool is_pending_plain_ = false;  // it is one line
  int64_t next_line_ = 1;
  int64_t line_ = 1;
  bool is_unended_ = false;
  std::vector<CsvCell> cells_;
  std::string reason_;
};

}  // namespace memlog
