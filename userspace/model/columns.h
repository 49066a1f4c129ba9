// SPDX-License-Identifier: Apache-2.0
// The measured columns of each sample table, once: the store binds them, CSV writes them and charts choose
// from them by walking these tables. Order is the order in schema/. The `Rollup` tables are the columns that
// roll-ups keep.
#pragma once

#include <array>

#include "model/records.h"

namespace memlog {

enum class Unit : uint8_t { bytes, ns, count };

template <typename Sample>
struct Column {
  const char* name;
  Nullable Sample::* field;
  Unit unit;
};

inline constexpr std::array<Column<ProcessSample>, 16> kProcessColumns = {{
    {"rss_bytes", &ProcessSample::rss_bytes, Unit::bytes},
    {"anon_bytes", &ProcessSample::anon_bytes, Unit::bytes},
    {"file_bytes", &ProcessSample::file_bytes, Unit::bytes},
    {"shmem_bytes", &ProcessSample::shmem_bytes, Unit::bytes},
    {"swap_bytes", &ProcessSample::swap_bytes, Unit::bytes},
    {"hugetlb_bytes", &ProcessSample::hugetlb_bytes, Unit::bytes},
    {"hwm_bytes", &ProcessSample::hwm_bytes, Unit::bytes},
    {"data_bytes", &ProcessSample::data_bytes, Unit::bytes},
    {"page_table_bytes", &ProcessSample::page_table_bytes, Unit::bytes},
    {"pss_bytes", &ProcessSample::pss_bytes, Unit::bytes},
    {"oom_score", &ProcessSample::oom_score, Unit::count},
    {"oom_score_adj", &ProcessSample::oom_score_adj, Unit::count},
    {"minor_faults", &ProcessSample::minor_faults, Unit::count},
    {"major_faults", &ProcessSample::major_faults, Unit::count},
    {"threads", &ProcessSample::threads, Unit::count},
    {"cpu_ns", &ProcessSample::cpu_ns, Unit::ns},
}};

inline constexpr std::array<Column<HostSample>, 10> kHostColumns = {{
    {"mem_total_bytes", &HostSample::mem_total_bytes, Unit::bytes},
    {"mem_available_bytes", &HostSample::mem_available_bytes, Unit::bytes},
    {"mem_free_bytes", &HostSample::mem_free_bytes, Unit::bytes},
    {"swap_total_bytes", &HostSample::swap_total_bytes, Unit::bytes},
    {"swap_free_bytes", &HostSample::swap_free_bytes, Unit::bytes},
    {"hugepage_total_bytes", &HostSample::hugepage_total_bytes, Unit::bytes},
    {"hugepage_free_bytes", &HostSample::hugepage_free_bytes, Unit::bytes},
    {"psi_some_ns", &HostSample::psi_some_ns, Unit::ns},
    {"psi_full_ns", &HostSample::psi_full_ns, Unit::ns},
    {"oom_kill_count", &HostSample::oom_kill_count, Unit::count},
}};

inline constexpr std::array<Column<CgroupSample>, 4> kCgroupColumns = {{
    {"current_bytes", &CgroupSample::current_bytes, Unit::bytes},
    {"peak_bytes", &CgroupSample::peak_bytes, Unit::bytes},
    {"limit_bytes", &CgroupSample::limit_bytes, Unit::bytes},
    {"oom_kill_count", &CgroupSample::oom_kill_count, Unit::count},
}};

inline constexpr std::array<Column<DeviceSample>, 10> kDeviceColumns = {{
    {"dram_bytes", &DeviceSample::dram_bytes, Unit::bytes},
    {"l1_bytes", &DeviceSample::l1_bytes, Unit::bytes},
    {"l1_small_bytes", &DeviceSample::l1_small_bytes, Unit::bytes},
    {"trace_bytes", &DeviceSample::trace_bytes, Unit::bytes},
    {"cb_bytes", &DeviceSample::cb_bytes, Unit::bytes},
    {"live_bytes", &DeviceSample::live_bytes, Unit::bytes},
    {"ghost_bytes", &DeviceSample::ghost_bytes, Unit::bytes},
    {"unknown_bytes", &DeviceSample::unknown_bytes, Unit::bytes},
    {"user_count", &DeviceSample::user_count, Unit::count},
    {"last_update_ns", &DeviceSample::last_update_ns, Unit::ns},
}};

inline constexpr std::array<Column<DeviceChipSample>, 6> kDeviceChipColumns = {{
    {"is_remote", &DeviceChipSample::is_remote, Unit::count},
    {"dram_bytes", &DeviceChipSample::dram_bytes, Unit::bytes},
    {"l1_bytes", &DeviceChipSample::l1_bytes, Unit::bytes},
    {"l1_small_bytes", &DeviceChipSample::l1_small_bytes, Unit::bytes},
    {"trace_bytes", &DeviceChipSample::trace_bytes, Unit::bytes},
    {"cb_bytes", &DeviceChipSample::cb_bytes, Unit::bytes},
}};

inline constexpr std::array<Column<DeviceProcessSample>, 5> kDeviceProcessColumns = {{
    {"dram_bytes", &DeviceProcessSample::dram_bytes, Unit::bytes},
    {"l1_bytes", &DeviceProcessSample::l1_bytes, Unit::bytes},
    {"l1_small_bytes", &DeviceProcessSample::l1_small_bytes, Unit::bytes},
    {"trace_bytes", &DeviceProcessSample::trace_bytes, Unit::bytes},
    {"cb_bytes", &DeviceProcessSample::cb_bytes, Unit::bytes},
}};

inline constexpr std::array<Column<DeviceTotal>, 6> kDeviceTotalColumns = {{
    {"device_count", &DeviceTotal::device_count, Unit::count},
    {"dram_bytes", &DeviceTotal::dram_bytes, Unit::bytes},
    {"dram_min_bytes", &DeviceTotal::dram_min_bytes, Unit::bytes},
    {"dram_max_bytes", &DeviceTotal::dram_max_bytes, Unit::bytes},
    {"live_bytes", &DeviceTotal::live_bytes, Unit::bytes},
    {"ghost_bytes", &DeviceTotal::ghost_bytes, Unit::bytes},
}};

}  // namespace memlog
