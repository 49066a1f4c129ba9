// SPDX-License-Identifier: Apache-2.0
#include "csv/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace memlog {
namespace {

constexpr size_t kChunkBytes = size_t{256} * 1024;

}  // namespace

// Reads on; false at the end. Offsets from begin_ stay right, pointers do not.
Result<bool> CsvRows::more() {
  if (is_at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kChunkBytes) buffer_.resize(end_ + kChunkBytes);
  const Result<size_t> got = source_(std::span(buffer_).subspan(end_));
  if (!got) return got.error();
  is_at_end_ = *got == 0;
  end_ += *got;
  return !is_at_end_;
}

Status CsvRows::begin() {
  has_begun_ = true;
  while (size() < 3) {
    const Result<bool> got = more();
    if (!got) return got.error();
    if (!*got) return Ok{};
  }
  if (std::memcmp(buffer_.data(), "\xEF\xBB\xBF", 3) == 0) begin_ += 3;
  return Ok{};
}

void CsvRows::consume(size_t length) {
  next_line_ += std::count(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                           buffer_.begin() + static_cast<std::ptrdiff_t>(begin_ + length), '\n');
  begin_ += length;
}

// The offset of the first line end; kNone where the file or what a row may have ends before.
Result<size_t> CsvRows::find_line_end() {
  size_t searched = 0;
  while (true) {
    const void* found = size() == searched
                            ? nullptr
                            : std::memchr(buffer_.data() + begin_ + searched, '\n', size() - searched);
    if (found != nullptr)
      return static_cast<size_t>(static_cast<const char*>(found) - (buffer_.data() + begin_));
    searched = size();
    if (searched > kMostRowBytes) return kNone;
    const Result<bool> got = more();
    if (!got) return got.error();
    if (!*got) return kNone;
  }
}

// The same for a row with quotes, whose cells may hold line ends.
Result<size_t> CsvRows::find_record_end() {
  bool is_inside = false;
  for (size_t offset = 0;; ++offset) {
    if (offset == size()) {
      if (offset > kMostRowBytes) return kNone;
      const Result<bool> got = more();
      if (!got) return got.error();
      if (!*got) return is_inside ? kNone : size();
    }
    const char c = at(offset);
    if (c == '"') is_inside = !is_inside;
    if (c == '\n' && !is_inside) return offset;
  }
}

Result<CsvRows::Found> CsvRows::next() {
  if (!has_begun_) {
    if (const Status status = begin(); !status) return status.error();
  }
  if (is_pending_plain_) {
    begin_ += pending_;
    ++next_line_;
  } else {
    consume(pending_);
  }
  pending_ = 0;
  is_pending_plain_ = false;
  while (true) {
    const Result<size_t> line_end = find_line_end();
    if (!line_end) return line_end.error();
    if (size() == 0) return Found::end;
    const bool is_blank = *line_end == 0 || (*line_end == 1 && at(0) == '\r');
    if (!is_blank) return read_record(*line_end);
    consume(*line_end + 1);
  }
}

Result<CsvRows::Found> CsvRows::read_record(size_t line_end) {
  line_ = next_line_;
  is_unended_ = line_end == kNone && is_at_end_;
  const size_t line_length = std::min(line_end, size());
  if (line_end == kNone && !is_at_end_) {
    const void* nul = std::memchr(buffer_.data() + begin_, '\0', size());
    if (nul != nullptr)
      return skip_nuls(static_cast<size_t>(static_cast<const char*>(nul) - (buffer_.data() + begin_)));
    return skip_line(kNone, fmt::format("a line of more than {} bytes", kMostRowBytes));
  }
  if (split_plain(line_length)) {
    pending_ = std::min(line_length + 1, size());
    is_pending_plain_ = true;
    return Found::row;
  }
  const char* start = buffer_.data() + begin_;
  if (const void* nul = std::memchr(start, '\0', line_length); nul != nullptr)
    return skip_nuls(static_cast<size_t>(static_cast<const char*>(nul) - start));
  if (std::memchr(start, '"', line_length) == nullptr)
    return skip_line(line_end, "a carriage return inside the line");
  const Result<size_t> record_end = find_record_end();
  if (!record_end) return record_end.error();
  if (*record_end == kNone) return skip_line(line_end, "a quote that is not closed");
  is_unended_ = *record_end == size();
  if (std::memchr(buffer_.data() + begin_, '\0', *record_end) != nullptr)
    return skip_line(line_end, "a NUL byte inside quotes");
  if (!split_quoted(*record_end)) return skip_line(line_end, "a quote in the middle of a cell");
  pending_ = std::min(*record_end + 1, size());
  return Found::row;
}

