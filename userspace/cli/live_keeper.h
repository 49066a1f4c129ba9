// SPDX-License-Identifier: Apache-2.0
// The process that keeps the dashboard's server alive.
#pragma once

#include <sys/types.h>

#include "live/server.h"

namespace memlog {

// In a child that `parent` has just forked, the only thread of it. Ends with `parent` or by SIGTERM; Ctrl-C and
// a lost terminal are the parent's business. Nothing that the parent had open stays open but stderr and the
// listener.
[[noreturn]] void keep_serving(const LiveOptions& options, LiveListener listener, pid_t parent);

}  // namespace memlog
