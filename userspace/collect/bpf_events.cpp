// SPDX-License-Identifier: Apache-2.0
#include "collect/bpf_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/small_file.h"
#include "base/text.h"
#include "bpf/events.h"
#include "collect/bpf_decode.h"
#include "collect/bpf_kernel.h"
#include "events.skel.h"

namespace memlog {
namespace {

constexpr int64_t kTickNs = 10 * kNsPerMs;           // of the start time in /proc/PID/stat
constexpr std::string_view kProcessField = "Tgid:";  // in /proc/TID/status
constexpr size_t kVerifierLogBytes = size_t{1} << 20;

struct SkeletonDeleter {
  void operator()(events_bpf* skeleton) const { events_bpf__destroy(skeleton); }
};
struct RingDeleter {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};
using Skeleton = std::unique_ptr<events_bpf, SkeletonDeleter>;
using Ring = std::unique_ptr<ring_buffer, RingDeleter>;

// libbpf talks through one function of the whole process: while this lives, its last warning is kept and
// nothing is printed; afterwards it is silent.
class LibbpfWarning {
 public:
  LibbpfWarning() {
    last.clear();
    libbpf_set_print(keep);
  }
  ~LibbpfWarning() { libbpf_set_print(nullptr); }
  LibbpfWarning(const LibbpfWarning&) = delete;
  LibbpfWarning& operator=(const LibbpfWarning&) = delete;
  const std::string& text() const { return last; }

 private:
  static int keep(libbpf_print_level level, const char* format, va_list arguments) {
    if (level != LIBBPF_WARN) return 0;
    char line[512];
    if (vsnprintf(line, sizeof line, format, arguments) > 0) last = line;
    return 0;
  }
  static inline thread_local std::string last;
};

// Room for the verifier's log. Left uninitialised, so that it costs memory only where the verifier writes.
class VerifierLog {
 public:
  VerifierLog() : bytes_(std::make_unique_for_overwrite<char[]>(kVerifierLogBytes)) { bytes_[0] = 0; }
  char* data() { return bytes_.get(); }
  std::string text() const { return {bytes_.get(), strnlen(bytes_.get(), kVerifierLogBytes)}; }

 private:
  std::unique_ptr<char[]> bytes_;
};

BpfComm comm_key(std::string_view name) {
  BpfComm key{};
  name.copy(key.bytes, kBpfCommBytes - 1);
  return key;
}

void choose_programs(events_bpf& skeleton, const TracepointForms& forms) {
  bpf_program__set_autoload(skeleton.progs.on_exit_group_dead, forms.exit_has_group_dead);
  bpf_program__set_autoload(skeleton.progs.on_exit_live, !forms.exit_has_group_dead);
  bpf_program__set_autoload(skeleton.progs.on_oom_task, forms.has_oom && forms.oom_has_task);
  bpf_program__set_autoload(skeleton.progs.on_oom_pid, forms.has_oom && !forms.oom_has_task);
}

Status set_comms(events_bpf& skeleton, const EventFilter& filter) {
  const __u8 present = 1;
  for (const std::string& name : filter.comms) {
    const BpfComm key = comm_key(name);
    if (bpf_map__update_elem(skeleton.maps.comms, &key, sizeof key, &present, sizeof present, BPF_ANY) != 0)
      return errno_error(fmt::format("handing the name '{}' to the kernel", printable(name)), errno);
  }
  return Ok{};
}

Result<Skeleton> load_programs(const EventFilter& filter, const BpfOptions& options) {
  const std::string doing = "loading the BPF programs";
  const Result<TracepointForms> forms =
      options.forms ? Result<TracepointForms>(*options.forms) : read_tracepoint_forms();
  if (!forms.ok()) return forms.error();

  const LibbpfWarning warning;
  VerifierLog log;
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof open_options;
  open_options.kernel_log_buf = log.data();
  open_options.kernel_log_size = kVerifierLogBytes;
  Skeleton skeleton(events_bpf__open_opts(&open_options));
  if (!skeleton) return bpf_error(doing, -errno, warning.text(), log.text());

  choose_programs(*skeleton, *forms);
  skeleton->rodata->every_process = filter.every_process;
  skeleton->rodata->follow_children = filter.follow_children;
  skeleton->rodata->possible_cpus = libbpf_num_possible_cpus();
  bpf_map__set_max_entries(skeleton->maps.events, options.ring_bytes);
  if (const int code = events_bpf__load(skeleton.get()); code != 0)
    return bpf_error(doing, code, warning.text(), log.text());
  if (const Status status = set_comms(*skeleton, filter); !status.ok()) return status.error();
  if (const int code = events_bpf__attach(skeleton.get()); code != 0)
    return bpf_error("attaching the BPF programs", code, warning.text(), "");
  return skeleton;
}

// The process of a thread that may be dying; nullopt where /proc has it no more.
std::optional<pid_t> process_of_thread(pid_t tid) {
  const Result<std::string> status = read_small_file(fmt::format("/proc/{}/status", tid));
  if (!status.ok()) return std::nullopt;
  std::optional<pid_t> process;
  for_each_line(*status, [&](std::string_view line) {
    if (!line.starts_with(kProcessField)) return;
    if (const auto tgid = parse_int(trim(line.substr(kProcessField.size()))))
      process = static_cast<pid_t>(*tgid);
  });
  return process;
}

class BpfEvents : public EventSource {
 public:
  BpfEvents(Skeleton skeleton, int possible_cpus)
      : skeleton_(std::move(skeleton)),
        lost_per_cpu_(static_cast<size_t>(possible_cpus)),
        page_bytes_(sysconf(_SC_PAGESIZE)) {}