Result<CsvRows::Found> CsvRows::skip_nuls(size_t at_offset) {
  consume(at_offset);
  size_t count = 0;
  while (true) {
    while (size() > 0 && at(0) == '\0') {
      ++begin_;
      ++count;
    }
    if (size() > 0) break;
    const Result<bool> got = more();
    if (!got) return got.error();
    if (!*got) break;
  }
  is_unended_ = false;
  reason_ = count == 1 ? "a NUL byte" : fmt::format("{} NUL bytes", count);
  return Found::bad;
}

Result<CsvRows::Found> CsvRows::skip_line(size_t line_end, std::string reason) {
  reason_ = std::move(reason);
  while (line_end == kNone) {
    consume(size());
    const Result<bool> got = more();
    if (!got) return got.error();
    if (!*got) return Found::bad;
    const void* found = std::memchr(buffer_.data() + begin_, '\n', size());
    if (found != nullptr)
      line_end = static_cast<size_t>(static_cast<const char*>(found) - (buffer_.data() + begin_));
  }
  pending_ = line_end + 1;
  return Found::bad;
}

// Most rows have nothing special: cells are what lies between the commas. false: something is special.
bool CsvRows::split_plain(size_t length) {
  const char* const start = buffer_.data() + begin_;
  const char* const end = length > 0 && start[length - 1] == '\r' ? start + length - 1 : start + length;
  // Rows have as many cells as the row before, nearly always: the vector's own bookkeeping is for the others.
  size_t count = 0;
  const auto put = [&](const char* from, const char* to) {
    const CsvCell cell{std::string_view(from, static_cast<size_t>(to - from)), false};
    if (count < cells_.size()) {
      cells_[count] = cell;
    } else {
      cells_.push_back(cell);
    }
    ++count;
  };
  const char* cell = start;
  for (const char* c = start; c != end; ++c) {
    if (*c > ',') continue;
    if (*c == ',') {
      put(cell, c);
      cell = c + 1;
    } else if (*c == '"' || *c == '\0' || *c == '\r') {
      return false;
    }
  }
  put(cell, end);
  cells_.resize(count);
  return true;
}

// Unfolds doubled quotes in place. false: a quote inside a bare cell, or text after a closing quote.
bool CsvRows::split_quoted(size_t length) {
  char* const start = buffer_.data() + begin_;
  char* const end = length > 0 && start[length - 1] == '\r' ? start + length - 1 : start + length;
  cells_.clear();
  for (char* c = start;; ++c) {
    char* const cell = c;
    if (c != end && *c == '"') {
      char* out = cell;
      for (++c;; ++c) {
        if (c == end) return false;
        if (*c == '"' && (c + 1 == end || c[1] != '"')) break;
        if (*c == '"') ++c;
        *out++ = *c;
      }
      ++c;
      cells_.push_back({std::string_view(cell, static_cast<size_t>(out - cell)), true});
      if (c != end && *c != ',') return false;
    } else {
      while (c != end && *c != ',') {
        if (*c == '"' || *c == '\r') return false;
        ++c;
      }
      cells_.push_back({std::string_view(cell, static_cast<size_t>(c - cell)), false});
    }
    if (c == end) return true;
  }
}

}  // namespace memlog
