// SPDX-License-Identifier: Apache-2.0
// Nullable: an int64_t or NULL in eight bytes, as SQLite stores it. Unknown is never 0.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace memlog {

class Nullable {
 public:
  constexpr Nullable() = default;
  constexpr Nullable(int64_t value) : raw_(value) {}  // NOLINT(google-explicit-constructor)

  constexpr bool has_value() const { return raw_ != kNull; }
  constexpr int64_t value() const {
    assert(has_value());
    return raw_;
  }
  constexpr int64_t value_or(int64_t other) const { return has_value() ? raw_ : other; }
  constexpr bool operator==(const Nullable&) const = default;

 private:
  static constexpr int64_t kNull = INT64_MIN;  // no quantity that memlog stores can have this value
  int64_t raw_ = kNull;
};

// NULL + x = NULL.
constexpr Nullable operator+(Nullable a, Nullable b) {
  return a.has_value() && b.has_value() ? Nullable(a.value() + b.value()) : Nullable();
}

// The larger of the known ones.
constexpr Nullable max_known(Nullable a, Nullable b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return std::max(a.value(), b.value());
}

}  // namespace memlog
