// SPDX-License-Identifier: Apache-2.0
// BpfEvents: kernel events from BPF programs through a ring buffer. The full-fidelity source.
//
// Needs kernel BTF (CONFIG_DEBUG_INFO_BTF) and CAP_BPF + CAP_PERFMON; Linux 5.8 or later. The programs stay
// attached as long as the object lives, and no longer.
#pragma once

#include <memory>
#include <optional>

#include "collect/bpf_kernel.h"
#include "collect/event_source.h"

namespace memlog {

inline constexpr uint32_t kDefaultRingBytes =
    uint32_t{512} * 1024;  // 4000 processes killed at once need 256 KiB

struct BpfOptions {
  uint32_t ring_bytes = kDefaultRingBytes;  // a power of two, at least a page
  // Instead of what the kernel's BTF says. The form of sched_process_exit without group_dead works on newer
  // kernels too; the wrong form of mark_victim reads nonsense.
  std::optional<TracepointForms> forms = std::nullopt;
};

// As open_bpf_events(filter), with options. Names in filter.comms are cut at 15 bytes; more than 64 are an
// error.
Result<std::unique_ptr<EventSource>> open_bpf_events(const EventFilter& filter, const BpfOptions& options);

}  // namespace memlog
