// SPDX-License-Identifier: Apache-2.0
#include "collect/bpf_decode.h"

#include <linux/types.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "bpf/events.h"

namespace memlog {
namespace {

Nullable known(int64_t count) { return count == BPF_UNKNOWN ? Nullable() : Nullable(count); }

// NULL also where the bytes do not fit: the kernel writes "no limit" as the largest number of pages that do.
Nullable bytes_of(int64_t pages, int64_t page_bytes) {
  if (pages == BPF_UNKNOWN || pages < 0 || pages >= INT64_MAX / page_bytes) return {};
  return pages * page_bytes;
}

std::string_view padded_name(const char* name, size_t size) { return {name, strnlen(name, size)}; }

template <typename Record>
const Record* record_as(std::span<const std::byte> record) {
  // The ring rounds no size up: a record has the size that was reserved.
  return record.size() == sizeof(Record) ? reinterpret_cast<const Record*>(record.data()) : nullptr;
}

KernelEvent decode_header(const BpfEventHeader& header, KernelEventKind kind) {
  KernelEvent event;
  event.kind = kind;
  event.boot_ns = static_cast<int64_t>(header.boot_ns);
  event.pid = header.tgid;
  event.parent_pid = header.parent_tgid;
  event.start_boot_ns = static_cast<int64_t>(header.start_boot_ns);
  event.uid = header.uid;
  event.cgroup_id = header.cgroup_id;
  event.comm = padded_name(header.comm, sizeof header.comm);
  return event;
}

KernelEvent decode_exec(const BpfExecEvent& record) {
  KernelEvent event = decode_header(record.header, KernelEventKind::exec);
  event.old_comm = padded_name(record.old_comm, sizeof record.old_comm);
  event.exe = padded_name(record.exe, sizeof record.exe);
  event.arguments = {record.arguments, std::min<size_t>(record.argument_bytes, sizeof record.arguments)};
  return event;
}

KernelEvent decode_exit(const BpfExitEvent& record, int64_t page_bytes) {
  KernelEvent event = decode_header(record.header, KernelEventKind::exit);
  event.exit.wait_status = record.wait_status;
  event.exit.peak_rss_bytes = bytes_of(record.peak_pages, page_bytes);
  event.exit.is_oom_victim = record.is_oom_victim != 0;
  return event;
}

KernelEvent decode_oom(const BpfOomEvent& record, int64_t page_bytes) {
  KernelEvent event = decode_header(record.header, KernelEventKind::oom_victim);
  OomFacts& oom = event.oom;
  oom.victim_tid = record.victim_tid;
  oom.total_vm_bytes = bytes_of(record.total_vm_pages, page_bytes);
  oom.anon_bytes = bytes_of(record.anon_pages, page_bytes);
  oom.file_bytes = bytes_of(record.file_pages, page_bytes);
  oom.shmem_bytes = bytes_of(record.shmem_pages, page_bytes);
  oom.swap_bytes = bytes_of(record.swap_pages, page_bytes);
  oom.page_table_bytes = known(record.page_table_bytes);
  if (record.total_vm_pages != BPF_UNKNOWN) oom.oom_score_adj = record.oom_score_adj;
  oom.trigger_pid = record.trigger_tgid;
  oom.trigger_comm = padded_name(record.trigger_comm, sizeof record.trigger_comm);
  oom.limit_cgroup_id = record.limit_cgroup_id;
  oom.limit_bytes = bytes_of(record.limit_pages, page_bytes);
  oom.usage_bytes = bytes_of(record.usage_pages, page_bytes);
  return event;
}

}  // namespace

std::optional<KernelEvent> decode_bpf_event(std::span<const std::byte> record, int64_t page_bytes) {
  if (record.size() < sizeof(BpfEventHeader)) return std::nullopt;
  const auto& header = *reinterpret_cast<const BpfEventHeader*>(record.data());
  switch (header.kind) {
    case kBpfExec:
      if (const auto* exec = record_as<BpfExecEvent>(record)) return decode_exec(*exec);
      break;
    case kBpfFork:
      return decode_header(header, KernelEventKind::fork);
    case kBpfRename:
      return decode_header(header, KernelEventKind::rename);
    case kBpfExit:
      if (const auto* exit = record_as<BpfExitEvent>(record)) return decode_exit(*exit, page_bytes);
      break;
    case kBpfOomVictim:
      if (const auto* oom = record_as<BpfOomEvent>(record)) return decode_oom(*oom, page_bytes);
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace memlog
