// SPDX-License-Identifier: Apache-2.0
// The tables that hold what a run consists of, beside run and process themselves: for who copies a run, or takes
// it away, whole.
#pragma once

#include <array>
#include <cstdint>

namespace memlog {

enum class RunPart : uint8_t { run, process, cgroup, device };

struct RunTable {
  const char* name;
  RunPart parent;
  const char* parent_column;
  const char* order;             // of the rows of one parent: the same again after a copy
  bool has_row_id = false;       // its column `id` is a mere key
  bool is_time_ordered = false;  // the primary key is the parent, then time_ns
};

// A table comes after those that its rows point to. Roll-ups follow from the samples and are not among them.
inline constexpr std::array<RunTable, 14> kRunTables = {{
    {"clock", RunPart::run, "run_id", "boot_ns"},
    {"process_name", RunPart::process, "process_id", "time_ns, rowid"},
    {"host_sample", RunPart::run, "run_id", "time_ns", false, true},
    {"cgroup", RunPart::run, "run_id", "id", true},
    {"cgroup_sample", RunPart::cgroup, "cgroup_id", "time_ns", false, true},
    {"device", RunPart::run, "run_id", "id", true},
    {"device_sample", RunPart::device, "device_id", "time_ns", false, true},
    {"device_chip_sample", RunPart::device, "device_id", "chip_id, time_ns"},
    {"device_user", RunPart::device, "device_id", "time_ns, rowid"},
    {"device_total", RunPart::run, "run_id", "time_ns", false, true},
    {"device_process_sample", RunPart::process, "process_id", "time_ns, device_id", false, true},
    {"event", RunPart::run, "run_id", "time_ns, id", true},
    {"oom_kill", RunPart::run, "run_id", "time_ns, id", true},
    {"gap", RunPart::run, "run_id", "started_ns, rowid"},
}};

// What follows from the samples: built anew for a copy.
inline constexpr std::array<RunTable, 5> kRunRollupTables = {{
    {"process_rollup", RunPart::process, "process_id", "level, begin_ns"},
    {"host_rollup", RunPart::run, "run_id", "level, begin_ns"},
    {"cgroup_rollup", RunPart::cgroup, "cgroup_id", "level, begin_ns"},
    {"device_rollup", RunPart::device, "device_id", "level, begin_ns"},
    {"device_total_rollup", RunPart::run, "run_id", "level, begin_ns"},
}};

}  // namespace memlog
