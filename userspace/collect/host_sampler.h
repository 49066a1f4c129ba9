// SPDX-License-Identifier: Apache-2.0
// HostSampler: the machine's memory, from meminfo, vmstat and pressure/memory under a proc root, kept open.
#pragma once

#include <string>

#include "base/owned_fd.h"
#include "model/records.h"

namespace memlog {

class HostSampler {
 public:
  explicit HostSampler(std::string proc = "/proc");
  // Sets every field that could be read, NULL for the others; time_ns is the caller's.
  void sample(HostSample& sample);

 private:
  std::string proc_;
};

}  // namespace memlog
