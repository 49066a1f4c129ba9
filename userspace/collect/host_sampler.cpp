// SPDX-License-Identifier: Apache-2.0
#include "collect/host_sampler.h"

#include <dirent.h>
#include <fcntl.h>

#include <array>
#include <memory>

#include "base/clock.h"
#include "base/small_file.h"
#include "collect/kernel_text.h"

namespace memlog {
namespace {

constexpr size_t kBufferBytes = size_t{32} * 1024;
constexpr size_t kPoolsKept = 16;

OwnedFd open_if_there(const std::string& path) {
  Result<OwnedFd> file = open_file(AT_FDCWD, path);
  return file ? std::move(*file) : OwnedFd();
}

// The text is valid until this thread's next read; empty where there is nothing to read.
std::string_view text_of(const OwnedFd& file, std::string_view name) {
  thread_local std::array<char, kBufferBytes> buffer;
  if (!file) return {};
  const Result<std::string_view> read = read_from_start(file.get(), buffer, name);
  return read ? *read : std::string_view();
}

// "full avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds.
Nullable pressure_total_ns(std::string_view text, std::string_view kind) {
  const std::string_view line = after_key(text, kind);
  constexpr std::string_view key = " total=";
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  return scaled(leading_count(line.substr(at + key.size())), kNsPerUs);
}

}  // namespace

void parse_meminfo(std::string_view text, HostSample& sample) {
  sample.mem_total_bytes = leading_kb_as_bytes(after_key(text, "MemTotal:"));
  sample.mem_available_bytes = leading_kb_as_bytes(after_key(text, "MemAvailable:"));
  sample.mem_free_bytes = leading_kb_as_bytes(after_key(text, "MemFree:"));
  sample.swap_total_bytes = leading_kb_as_bytes(after_key(text, "SwapTotal:"));
  sample.swap_free_bytes = leading_kb_as_bytes(after_key(text, "SwapFree:"));
  const Nullable page_bytes = leading_kb_as_bytes(after_key(text, "Hugepagesize:"));
  if (page_bytes.value_or(0) <= 0) return;
  sample.hugepage_total_bytes =
      scaled(leading_count(after_key(text, "HugePages_Total:")), page_bytes.value());
  sample.hugepage_free_bytes = scaled(leading_count(after_key(text, "HugePages_Free:")), page_bytes.value());
}

void parse_memory_pressure(std::string_view text, HostSample& sample) {
  sample.psi_some_ns = pressure_total_ns(text, "some");
  sample.psi_full_ns = pressure_total_ns(text, "full");
}

HostSampler::HostSampler(const std::string& proc, const std::string& hugepages)
    : meminfo_(open_if_there(proc + "/meminfo")),
      vmstat_(open_if_there(proc + "/vmstat")),
      pressure_(open_if_there(proc + "/pressure/memory")) {
  open_pools(hugepages);
}

void HostSampler::open_pools(const std::string& hugepages) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(hugepages.c_str()), closedir);
  if (!directory) return;
  while (const dirent* entry = readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    constexpr std::string_view prefix = "hugepages-";
    if (!name.starts_with(prefix) || pools_.size() >= kPoolsKept) continue;
    const Nullable page_bytes = leading_kb_as_bytes(name.substr(prefix.size()));
    if (page_bytes.value_or(0) <= 0) continue;
    std::string pool = hugepages;
    pool.append("/").append(name);
    pools_.push_back(
        {page_bytes.value(), open_if_there(pool + "/nr_hugepages"), open_if_there(pool + "/free_hugepages")});
  }
}

void HostSampler::sample(HostSample& sample) {
  const int64_t time_ns = sample.time_ns;
  sample = HostSample{};
  sample.time_ns = time_ns;
  parse_meminfo(text_of(meminfo_, "meminfo"), sample);
  parse_memory_pressure(text_of(pressure_, "pressure/memory"), sample);
  sample.oom_kill_count = leading_count(after_key(text_of(vmstat_, "vmstat"), "oom_kill "));
  if (!pools_.empty()) sample_pools(sample);
}

void HostSampler::sample_pools(HostSample& sample) const {
  Nullable total_bytes = 0;
  Nullable free_bytes = 0;
  for (const HugepagePool& pool : pools_) {
    const Nullable total = leading_count(text_of(pool.total, "nr_hugepages"));
    total_bytes = total_bytes + scaled(total, pool.page_bytes);
    free_bytes = free_bytes + scaled(leading_count(text_of(pool.free, "free_hugepages")), pool.page_bytes);
  }
  sample.hugepage_total_bytes = total_bytes;
  sample.hugepage_free_bytes = free_bytes;
}

}  // namespace memlog
