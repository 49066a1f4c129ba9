// SPDX-License-Identifier: Apache-2.0
// A long run of one process, to measure with: a sample a millisecond that grows, falls back and is noisy.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace memlog {

inline constexpr int64_t kBenchStart = 1'780'662'896 * kNsPerSecond;

// Run 1 of the database at `path`, stored as a recorder stores it. Throws FatalError.
void store_samples(const std::string& path, int64_t count);

}  // namespace memlog
