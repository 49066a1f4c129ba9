// SPDX-License-Identifier: Apache-2.0
// From a ring buffer record of bpf/events.h to a KernelEvent: pages become bytes, "unknown" becomes NULL.
#pragma once

#include <optional>
#include <span>

#include "collect/kernel_event.h"

namespace memlog {

// The event's views point into `record`. nullopt: not a record that this build of memlog knows.
std::optional<KernelEvent> decode_bpf_event(std::span<const std::byte> record, int64_t page_bytes);

}  // namespace memlog
