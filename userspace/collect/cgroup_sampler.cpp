// SPDX-License-Identifier: Apache-2.0
#include "collect/cgroup_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/small_file.h"
#include "base/text.h"
#include "collect/kernel_text.h"

namespace memlog {
namespace {

constexpr size_t kBufferBytes = size_t{16} * 1024;
constexpr size_t kAncestorsRead = 64;
constexpr int64_t kNoLimitFromBytes = int64_t{1} << 62;  // v1 writes "no limit" as LONG_MAX rounded to pages

OwnedFd open_in(const std::string& directory, const char* name) {
  Result<OwnedFd> file = open_file(AT_FDCWD, directory + "/" + name, O_NOFOLLOW);
  return file ? std::move(*file) : OwnedFd();
}

struct Reading {
  std::string_view text;  // valid until this thread's next read; empty where there is no file
  bool is_gone = false;   // the cgroup was removed
};

Reading read_kept(const OwnedFd& file) {
  thread_local std::array<char, kBufferBytes> buffer;
  if (!file) return {};
  const Result<std::string_view> read = read_from_start(file.get(), buffer, "a cgroup's file");
  if (!read) return {{}, read.error().code == ENODEV || read.error().code == ENOENT};
  return {*read, false};
}

Nullable limit_from(Nullable bytes) {
  return bytes.value_or(kNoLimitFromBytes) >= kNoLimitFromBytes ? Nullable() : bytes;
}

Nullable tighter(Nullable a, Nullable b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return std::min(a.value(), b.value());
}

}  // namespace

CgroupSampler::CgroupSampler(const CgroupMount& mount, std::string path)
    : version_(mount.version), path_(std::move(path)) {
  directory_ = cgroup_directory(mount, path_).value_or("");
  is_gone_ = directory_.empty() || access(directory_.c_str(), F_OK) != 0;
  if (is_gone_) return;
  const bool is_v1 = version_ == 1;
  current_ = open_in(directory_, is_v1 ? "memory.usage_in_bytes" : "memory.current");
  peak_ = open_in(directory_, is_v1 ? "memory.max_usage_in_bytes" : "memory.peak");
  oom_ = open_in(directory_, is_v1 ? "memory.oom_control" : "memory.events.local");
  if (is_v1) {
    limits_.push_back(open_in(directory_, "memory.stat"));
    return;
  }
  std::string ancestor = directory_;
  while (limits_.size() < kAncestorsRead && ancestor.size() >= mount.directory.size()) {
    OwnedFd limit = open_in(ancestor, "memory.max");  // the hierarchy's root has none
    if (limit) limits_.push_back(std::move(limit));
    ancestor.resize(ancestor.rfind('/'));
  }
}

bool CgroupSampler::sample(CgroupSample& sample) {
  const CgroupKey key = sample.key;
  const int64_t time_ns = sample.time_ns;
  sample = CgroupSample{};
  sample.key = key;
  sample.time_ns = time_ns;
  if (is_gone_) return false;
  const Reading current = read_kept(current_);
  sample.current_bytes = leading_count(current.text);
  const bool has_file = static_cast<bool>(current_);
  is_gone_ = has_file ? current.is_gone : access(directory_.c_str(), F_OK) != 0;
  if (is_gone_) {
    sample.current_bytes = Nullable();
    return false;
  }
  sample.peak_bytes = leading_count(read_kept(peak_).text);
  sample.oom_kill_count = leading_count(after_key(read_kept(oom_).text, "oom_kill "));
  if (version_ == 1) {
    const std::string_view stat = read_kept(limits_.front()).text;
    sample.limit_bytes = limit_from(leading_count(after_key(stat, "hierarchical_memory_limit ")));
  } else {
    for (const OwnedFd& limit : limits_) {
      sample.limit_bytes = tighter(sample.limit_bytes, limit_from(leading_count(read_kept(limit).text)));
    }
  }
  return true;
}

}  // namespace memlog
