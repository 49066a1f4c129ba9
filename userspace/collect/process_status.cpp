// SPDX-License-Identifier: Apache-2.0
#include "collect/process_status.h"

#include <iterator>

#include "collect/kernel_text.h"

namespace memlog {
namespace {

struct MemoryLine {
  std::string_view key;
  Nullable StatusFields::* field;
};

constexpr MemoryLine kMemoryLines[] = {
    {"VmHWM:", &StatusFields::hwm_bytes},
    {"VmRSS:", &StatusFields::rss_bytes},
    {"RssAnon:", &StatusFields::anon_bytes},
    {"RssFile:", &StatusFields::file_bytes},
    {"RssShmem:", &StatusFields::shmem_bytes},
    {"VmData:", &StatusFields::data_bytes},
    {"VmPTE:", &StatusFields::page_table_bytes},
    {"VmSwap:", &StatusFields::swap_bytes},
    {"HugetlbPages:", &StatusFields::hugetlb_bytes},
};

}  // namespace

StatusFields parse_status(std::string_view text) {
  StatusFields fields;
  size_t next = 0;  // the kernel writes them in the table's order: the next one is tried first
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    const char first = line.empty() ? '\0' : line[0];
    if (first == 'V' || first == 'R' || first == 'H') {
      for (size_t tried = 0; tried < std::size(kMemoryLines); ++tried) {
        const MemoryLine& wanted = kMemoryLines[(next + tried) % std::size(kMemoryLines)];
        if (!line.starts_with(wanted.key)) continue;
        fields.*wanted.field = leading_kb_as_bytes(line.substr(wanted.key.size()));
        next += tried + 1;
        break;
      }
    } else if (first == 'T' && line.starts_with("Threads:")) {
      fields.threads = leading_count(line.substr(8));
      break;
    }
    text.remove_prefix(end + 1);
  }
  return fields;
}

}  // namespace memlog
