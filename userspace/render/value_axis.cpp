// SPDX-License-Identifier: Apache-2.0
#include "render/value_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace memlog {
namespace {

// The smallest of 1, 2, 5 x 10^k that is at least `least`.
double step_at_least(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct Scale {
  double factor = 1;
  const char* name = "";
};

Scale scale_for(double top, Unit unit) {
  if (unit == Unit::nanoseconds) return {1e9, " s"};
  if (unit == Unit::count) return {1, ""};
  constexpr std::array<const char*, 7> names = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  Scale scale{1, names[0]};
  for (size_t index = 1; index < names.size() && top / scale.factor >= 1024; ++index) {
    scale = {scale.factor * 1024, names[index]};
  }
  return scale;
}

}  // namespace

Unit unit_of(std::string_view name) {
  if (name.ends_with("_bytes")) return Unit::bytes;
  return name.ends_with("_ns") ? Unit::nanoseconds : Unit::count;
}

std::vector<ValueTick> value_ticks(double top, int most, Unit unit) {
  if (!std::isfinite(top) || top <= 0) top = unit == Unit::bytes ? 1048576 : 1;
  const Scale scale = scale_for(top, unit);
  double step = step_at_least(top / scale.factor / std::max(most, 1));
  if (scale.factor == 1) step = std::max(step, 1.0);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  std::vector<ValueTick> ticks;
  for (int index = 0; index * step <= top / scale.factor * (1 + 1e-9); ++index) {
    const double value = index * step;
    ticks.push_back({value * scale.factor,
                     index == 0 ? std::string("0") : fmt::format("{:.{}f}{}", value, decimals, scale.name)});
  }
  return ticks;
}

std::string format_value(int64_t value, Unit unit) {
  if (unit == Unit::bytes) return format_bytes(value);
  if (unit == Unit::nanoseconds) return fmt::format("{:.1f} s", static_cast<double>(value) / 1e9);
  return fmt::format("{}", value);
}

}  // namespace memlog
