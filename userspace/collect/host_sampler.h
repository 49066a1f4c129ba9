// SPDX-License-Identifier: Apache-2.0
// HostSampler: the machine's memory, from meminfo, vmstat and pressure/memory under a proc root, and the huge
// page pools of every size, all kept open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "model/records.h"

namespace memlog {

// Sets the fields that the text has; a line that is missing or not a number leaves NULL. Any text is taken.
void parse_meminfo(std::string_view text, HostSample& sample);
void parse_memory_pressure(std::string_view text, HostSample& sample);

class HostSampler {
 public:
  // `hugepages`: the directory of hugepages-<size>kB pools. Where it has none, meminfo's counts of the
  // default size are taken.
  explicit HostSampler(const std::string& proc = "/proc",
                       const std::string& hugepages = "/sys/kernel/mm/hugepages");
  // Sets every field that could be read, NULL for the others; time_ns is the caller's.
  void sample(HostSample& sample);

 private:
  struct HugepagePool {
    int64_t page_bytes = 0;
    OwnedFd total;
    OwnedFd free;
  };
  void open_pools(const std::string& hugepages);
  void sample_pools(HostSample& sample) const;

  OwnedFd meminfo_;
  OwnedFd vmstat_;
  OwnedFd pressure_;
  std::vector<HugepagePool> pools_;
};

}  // namespace memlog
