// SPDX-License-Identifier: Apache-2.0
// The CSV files that memlog knows.
//
// memory_logger.py's, in all its generations: timestamp_utc and rss_bytes (or rss_mib) at least; pid,
// process_name, swap_bytes and oom_score where the file has them; other columns are not memlog's.
//
// memlog's own wide file: kWideFirst, then every column of process_sample, then the facts of the process
// (kProcessFacts, parent_process) and of the run (kRunFacts). `process` numbers the file's processes from 1.
// A process's facts are in its first row only, the run's in the file's first row. A row without a time is a
// process of which there is no sample. A cell that is empty is NULL; "" in quotes is the empty text.
#pragma once

#include <array>
#include <cstdint>

namespace memlog {

enum class CellKind : uint8_t { integer, text };

struct FactColumn {
  const char* csv_name;
  const char* column;  // of the table run or process
  CellKind kind;
};

inline constexpr std::array<const char*, 5> kWideFirst = {"timestamp_utc", "time_ns", "process", "pid",
                                                          "process_name"};

inline constexpr std::array<FactColumn, 18> kProcessFacts = {{
    {"comm", "comm", CellKind::text},
    {"parent_pid", "parent_pid", CellKind::integer},
    {"start_time_ns", "start_time_ns", CellKind::integer},
    {"start_ticks", "start_ticks", CellKind::integer},
    {"exe", "exe", CellKind::text},
    {"cmdline", "cmdline", CellKind::text},
    {"cgroup", "cgroup", CellKind::text},
    {"uid", "uid", CellKind::integer},
    {"namespace_pid", "namespace_pid", CellKind::integer},
    {"first_seen_ns", "first_seen_ns", CellKind::integer},
    {"first_seen_by", "first_seen_by", CellKind::text},
    {"ended_ns", "ended_ns", CellKind::integer},
    {"exit_status", "exit_status", CellKind::integer},
    {"exit_signal", "exit_signal", CellKind::integer},
    {"core_dumped", "core_dumped", CellKind::integer},
    {"end_reason", "end_reason", CellKind::text},
    {"peak_rss_bytes", "peak_rss_bytes", CellKind::integer},
    {"peak_source", "peak_source", CellKind::text},
}};
inline constexpr const char* kParentProcess =
    "parent_process";  // the number of the parent, where it is there

inline constexpr std::array<FactColumn, 15> kRunFacts = {{
    {"run_label", "label", CellKind::text},
    {"run_host", "host", CellKind::text},
    {"run_boot_id", "boot_id", CellKind::text},
    {"run_kernel", "kernel", CellKind::text},
    {"run_command", "command", CellKind::text},
    {"run_target", "target", CellKind::text},
    {"run_interval_ns", "interval_ns", CellKind::integer},
    {"run_started_ns", "started_ns", CellKind::integer},
    {"run_ended_ns", "ended_ns", CellKind::integer},
    {"run_end_reason", "end_reason", CellKind::text},
    {"run_event_source", "event_source", CellKind::text},
    {"run_incomplete", "incomplete", CellKind::integer},
    {"run_uid", "uid", CellKind::integer},
    {"run_page_size_bytes", "page_size_bytes", CellKind::integer},
    {"run_cpu_count", "cpu_count", CellKind::integer},
}};

}  // namespace memlog
