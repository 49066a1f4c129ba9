// SPDX-License-Identifier: Apache-2.0
// timeline_bench [MILLIONS]: what roll-ups cost and give. Stores MILLIONS (10) of samples of one process with
// and without the roll-ups' rows counted, asks for one screen of them as memlog does and by GROUP BY over the
// samples, and writes and reads them as CSV. Prints times and ratios; asserts nothing.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"
#include "bench/long_run.h"
#include "cli/commands.h"
#include "query/timeline.h"
#include "store/repair.h"

namespace {

using namespace memlog;  // NOLINT(google-build-using-namespace)

constexpr int64_t kPoints = 1200;

double seconds_since(int64_t begin_ns) {
  return static_cast<double>(boot_now_ns() - begin_ns) / static_cast<double>(kNsPerSecond);
}

// Both clocks of a piece of work: on a busy machine the processor's tells more.
struct Stopwatch {
  int64_t begin_ns = boot_now_ns();
  std::clock_t begin_cpu = std::clock();
  std::string rate(int64_t count) const {
    const double cpu_seconds = static_cast<double>(std::clock() - begin_cpu) / CLOCKS_PER_SEC;
    return fmt::format("{:.0f} rows/s, {:.0f} rows a second of processor time",
                       static_cast<double>(count) / seconds_since(begin_ns),
                       static_cast<double>(count) / cpu_seconds);
  }
};

int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

double screen_seconds(Database& database, int64_t run_id) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const int64_t begin_ns = boot_now_ns();
    TimelineRequest request;
    request.points = kPoints;
    const Timeline timeline = or_die(read_timeline(database, run_id, request));
    best = std::min(best, seconds_since(begin_ns));
    if (i == 0)
      fmt::print("  {} points of {} samples\n", timeline.processes[0].series[0].points.size(),
                 timeline.sample_count);
  }
  return best;
}

double group_by_seconds(Database& database, int64_t count) {
  const int64_t begin_ns = boot_now_ns();
  const int64_t cell_ns = count * kNsPerMs / kPoints;
  int64_t rows = 0;
  or_die(database.each(
      "SELECT min(time_ns), min(rss_bytes), max(rss_bytes), avg(rss_bytes), min(anon_bytes), "
      "max(anon_bytes), "
      "avg(anon_bytes), max(swap_bytes), max(oom_score) FROM process_sample WHERE process_id = 1 "
      "GROUP BY (time_ns - ?) / ?",
      {Nullable(kLongRunStart), Nullable(cell_ns)}, [&](const Statement&) { ++rows; }));
  return seconds_since(begin_ns);
}

void bench(const std::string& directory, int64_t count) {
  const std::string path = directory + "/bench.db";
  const Stopwatch storing;
  store_long_run(path, count);
  fmt::print("store {} samples: {}\n", count, storing.rate(count));
  Database database = or_die(open_for_reading(path));
  const auto page_bytes = [&](const char* tables) {
    return or_die(database.integer(std::string("SELECT sum(pgsize) FROM dbstat WHERE name ") + tables))
        .value_or(0);
  };
  const Result<Nullable> has_dbstat = database.integer("SELECT 1 FROM dbstat LIMIT 1");
  if (has_dbstat)
    fmt::print("bytes a sample: {:.1f}, roll-ups {:.1f}\n",
               static_cast<double>(page_bytes("= 'process_sample'")) / static_cast<double>(count),
               static_cast<double>(page_bytes("LIKE '%_rollup'")) / static_cast<double>(count));
  const double screen = screen_seconds(database, 1);
  const double grouped = group_by_seconds(database, count);
  fmt::print("one screen: {:.2f} ms, GROUP BY {:.2f} s: {:.0f} times\n", screen * 1e3, grouped,
             grouped / screen);
  const int64_t before_kib = peak_kib();
  ExportOptions to_csv;
  to_csv.database = path;
  to_csv.run = "1";
  to_csv.csv = directory + "/bench.csv";
  const Stopwatch exporting;
  run_export(to_csv);
  fmt::print("export: {}\n", exporting.rate(count));
  ImportOptions from_csv;
  from_csv.database = directory + "/import.db";
  from_csv.files = {to_csv.csv};
  const Stopwatch importing;
  run_import(from_csv);
  fmt::print("import: {}\n", importing.rate(count));
  fmt::print("peak memory: {} MiB before CSV, {} MiB after\n", before_kib / 1024, peak_kib() / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t millions = argc > 1 ? parse_int(argv[1]).value_or(10) : 10;
  std::string pattern = (std::filesystem::temp_directory_path() / "memlog-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  const std::string& directory = pattern;
  int status = 0;
  try {
    bench(directory, millions * 1'000'000);
  } catch (const FatalError& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    status = 1;
  }
  std::filesystem::remove_all(directory);
  return status;
}
