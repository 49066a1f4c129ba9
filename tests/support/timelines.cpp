// SPDX-License-Identifier: Apache-2.0
#include "support/timelines.h"

#include <algorithm>
#include <cmath>

namespace memlog::testing {
namespace {

constexpr int64_t kGiB = 1024 * kMiB;

void settle_peak(TimelineSeries& series) {
  for (const TimelinePoint& point : series.points) {
    if (series.peak.has_value() && point.max <= series.peak.value()) continue;
    series.peak = point.max;
    series.peak_ns = point.begin_ns;
  }
}

double noise(double x) { return std::sin(x * 91.7) * std::cos(x * 47.3 + 1) * 0.5 + std::sin(x * 301) * 0.5; }

int64_t growing(double x, double most) {
  const double steps = std::floor(x * 6) / 6 + 0.12 * (1 - std::exp(-(x * 6 - std::floor(x * 6)) * 5));
  return static_cast<int64_t>(most * (0.08 + 0.85 * steps + 0.01 * noise(x)));
}

void add_event(Timeline& timeline, int64_t second, EventKind kind, int64_t process_id, std::string text) {
  timeline.events.push_back({kBegin + second * kSecond, kind, process_id, std::move(text)});
}

std::vector<TimelineSeries> worker_series(size_t count, int64_t span_s, double most, double shift) {
  const auto rss = [=](double x) { return growing(std::fmod(x + shift, 1.0), most); };
  return {thinned_series("rss_bytes", count, span_s, rss, static_cast<int64_t>(most / 25)),
          thinned_series(
              "oom_score", count, span_s, [=](double x) { return 660 + rss(x) * 200 / (8 * kGiB); }, 1)};
}

Timeline named(Timeline timeline, std::string title) {
  timeline.title = std::move(title);
  return timeline;
}

}  // namespace

TimelineSeries raw_series(std::string name, const std::vector<int64_t>& values, int64_t step_s,
                          int64_t first_s) {
  TimelineSeries series;
  series.name = std::move(name);
  int64_t time_ns = kBegin + first_s * kSecond;
  for (const int64_t value : values) {
    series.points.push_back({time_ns, time_ns, value, value, value, value, false});
    time_ns += step_s * kSecond;
  }
  settle_peak(series);
  return series;
}

TimelineSeries thinned_series(std::string name, size_t count, int64_t span_s,
                              const std::function<int64_t(double)>& shape, int64_t spread) {
  TimelineSeries series;
  series.name = std::move(name);
  for (size_t at = 0; at < count; ++at) {
    const double x = static_cast<double>(at) / static_cast<double>(count);
    const int64_t mean = std::max<int64_t>(shape(x), 0);
    const auto away =
        static_cast<int64_t>(static_cast<double>(spread) * (0.5 + 0.5 * std::abs(noise(x * 3))));
    const int64_t begin = kBegin + static_cast<int64_t>(at) * span_s * kSecond;
    series.points.push_back({begin, begin + span_s * kSecond * 9 / 10, std::max<int64_t>(0, mean - away),
                             mean + away, mean, mean, false});
  }
  settle_peak(series);
  return series;
}

TimelineProcess process(int64_t id, int64_t pid, std::string name, std::vector<TimelineSeries> series) {
  TimelineProcess process;
  process.id = id;
  process.pid = pid;
  process.parent_pid = 1;
  process.name = std::move(name);
  process.first_seen_ns = kBegin;
  for (const TimelineSeries& one : series) {
    if (one.name != "rss_bytes") continue;
    process.peak_rss_bytes = one.peak;
    process.peak_source = PeakSource::sampled;
    process.sample_count = static_cast<int64_t>(one.points.size());
  }
  process.series = std::move(series);
  return process;
}

Timeline timeline(std::vector<TimelineProcess> processes, int64_t length_s) {
  Timeline timeline;
  timeline.run_id = 7;
  timeline.title = "worker";
  timeline.host = "build-17";
  timeline.target = "name worker";
  timeline.source = "run 7";
  timeline.ending = "ended: the last process ended";
  timeline.event_source = "bpf";
  timeline.interval_ns = kSecond;
  timeline.begin_ns = kBegin;
  timeline.end_ns = kBegin + length_s * kSecond;
  for (const TimelineProcess& process : processes) timeline.sample_count += process.sample_count;
  timeline.processes = std::move(processes);
  return timeline;
}

Timeline single_process_scene() {
  const size_t count = 900;
  const auto rss = [](double x) { return growing(x, 3.1 * kGiB); };
  const auto file = [](double x) { return static_cast<int64_t>(220 * kMiB * (1 - 0.5 * x)); };
  const auto shmem = [](double x) { return static_cast<int64_t>((x > 0.3 ? 400.0 : 0.0) * kMiB); };
  TimelineProcess one = process(
      1, 41327, "train.py",
      {thinned_series(
           "rss_bytes", count, 4, [&](double x) { return rss(x) + file(x) + shmem(x); }, 90 * kMiB),
       thinned_series("anon_bytes", count, 4, rss, 0), thinned_series("file_bytes", count, 4, file, 0),
       thinned_series("shmem_bytes", count, 4, shmem, 0),
       thinned_series(
           "swap_bytes", count, 4,
           [](double x) { return x > 0.7 ? static_cast<int64_t>((x - 0.7) * 900 * kMiB) : 0; }, 0),
       thinned_series("oom_score", count, 4, [&](double x) { return 667 + rss(x) * 150 / (8 * kGiB); }, 0)});
  one.ended_ns = kBegin + 3600 * kSecond;
  one.end_reason = EndReason::exited;
  one.exit_status = 0;
  Timeline scene = timeline({one}, 3600);
  scene.title = "nightly training";
  scene.resolution_ns = 4 * kSecond;
  scene.sample_count = 3600000;
  scene.cgroups.push_back(
      {"/jobs/train", {thinned_series("limit_bytes", 10, 360, [](double) { return 5 * kGiB; }, 0)}});
  scene.host_series.push_back(
      thinned_series("mem_available_bytes", count, 4, [](double) { return 40 * kGiB; }, kGiB));
  add_event(scene, 0, EventKind::attach, 1, "attached to train.py (41327)");
  add_event(scene, 1500, EventKind::mark, 0, "epoch 2");
  add_event(scene, 2700, EventKind::mark, 0, "epoch 3");
  add_event(scene, 3600, EventKind::exit, 1, "train.py (41327) exited with status 0");
  return scene;
}

Timeline oom_scene() {
  std::vector<TimelineProcess> processes;
  for (int64_t index = 0; index < 4; ++index) {
    const double most = (0.4 + 0.5 * static_cast<double>(index == 0)) * kGiB;
    processes.push_back(process(index + 1, 900 + index, "worker",
                                worker_series(600, 1, most, 0.13 * static_cast<double>(index))));
    processes.back().ended_ns = kBegin + 600 * kSecond;
  }
  processes[0].end_reason = EndReason::oom_killed;
  processes[0].exit_signal = 9;
  processes[2].end_reason = EndReason::exited;
  processes[2].exit_status = 3;
  processes[2].peak_rss_bytes = 780 * kMiB;
  processes[2].peak_source = PeakSource::kernel;
  Timeline scene = timeline(std::move(processes), 600);
  scene.ending = "one of 4 processes was killed for memory: worker (900), limit of /jobs 1.00 GiB";
  scene.cgroups.push_back({"/jobs", {thinned_series("limit_bytes", 100, 6, [](double) { return kGiB; }, 0)}});
  scene.host_series.push_back(thinned_series(
      "mem_available_bytes", 600, 1, [](double x) { return static_cast<int64_t>((2.2 - x) * kGiB); }, 0));
  for (int64_t index = 0; index < 4; ++index) {
    add_event(scene, index * 9, EventKind::fork, index + 1,
              "worker (900) forked worker (90" + std::to_string(index) + ")");
  }
  add_event(scene, 300, EventKind::mark, 0, "second phase");
  add_event(scene, 598, EventKind::oom_kill, 1, "OOM kill: worker (900), limit of /jobs 1.00 GiB");
  add_event(scene, 599, EventKind::exit, 3, "worker (902) exited with status 3");
  add_event(scene, 600, EventKind::exit, 1, "worker (900) was killed by SIGKILL");
  return scene;
}

Timeline many_processes_scene(size_t count) {
  std::vector<TimelineProcess> processes;
  Timeline scene = timeline({}, 1200);
  for (size_t index = 0; index < count; ++index) {
    const auto id = static_cast<int64_t>(index) + 1;
    const double most = 900.0 * kMiB / (1 + 0.25 * static_cast<double>(index));
    processes.push_back(
        process(id, 2000 + id, "cc1plus", worker_series(400, 3, most, 0.037 * static_cast<double>(index))));
    processes.back().ended_ns = kBegin + (900 + 3 * id) % 1200 * kSecond;
    processes.back().end_reason = EndReason::exited;
    processes.back().exit_status = index % 50 == 49 ? 1 : 0;
    add_event(scene, id * 5 % 1200, EventKind::exec, id,
              "cc1plus (" + std::to_string(2000 + id) + ") started");
    add_event(
        scene, (900 + 3 * id) % 1200, EventKind::exit, id,
        "cc1plus (" + std::to_string(2000 + id) + ") exited with status " + (index % 50 == 49 ? "1" : "0"));
  }
  scene.processes = std::move(processes);
  scene.title = "make -j8";
  scene.resolution_ns = 3 * kSecond;
  std::stable_sort(
      scene.events.begin(), scene.events.end(),
      [](const TimelineEvent& left, const TimelineEvent& right) { return left.time_ns < right.time_ns; });
  return scene;
}

Timeline spike_scene() {
  TimelineSeries rss = thinned_series("rss_bytes", 2000, 500, [](double) { return 100 * kMiB; }, kMiB);
  rss.points[1234].max = 9 * kGiB;
  rss.points[1234].mean += 17 * kMiB;
  rss.peak = 9 * kGiB;
  rss.peak_ns = rss.points[1234].begin_ns + 100 * kSecond;
  Timeline scene = timeline({process(1, 77, "indexer", {rss})}, 1000000);
  scene.resolution_ns = 500 * kSecond;
  scene.sample_count = 1000000;
  return scene;
}

Timeline gap_scene() {
  TimelineSeries rss = raw_series("rss_bytes", std::vector<int64_t>(11, 200 * kMiB));
  TimelineSeries after = raw_series("rss_bytes", std::vector<int64_t>(11, 260 * kMiB), 1, 60);
  after.points.front().follows_a_break = true;
  rss.points.insert(rss.points.end(), after.points.begin(), after.points.end());
  rss.peak = 260 * kMiB;
  rss.peak_ns = kBegin + 60 * kSecond;
  Timeline scene = timeline({process(1, 77, "indexer", {rss})}, 70);
  scene.gaps.push_back(
      {kBegin + 10 * kSecond, kBegin + 60 * kSecond, GapKind::suspend, "the machine slept 50 s"});
  return scene;
}

// `count` chips in lockstep, but for a stale one of `ghost_gib` where that is above 0.
Timeline device_scene(int64_t count, int64_t ghost_gib) {
  Timeline scene = single_process_scene();
  scene.title = "serve";
  scene.device_count = count;
  const int64_t ghost = ghost_gib * kGiB;
  const auto one = [](double x) { return growing(x, 8.0 * kGiB); };
  const auto live = [=](double x) { return (ghost > 0 ? count - 1 : count) * one(x); };
  for (int64_t chip = 0; chip < count; ++chip) {
    const bool is_stale = ghost > 0 && chip == 1;
    const auto dram = [=](double x) { return is_stale ? ghost : one(x); };
    scene.devices.push_back({"device " + std::to_string(chip),
                             {thinned_series("dram_bytes", 300, 12, dram, is_stale ? 0 : 50 * kMiB)},
                             ""});
  }
  TimelineSeries chips =
      thinned_series("dram_chip_bytes", 900, 4, [=](double x) { return (live(x) + ghost) / count; }, 0);
  for (size_t at = 0; at < chips.points.size(); ++at) {
    const int64_t busy = one(static_cast<double>(at) / 900);
    chips.points[at].min = ghost > 0 ? std::min(ghost, busy) : busy - 20 * kMiB;
    chips.points[at].max = ghost > 0 ? std::max(ghost, busy) : busy + 20 * kMiB;
  }
  settle_peak(chips);
  scene.device_totals = {thinned_series(
                             "dram_bytes", 900, 4, [=](double x) { return live(x) + ghost; }, 50 * kMiB),
                         thinned_series("live_bytes", 900, 4, live, 50 * kMiB),
                         thinned_series("ghost_bytes", 900, 4, [=](double) { return ghost; }, 0), chips};
  scene.processes.front().peak_device_bytes = live(0.99);
  if (ghost == 0) return scene;
  scene.device_ghosts = {
      "ghost 4.00 GiB of a dead process 4711 (worker) in tt_device_141176416515937_memory"};
  scene.device_spread =
      std::to_string(count) +
      " devices of one workload not in lockstep: 612 MiB in device 0 to 4.00 GiB in device 1";
  return scene;
}

std::vector<Scene> scenes() {
  const std::string long_name(300, 'x');
  std::vector<Scene> scenes;
  scenes.push_back({"single", {single_process_scene()}});
  scenes.push_back({"oom", {oom_scene()}});
  scenes.push_back({"many", {many_processes_scene(200)}});
  scenes.push_back({"spike", {spike_scene()}});
  scenes.push_back({"gap", {gap_scene()}});
  scenes.push_back({"device_1", {device_scene(1, 0)}});
  scenes.push_back({"device_8_ghost", {device_scene(8, 4)}});
  scenes.push_back({"device_32", {device_scene(32, 0)}});
  scenes.push_back({"no_samples", {timeline({}, 30)}});
  scenes.push_back({"nothing", {Timeline{}}});
  scenes.push_back(
      {"one_sample", {timeline({process(1, 7, "a", {raw_series("rss_bytes", {50 * kMiB})})}, 0)}});
  scenes.push_back(
      {"equal",
       {timeline({process(1, 7, "a", {raw_series("rss_bytes", std::vector<int64_t>(100, 50 * kMiB))})},
                 99)}});
  scenes.push_back(
      {"zero",
       {timeline({process(1, 7, "a", {raw_series("rss_bytes", std::vector<int64_t>(100, 0))})}, 99)}});
  Timeline hostile =
      timeline({process(1, 7, "</script><b>", {raw_series("rss_bytes", {kMiB, 2 * kMiB, 3 * kMiB})}),
                process(2, 8, long_name, {raw_series("rss_bytes", {kMiB, kMiB, kMiB})}),
                process(3, 9, "\xff\x01\xf0\x9f\x92\xa9", {raw_series("rss_bytes", {5, 6, 7})})},
               2);
  hostile.title = "<!--<script>" + long_name;
  hostile.ending = "<img src=x onerror=alert(1)>";
  add_event(hostile, 1, EventKind::mark, 0, "</script><b> " + long_name);
  scenes.push_back({"hostile", {hostile}});
  Timeline earlier = named(oom_scene(), "before the change");
  Timeline later = named(many_processes_scene(3), "after the change");
  scenes.push_back({"stacked", {earlier, later, named(single_process_scene(), "third")}});
  return scenes;
}

}  // namespace memlog::testing