  Status open_ring() {
    ring_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.events), on_record, this, nullptr));
    if (!ring_) return errno_error("mapping the BPF ring buffer", errno);
    return Ok{};
  }

  const char* name() const override { return "bpf"; }
  int poll_fd() const override { return ring_buffer__epoll_fd(ring_.get()); }

  void drain(const Sink& sink) override {
    sink_ = &sink;
    ring_buffer__consume(ring_.get());
    sink_ = nullptr;
  }

  Status track(pid_t pid, int64_t start_boot_ns) override;

  void untrack(pid_t pid) override { bpf_map_delete_elem(tracked_fd(), &pid); }

  uint64_t lost_count() override {
    const __u32 slot = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.lost_events), &slot, lost_per_cpu_.data()) != 0)
      return 0;
    uint64_t sum = 0;
    for (const __u64 lost : lost_per_cpu_) sum += lost;
    return sum;
  }

 private:
  int tracked_fd() const { return bpf_map__fd(skeleton_->maps.tracked_processes); }

  static int on_record(void* self, void* record, size_t size) {
    static_cast<BpfEvents*>(self)->deliver({static_cast<const std::byte*>(record), size});
    return 0;
  }

  void deliver(std::span<const std::byte> record) {
    std::optional<KernelEvent> event = decode_bpf_event(record, page_bytes_);
    if (!event) return;
    // Older kernels name the victim by a thread's id alone.
    if (event->pid == 0)
      event->pid = process_of_thread(event->oom.victim_tid).value_or(event->oom.victim_tid);
    (*sink_)(*event);
  }

  Skeleton skeleton_;
  Ring ring_;
  std::vector<__u64> lost_per_cpu_;
  int64_t page_bytes_;
  const Sink* sink_ = nullptr;
};

Status BpfEvents::track(pid_t pid, int64_t start_boot_ns) {
  const BpfTrackedProcess added{static_cast<__u64>(start_boot_ns), BPF_UNKNOWN};
  // The kernel side may add the same process at any moment and knows more of it: its entry stays.
  if (bpf_map_update_elem(tracked_fd(), &pid, &added, BPF_NOEXIST) == 0) return Ok{};
  if (errno == EEXIST) {
    BpfTrackedProcess present{};
    const bool same = bpf_map_lookup_elem(tracked_fd(), &pid, &present) == 0 &&
                      static_cast<int64_t>(present.start_boot_ns) / kTickNs == start_boot_ns / kTickNs;
    if (same || bpf_map_update_elem(tracked_fd(), &pid, &added, BPF_ANY) == 0) return Ok{};
  }
  Error error = errno_error(fmt::format("tracking process {} in the kernel", pid), errno);
  if (error.code == E2BIG)
    error.reason = fmt::format("{} processes are tracked already", int{kBpfMaxTracked});
  return error;
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_bpf_events(const EventFilter& filter, const BpfOptions& options) {
  if (filter.comms.size() > kBpfMaxComms)
    return Error{"loading the BPF programs", fmt::format("more than {} names", int{kBpfMaxComms}), "", 0};
  Result<Skeleton> skeleton = load_programs(filter, options);
  if (!skeleton.ok()) return skeleton.error();
  auto events = std::make_unique<BpfEvents>(std::move(*skeleton), libbpf_num_possible_cpus());
  if (const Status status = events->open_ring(); !status.ok()) return status.error();
  return std::unique_ptr<EventSource>(std::move(events));
}

Result<std::unique_ptr<EventSource>> open_bpf_events(const EventFilter& filter) {
  return open_bpf_events(filter, BpfOptions{});
}

}  // namespace memlog
