// SPDX-License-Identifier: Apache-2.0
#include "cli/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "base/output_file.h"
#include "base/small_file.h"
#include "base/talk.h"
#include "base/text.h"
#include "cli/live_serving.h"
#include "cli/recording_talk.h"
#include "cli/render.h"
#include "collect/device_driver.h"
#include "collect/event_source.h"
#include "record/recorder.h"
#include "record/run_facts.h"
#include "record/survival.h"
#include "record/writer_thread.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr int kTargetGone = 1;  // exit status for a --pid that is not there
constexpr size_t kQueueRecords = size_t{16} * 1024;
constexpr int64_t kCommitIntervalNs = kNsPerSecond;
constexpr size_t kReservedFiles = 64;  // descriptors that are not samplers'

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

// What the recorder needs to know besides its target.
Recorder::Options recorder_options(const RecordOptions& options, const Survival& survival) {
  const ClockPair clocks = read_clock_pair();
  Recorder::Options recording;
  recording.cgroup_mount = find_cgroup_mount();
  recording.clock.wall_minus_boot_ns = clocks.wall_ns - clocks.boot_ns;
  recording.interval_ns = options.interval_ns;
  recording.duration_ns = options.duration_ns;
  recording.keep = options.keep;
  recording.pss = options.pss;
  if (options.device_dram) recording.device_directory = options.device_dir;
  recording.kept_file_limit = survival.file_limit > kReservedFiles ? survival.file_limit - kReservedFiles : 0;
  return recording;
}

// The files that were asked for, of the run that has just ended. One that cannot be made does not keep the others.
void write_outputs(const RecordOptions& options, const std::string& database, int64_t run_id) {
  if (options.png || options.html) {
    RenderOptions render;
    render.png = options.png;
    render.html = options.html;
    Database opened = or_die(open_for_reading(database));
    const Result<std::vector<std::string>> paths = render_run_files(opened, run_id, render);
    if (!paths) complain(paths.error());
    if (paths) {
      for (const std::string& path : *paths) say("wrote " + path);
    }
  }
  if (!options.csv) return;
  ExportOptions csv;
  csv.database = database;
  csv.run = std::to_string(run_id);
  csv.csv =
      options.csv->empty() ? free_file_name(fmt::format("memlog-run-{}", run_id), ".csv") : *options.csv;
  try {
    run_export(csv);
    say("wrote " + csv.csv);
  } catch (const FatalError& failure) {
    complain(failure.error());
  }
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
  for (const int64_t device : options.devices) {
    const std::vector<int> known = list_driver_devices("/proc");
    if (std::find(known.begin(), known.end(), device) == known.end()) {
      throw FatalError({fmt::format("finding card {}", device), "the Tenstorrent driver knows no such card",
                        "see /proc/driver/tenstorrent"},
                       FatalError::kBadUsage);
    }
    target.devices.push_back(static_cast<int>(device));
  }
  target.children = options.children.value_or(children_by_default);
  target.launched = fmt::format("{}", fmt::join(options.command, " "));
  return target;
}

RecordingOutcome record(const RecordOptions& options, const Target& target) {
  const RecordingTalk talk(options, target);
  const sigset_t mask_before = block_ending_signals();
  std::optional<Launcher> launcher;  // first: a child would inherit what follows
  if (!options.command.empty()) launcher = or_die(Launcher::start(options.command, mask_before));
  std::string database = or_die(prepare_database_path(options.database));
  const std::unique_ptr<LiveServing> live = LiveServing::start_beside(options, database);
  const std::unique_ptr<EventSource> source = open_events(options, target);
  const Survival survival = harden_this_process();
  talk.say_missing(survival);
  const Recorder::Options recording = recorder_options(options, survival);
  const std::unique_ptr<RunWriter> writer =
      or_die(RunWriter::begin(database, describe_run(options, target, source.get(), recording.clock)));

  RecordQueue queue(kQueueRecords);
  Progress progress;
  Recorder recorder(target, recording, source.get(), launcher ? &*launcher : nullptr, queue, progress);
  WriterThread writing(
      *writer, queue, kCommitIntervalNs,
      [&](const std::string& reason) { progress.warn(RecordingTalk::on_store(reason)); },
      [&](FilePlace place) { progress.warn(RecordingTalk::on_misplaced(place, database)); });
  std::string why;
  const Status begun = recorder.begin();
  if (begun) {
    talk.say_begin(writer->run_id(), database);
    std::thread recording_thread([&] {
      why = recorder.run();
      progress.finish();
    });
    talk.show(progress);
    recording_thread.join();
  }
  const Status stored = writing.finish();
  if (!begun) {
    // Nothing was recorded: a run that holds nothing would only be in the way.
    or_die(writer->discard());
    const bool exec_failed = launcher.has_value() && begun.error().code != 0;
    throw FatalError(begun.error(),
                     exec_failed ? Launcher::exec_failure_status(begun.error().code) : kTargetGone);
  }
  if (recorder.has_lost_anything()) or_die(writer->mark_incomplete());
  or_die(stored);
  or_die(writer->end({recording.clock.time_ns(boot_now_ns()), why}));
  talk.say_end(writer->run_id(), why, recorder.numbers());
  if (writer->place() == FilePlace::deleted) {
    database = or_die(writer->rescue());
    say("the database that was deleted is saved as " + database);
  }
  write_outputs(options, database, writer->run_id());
  if (live != nullptr) live->stay(why);
  return {writer->run_id(), recorder.launched_status()};
}

}  // namespace memlog
