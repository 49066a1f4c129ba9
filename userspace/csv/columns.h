// SPDX-License-Identifier: Apache-2.0
// The CSV files that memlog knows.
//
// memory_logger.py's, in all its generations: timestamp_utc and rss_bytes (or rss_mib) at least; pid,
// process_name, swap_bytes and oom_score where the file has them; other columns are not memlog's.
//
// With device DRAM the same and five more columns (kDramColumns), all empty where no device was readable.
//
// memlog's own wide file holds all that is stored of one run. Its columns: kWideFirst, every column of
// process_sample, the facts of the process (kParentProcess, kProcessFacts) and of the run (kRunFacts), and last
// kRecord and kFields. `process` numbers the file's processes from 1. A process's facts are in its first row only,
// the run's in the file's first row. A cell that is empty is NULL; "" in quotes is the empty text.
//
// Rows come in this order:
//   1. the samples of all processes by time;
//   2. a row without a time for each process of which there is no sample;
//   3. every other row of the run, table by table (store/run_tables.h): `record` is the table's name, `fields` a
//      JSON object of its other columns, NULLs left out; time_ns and `process` have their own cells where the table
//      has such columns. A row that belongs to a cgroup or device has its number in the file, from 1, as "cgroup" or
//      "device". A row of `record` run is there where the file would have no row at all.
// Roll-ups are not in the file: they follow from the samples and are built anew.
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

inline constexpr std::array<FactColumn, 19> kProcessFacts = {{
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
    {"peak_device_bytes", "peak_device_bytes", CellKind::integer},
}};
inline constexpr const char* kParentProcess =
    "parent_process";  // the number of the parent, where it is there

inline constexpr std::array<FactColumn, 20> kRunFacts = {{
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
    {"run_state", "state", CellKind::text},
    {"run_memlog_version", "memlog_version", CellKind::text},
    {"run_recorder_pid", "recorder_pid", CellKind::integer},
    {"run_recorder_start_ticks", "recorder_start_ticks", CellKind::integer},
    {"run_recorder_pid_ns", "recorder_pid_ns", CellKind::integer},
}};

inline constexpr const char* kRecord = "record";
inline constexpr const char* kFields = "fields";
inline constexpr const char* kRecordOfRun = "run";

// Of memory_logger.py: how many chips there are, and what they hold in all, on average, at least and at most.
inline constexpr std::array<const char*, 5> kDramColumns = {"dram_chip_count", "dram_total_mib",
                                                            "dram_avg_mib", "dram_min_mib", "dram_max_mib"};

}  // namespace memlog
