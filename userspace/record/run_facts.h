// SPDX-License-Identifier: Apache-2.0
// The facts of this host and this process that identify a run.
#pragma once

#include "model/records.h"

namespace memlog {

// Fills host, boot_id, kernel, uid, page size, CPUs and the recorder's identity; the rest is the caller's.
RunStart run_facts_of_this_host();

}  // namespace memlog
