// SPDX-License-Identifier: Apache-2.0
#include "collect/process_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/small_file.h"
#include "base/text.h"
#include "collect/kernel_text.h"
#include "collect/process_facts.h"

namespace memlog {
namespace {

constexpr size_t kFirstBufferBytes = size_t{8} * 1024;
constexpr size_t kLimitBytes = size_t{1024} * 1024;  // a status with 65536 groups takes 720 KiB
constexpr int kThreadsTried = 64;

// A whole kernel file, or the errno of the read. The text is valid until this thread's next read.
struct FileText {
  std::string_view text;
  int error = 0;
};

// These files come whole in one pread where the buffer holds them, so the usual read is one system call.
FileText read_text(int fd) {
  thread_local std::vector<char> buffer(kFirstBufferBytes);
  while (true) {
    const ssize_t length = pread(fd, buffer.data(), buffer.size(), 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return {{}, errno};
    if (static_cast<size_t>(length) < buffer.size() || buffer.size() >= kLimitBytes) {
      return {{buffer.data(), static_cast<size_t>(length)}, 0};
    }
    buffer.resize(buffer.size() * 4);
  }
}

bool means_gone(int error) { return error == ESRCH || error == ENOENT; }

int open_at(int process_fd, const char* name, OwnedFd& file) {
  file.reset(openat(process_fd, name, O_RDONLY | O_CLOEXEC));
  return file ? 0 : errno;
}

int64_t monotonic_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

Nullable read_signed(const OwnedFd& file) {
  if (!file) return {};
  const FileText read = read_text(file.get());
  if (read.error != 0) return {};
  const std::optional<int64_t> value = parse_int(trim(read.text));
  return value ? Nullable(*value) : Nullable();
}

void set_memory(const StatusFields& fields, ProcessSample& sample) {
  sample.rss_bytes = fields.rss_bytes;
  sample.anon_bytes = fields.anon_bytes;
  sample.file_bytes = fields.file_bytes;
  sample.shmem_bytes = fields.shmem_bytes;
  sample.swap_bytes = fields.swap_bytes;
  sample.hugetlb_bytes = fields.hugetlb_bytes;
  sample.hwm_bytes = fields.hwm_bytes;
  sample.data_bytes = fields.data_bytes;
  sample.page_table_bytes = fields.page_table_bytes;
  sample.threads = fields.threads;
}

bool has_memory(const StatusFields& fields) { return fields.rss_bytes.has_value(); }

}  // namespace

ProcessSampler::ProcessSampler(std::string proc, pid_t pid, Options options)
    : proc_(std::move(proc)), pid_(pid), options_(options) {
  const long ticks_per_second = sysconf(_SC_CLK_TCK);
  ns_per_tick_ = kNsPerSecond / (ticks_per_second > 0 ? ticks_per_second : 100);
  is_gone_ = means_gone(open_files());
  if (!options_.keep_files) close_files();
}

// 0 or the errno of what could not be opened. Everything is opened below one descriptor of /proc/PID, so that
// all of it belongs to one process.
int ProcessSampler::open_files() {
  const OwnedFd process(open(fmt::format("{}/{}", proc_, pid_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!process) return errno;
  if (const int error = check_identity(process.get()); error != 0) return error;
  if (const int error = open_at(process.get(), "status", status_); error != 0) return error;
  open_at(process.get(), "oom_score", oom_score_);
  open_at(process.get(), "oom_score_adj", oom_score_adj_);
  open_at(process.get(), "stat", stat_);
  return 0;
}

// ESRCH where another process has the pid now. A process without a known start is told apart by the one that
// it has here. The leader's own stat is read, which unlike the process's does not walk all threads.
int ProcessSampler::check_identity(int process_fd) {
  if (!options_.start_ticks.has_value() && options_.keep_files) return 0;
  OwnedFd leader_stat;
  const int error = open_at(process_fd, fmt::format("task/{}/stat", pid_).c_str(), leader_stat);
  if (error != 0) return error;
  const FileText read = read_text(leader_stat.get());
  if (read.error != 0) return read.error;
  const Result<StatFields> fields = parse_stat(read.text);
  if (!fields) return EIO;
  if (!options_.start_ticks.has_value()) options_.start_ticks = fields->start_ticks;
  return options_.start_ticks == Nullable(fields->start_ticks) ? 0 : ESRCH;
}

void ProcessSampler::close_files() {
  for (OwnedFd* file : {&status_, &oom_score_, &oom_score_adj_, &stat_, &thread_status_}) file->reset();
}

SampleOutcome ProcessSampler::sample(int64_t now_ns, ProcessSample& sample) {
  const ProcessKey key = sample.key;
  const int64_t time_ns = sample.time_ns;
  sample = ProcessSample{};
  sample.key = key;
  sample.time_ns = time_ns;
  if (is_gone_) return SampleOutcome::gone;
  if (!status_) {
    const int error = open_files();
    if (error != 0) {
      close_files();
      is_gone_ = means_gone(error);
      last_error_ = error;
      return is_gone_ ? SampleOutcome::gone : SampleOutcome::unreadable;
    }
  }
  const SampleOutcome outcome = sample_memory(sample);
  if (outcome == SampleOutcome::sampled || outcome == SampleOutcome::no_memory) {
    sample.oom_score = read_signed(oom_score_);
    sample.oom_score_adj = read_signed(oom_score_adj_);
    sample_stat(now_ns, sample);
  }
  if (outcome == SampleOutcome::sampled && options_.pss) sample_pss(now_ns, sample);
  is_gone_ = outcome == SampleOutcome::gone;
  if (is_gone_ || !options_.keep_files) close_files();
  return outcome;
}

SampleOutcome ProcessSampler::sample_memory(ProcessSample& sample) {
  StatusFields fields;
  if (!thread_status_ || !read_live_thread(fields)) {
    const FileText read = read_text(status_.get());
    last_error_ = read.error;
    if (read.error != 0) return means_gone(read.error) ? SampleOutcome::gone : SampleOutcome::unreadable;
    fields = parse_status(read.text);
    // A zombie's only thread is itself; more of them mean that just the leader has exited.
    if (!has_memory(fields) && fields.threads.value_or(1) > 1) find_live_thread(fields);
  }
  if (!has_memory(fields)) return SampleOutcome::no_memory;
  set_memory(fields, sample);
  return SampleOutcome::sampled;
}

// Through the thread found before; false (and it is forgotten) where it has ended too.
bool ProcessSampler::read_live_thread(StatusFields& fields) {
  const FileText read = read_text(thread_status_.get());
  if (read.error == 0) fields = parse_status(read.text);
  if (read.error == 0 && has_memory(fields)) return true;
  thread_status_.reset();
  thread_ = 0;
  return false;
}

bool ProcessSampler::find_live_thread(StatusFields& fields) {
  const std::string path = fmt::format("{}/{}/task", proc_, pid_);
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir(path.c_str()), closedir);
  if (!tasks) return false;
  for (int tried = 0; tried < kThreadsTried;) {
    const dirent* entry = readdir(tasks.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) return false;
    const std::optional<int64_t> tid = parse_int(entry->d_name);
    if (!tid || *tid <= 0 || *tid > INT_MAX || *tid == pid_) continue;
    ++tried;
    const std::string status = fmt::format("{}/status", *tid);
    if (open_at(dirfd(tasks.get()), status.c_str(), thread_status_) != 0) continue;
    thread_ = static_cast<pid_t>(*tid);
    if (!read_live_thread(fields)) continue;
    if (is_still_bound()) return true;
    fields = StatusFields{};
    thread_status_.reset();
    thread_ = 0;
    return false;
  }
  return false;
}

// Whether the process is still not reaped: what was opened by its number until now was its own.
bool ProcessSampler::is_still_bound() const { return read_text(status_.get()).error == 0; }

void ProcessSampler::sample_stat(int64_t now_ns, ProcessSample& sample) {
  if (!stat_ || !stat_budget_.is_due(now_ns)) return;
  const int64_t started_ns = monotonic_now_ns();
  const FileText read = read_text(stat_.get());
  stat_budget_.spent(now_ns, monotonic_now_ns() - started_ns);
  if (read.error != 0) return;
  const Result<StatFields> fields = parse_stat(read.text);
  if (!fields) return;
  sample.minor_faults = fields->minor_faults;
  sample.major_faults = fields->major_faults;
  sample.cpu_ns = scaled(fields->cpu_ticks, ns_per_tick_);
}

// The file is opened anew at each read: a kept descriptor of it is bound to one address space and dies with
// an exec.
void ProcessSampler::sample_pss(int64_t now_ns, ProcessSample& sample) {
  if (!pss_budget_.is_due(now_ns)) return;
  const std::string path = thread_ == 0 ? fmt::format("{}/{}/smaps_rollup", proc_, pid_)
                                        : fmt::format("{}/{}/task/{}/smaps_rollup", proc_, pid_, thread_);
  const int64_t started_ns = monotonic_now_ns();
  OwnedFd rollup;
  if (open_at(AT_FDCWD, path.c_str(), rollup) == 0) {
    const FileText read = read_text(rollup.get());
    const Nullable pss_bytes =
        read.error == 0 ? leading_kb_as_bytes(after_key(read.text, "Pss:")) : Nullable();
    if (is_still_bound()) sample.pss_bytes = pss_bytes;
  }
  pss_budget_.spent(now_ns, monotonic_now_ns() - started_ns);
}

}  // namespace memlog
