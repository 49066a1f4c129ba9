// SPDX-License-Identifier: Apache-2.0
// Ticks of a value axis that starts at 0: bytes in binary units, plain counts, seconds of CPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memlog {

enum class Unit : uint8_t { bytes, count, nanoseconds };

// From the end of a column's name: "rss_bytes", "cpu_ns", "threads".
Unit unit_of(std::string_view name);

struct ValueTick {
  double value = 0;
  std::string label;
};

// Ticks from 0 to `top` at steps of 1, 2 or 5 times a power of ten of one binary unit; at most about `most`.
// A `top` that is 0, negative or not finite counts as 1 (MiB for bytes).
std::vector<ValueTick> value_ticks(double top, int most, Unit unit);

// One value for people: "1.25 GiB", "668", "12.3 s".
std::string format_value(int64_t value, Unit unit);

}  // namespace memlog
