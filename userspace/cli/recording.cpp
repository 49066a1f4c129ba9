// SPDX-License-Identifier: Apache-2.0
#include "cli/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <thread>

#include "base/small_file.h"
#include "base/talk.h"
#include "base/text.h"
#include "collect/event_source.h"
#include "record/recorder.h"
#include "record/run_facts.h"
#include "record/survival.h"
#include "record/writer_thread.h"
#include "store/location.h"

namespace memlog {
namespace {

constexpr int kTargetGone = 1;  // exit status for a --pid that is not there
constexpr size_t kQueueRecords = size_t{16} * 1024;
constexpr int64_t kCommitIntervalNs = kNsPerSecond;
constexpr size_t kReservedFiles = 64;  // descriptors that are not samplers'
constexpr size_t kLinesPerSecond = 20;

std::optional<CgroupMount> find_cgroup_mount() {
  const Result<std::string> mountinfo = read_small_file("/proc/self/mountinfo", size_t{1} << 20);
  return mountinfo ? parse_cgroup_mount(*mountinfo) : std::nullopt;
}

// Signals that end a recording are taken by the recorder's signalfd, so every thread blocks them. Returns the mask
// before, which a launched command gets back.
sigset_t block_ending_signals() {
  sigset_t ending;
  sigset_t before;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  signal(SIGPIPE, SIG_IGN);
  return before;
}

std::unique_ptr<EventSource> open_events(const RecordOptions& options, const Target& target) {
  if (options.no_bpf) {
    say("looking through /proc instead of kernel events, as asked: short-lived processes can be missed");
    return nullptr;
  }
  Result<std::unique_ptr<EventSource>> source = open_bpf_events(target.event_filter());
  if (source) return std::move(*source);
  warn(fmt::format(
      "no kernel events ({}: {}): looking through /proc, so short-lived processes can be missed{}",
      source.error().doing, source.error().reason,
      source.error().hint.empty() ? "" : "; " + source.error().hint));
  return nullptr;
}

std::string status_line(const Target& target, const ProgressNumbers& numbers, int64_t elapsed_ns) {
  if (numbers.attached_count == 0) {
    return fmt::format(" waiting for {} · {}", target.in_words(), format_duration(elapsed_ns));
  }
  std::string line =
      fmt::format(" {} · {} of {} processes · rss {} · peak {} · {} samples", format_duration(elapsed_ns),
                  numbers.live_count, numbers.attached_count, format_bytes(numbers.rss_bytes),
                  format_bytes(numbers.peak_rss_bytes), numbers.sample_count);
  if (numbers.lost_event_count > 0) line += fmt::format(" · {} events lost", numbers.lost_event_count);
  if (numbers.lost_record_count > 0) line += fmt::format(" · {} records lost", numbers.lost_record_count);
  if (numbers.missed_tick_count > 0) line += fmt::format(" · {} ticks missed", numbers.missed_tick_count);
  return line;
}

// Shows what the recorder has to say until it is finished. A storm of lines is cut, and the cut is said.
void show_progress(const Target& target, Progress& progress) {
  const int64_t began_ns = boot_now_ns();
  int64_t second_began_ns = began_ns;
  size_t lines_this_second = 0;
  size_t cut_lines = 0;
  while (true) {
    const Progress::News news = progress.take(std::chrono::milliseconds(stderr_is_terminal() ? 250 : 1000));
    const int64_t now_ns = boot_now_ns();
    cut_lines += news.dropped_lines;
    if (now_ns - second_began_ns >= kNsPerSecond || news.is_finished) {
      if (cut_lines > 0) say(fmt::format("(and {} more such lines)", cut_lines));
      second_began_ns = now_ns;
      lines_this_second = 0;
      cut_lines = 0;
    }
    for (const std::string& line : news.lines) {
      if (lines_this_second++ < kLinesPerSecond) {
        say(line);
      } else {
        ++cut_lines;
      }
    }
    if (news.is_finished) {
      if (cut_lines > 0) say(fmt::format("(and {} more such lines)", cut_lines));
      return clear_status();
    }
    show_status(status_line(target, news.numbers, now_ns - began_ns));
  }
}

RunStart describe_run(const RecordOptions& options, const Target& target, const EventSource* source,
                      const RunClock& clock) {
  RunStart run = run_facts_of_this_host();
  run.label = options.label;
  run.command = options.command_line;
  run.target = target.in_words();
  run.interval_ns = options.interval_ns;
  run.started_ns = clock.time_ns(boot_now_ns());
  run.event_source = source == nullptr ? "scan" : source->name();
  return run;
}

void say_outcome(int64_t run_id, const std::string& why, const ProgressNumbers& numbers) {
  if (numbers.attached_count == 0) {
    say(fmt::format("run {} ended ({}): no matching process was seen", run_id, why));
    return;
  }
  say(fmt::format("run {} ended ({}): {} process{}, {} samples, largest peak {}", run_id, why,
                  numbers.attached_count, numbers.attached_count == 1 ? "" : "es", numbers.sample_count,
                  format_bytes(numbers.peak_rss_bytes)));
  say(fmt::format("see it with: memlog show {}", run_id));
}

}  // namespace

Target target_from(const RecordOptions& options, bool children_by_default) {
  Target target;
  target.names = options.names;
  for (const std::string& name : target.names) {
    if (name.empty()) throw FatalError({"reading --name", "it is empty", ""}, FatalError::kBadUsage);
  }
  for (const int64_t pid : options.pids) {
    if (pid <= 0 || pid > INT32_MAX) {
      throw FatalError({fmt::format("reading --pid {}", pid), "not a process id", ""}, FatalError::kBadUsage);
    }
    target.pids.push_back(static_cast<pid_t>(pid));
    const Result<std::string> comm = read_comm("/proc", target.pids.back());
    if (!comm) {
      throw FatalError(
          {fmt::format("attaching to pid {}", pid), "no such process", "wait for one by name: --name"},
          kTargetGone);
    }
  }
  if (!options.match.empty()) target.match = or_die(Regex::compile(options.match), FatalError::kBadUsage);
  if (!options.cgroup.empty()) {
    const std::optional<CgroupMount> mount = find_cgroup_mount();
    if (!mount) {
      throw FatalError(
          {"finding cgroup " + printable(options.cgroup), "no memory cgroups are mounted here", ""},
          FatalError::kBadUsage);
    }
    target.cgroup = or_die(cgroup_path_from_argument(*mount, options.cgroup), FatalError::kBadUsage);
  }
  target.children = options.children.value_or(children_by_default);
  target.launched = fmt::format("{}", fmt::join(options.command, " "));
  return target;
}

RecordingOutcome record(const RecordOptions& options, Target target) {
  const sigset_t mask_before = block_ending_signals();
  std::optional<Launcher> launcher;
  if (!options.command.empty()) launcher = or_die(Launcher::start(options.command, mask_before));
  const std::string database = or_die(prepare_database_path(options.database));
  const Survival survival = harden_this_process();
  if (!options.quiet) {
    for (const std::string& what : survival.missing) say("note: " + what);
  }
  const std::unique_ptr<EventSource> source = open_events(options, target);

  const ClockPair clocks = read_clock_pair();
  Recorder::Options recording;
  recording.cgroup_mount = find_cgroup_mount();
  recording.clock.wall_minus_boot_ns = clocks.wall_ns - clocks.boot_ns;
  recording.interval_ns = options.interval_ns;
  recording.duration_ns = options.duration_ns;
  recording.keep = options.keep;
  recording.pss = options.pss;
  recording.kept_file_limit = survival.file_limit > kReservedFiles ? survival.file_limit - kReservedFiles : 0;

  const std::unique_ptr<RunWriter> writer =
      or_die(RunWriter::begin(database, describe_run(options, target, source.get(), recording.clock)));
  RecordQueue queue(kQueueRecords);
  Progress progress;
  Recorder recorder(target, recording, source.get(), launcher ? &*launcher : nullptr, queue, progress);
  WriterThread writing(*writer, queue, kCommitIntervalNs, [&](const std::string& reason) {
    progress.say(
        reason.empty()
            ? "storing works again"
            : fmt::format("cannot store ({}): keeping what fits in memory and trying again", reason));
  });

  std::string why;
  const Status begun = recorder.begin();
  if (begun) {
    say(fmt::format("run {}: {} {} every {} into {}", writer->run_id(),
                    launcher ? "recording" : "waiting for", target.in_words(),
                    format_duration(options.interval_ns), database));
    std::thread recording_thread([&] {
      why = recorder.run();
      progress.finish();
    });
    show_progress(target, progress);
    recording_thread.join();
  } else {
    why = begun.error().doing + ": " + begun.error().reason;
  }
  const Status stored = writing.finish();
  if (recorder.has_lost_events() || recorder.numbers().lost_record_count > 0)
    or_die(writer->mark_incomplete());
  if (!stored) throw FatalError(stored.error());
  or_die(writer->end({recording.clock.time_ns(boot_now_ns()), why}));
  if (!begun) {
    const bool exec_failed = launcher.has_value() && begun.error().code != 0;
    throw FatalError(begun.error(),
                     exec_failed ? Launcher::exec_failure_status(begun.error().code) : kTargetGone);
  }
  say_outcome(writer->run_id(), why, recorder.numbers());
  return {writer->run_id(), recorder.launched_status()};
}

}  // namespace memlog
