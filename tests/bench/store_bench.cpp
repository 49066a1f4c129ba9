// SPDX-License-Identifier: Apache-2.0
// store_bench DATABASE MILLIONS: stores that many samples for others to measure with.
#include <fmt/format.h>

#include "base/result.h"
#include "base/text.h"
#include "store_samples.h"

int main(int argc, char** argv) {
  const auto millions = argc == 3 ? memlog::parse_int(argv[2]) : std::nullopt;
  if (!millions) return 2;
  try {
    memlog::store_samples(argv[1], *millions * 1'000'000);
  } catch (const memlog::FatalError& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 1;
  }
  return 0;
}
