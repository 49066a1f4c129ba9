// SPDX-License-Identifier: Apache-2.0
#include "collect/scheduling.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memlog {
namespace {

// The system call's structure in its first published size; the C library has neither it nor a wrapper.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // under the normal policies: the slice, from Linux 6.12
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

bool read_attributes(SchedulingAttributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0;
}

}  // namespace

bool use_short_slice(int64_t slice_ns) {
  SchedulingAttributes attributes;
  if (!read_attributes(attributes)) return false;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return false;
  attributes.runtime_ns = static_cast<uint64_t>(slice_ns);
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) return false;
  SchedulingAttributes granted;
  return read_attributes(granted) && granted.runtime_ns == static_cast<uint64_t>(slice_ns);
}

}  // namespace memlog
