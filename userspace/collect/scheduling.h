// SPDX-License-Identifier: Apache-2.0
// How soon the calling thread runs after something woke it.
#pragma once

#include <cstdint>

namespace memlog {

inline constexpr int64_t kEventSliceNs = 100'000;  // the shortest that the kernel grants

// Asks for a short time slice under the normal scheduling policy: the scheduler lets a thread that wants
// little run sooner, and an event is read in microseconds instead of half a millisecond. Needs no privilege;
// nice value and policy stay. False where it is not in force: refused, another policy, or a kernel
// before 6.12, which takes the request and ignores it.
bool use_short_slice(int64_t slice_ns = kEventSliceNs);

}  // namespace memlog
