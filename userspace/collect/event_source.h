// SPDX-License-Identifier: Apache-2.0
// EventSource: where kernel events come from. The seam at which a test puts events of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/kernel_event.h"

namespace memlog {

// What a source lets through. Exec, fork and rename of a process whose comm is in `comms` are seen and make
// it tracked; every event of a tracked process is seen; OOM victims are seen always. A process that ran
// before the source was opened becomes tracked by its next exec or rename, or by track().
struct EventFilter {
  std::vector<std::string> comms;  // compared with the kernel's comm: at most 15 bytes each
  bool every_process = false;      // all processes are tracked until untrack(): the caller decides
  bool follow_children = false;    // a fork of a tracked process is tracked whatever its name
};

class EventSource {
 public:
  using Sink = std::function<void(const KernelEvent&)>;

  virtual ~EventSource() = default;
  virtual const char* name() const = 0;  // as stored in run.event_source: "bpf"
  virtual int poll_fd() const = 0;       // readable when drain() has something
  // Hands every waiting event to `sink`, oldest first. Never blocks. `sink` must not throw, nor print: the
  // ring fills meanwhile.
  virtual void drain(const Sink& sink) = 0;
  // From the return on, all events of this process are seen (untrack: no more, once those under way are
  // drained).
  virtual Status track(pid_t pid, int64_t start_boot_ns) = 0;
  virtual void untrack(pid_t pid) = 0;
  // Events that the kernel side could not deliver, since the start.
  virtual uint64_t lost_count() = 0;
};

// Loads and attaches the BPF programs. The error's hint says what is missing and how to get it.
Result<std::unique_ptr<EventSource>> open_bpf_events(const EventFilter& filter);

}  // namespace memlog
