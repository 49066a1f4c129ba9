// SPDX-License-Identifier: Apache-2.0
// memlog export RUN --csv FILE: the samples of a run by time, as memory_logger.py writes them or with all
// that is stored.
#include <fmt/format.h>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "cli/wide_export.h"
#include "csv/sample_writer.h"
#include "query/device_totals.h"
#include "query/runs.h"
#include "query/sample_stream.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr size_t kLineBytes = size_t{64} * 1024;  // collected before they are handed on

void export_narrow(Database& database, int64_t run_id, bool is_safe, OutputFile& file) {
  SampleStream stream =
      or_die(SampleStream::open(database, run_id, {"rss_bytes", "swap_bytes", "oom_score"}));
  DeviceTotals devices = or_die(DeviceTotals::open(database, run_id));
  NarrowWriter writer(is_safe, devices.has_any());
  ProgressLine progress;
  std::string lines = narrow_header(devices.has_any());
  for (int64_t row_count = 0; or_die(stream.next()); ++row_count) {
    const SampleStream::Process& process = stream.processes()[stream.process()];
    NarrowRow row{stream.time_ns(), process.pid, process.name, stream.value(0), stream.value(1),
                  stream.value(2),  {}};
    if (devices.has_any()) row.devices = or_die(devices.at(row.time_ns));
    writer.append(lines, row);
    if (progress.wants_text(row_count))
      progress.set(fmt::format("exporting run {}: {} rows", run_id, row_count));
    if (lines.size() < kLineBytes) continue;
    or_die(file.write(lines));
    lines.clear();
  }
  or_die(file.write(lines));
}

}  // namespace

int run_export(const ExportOptions& options) {
  Database database = or_die(open_for_reading(or_die(database_path(options.database))));
  const int64_t run_id = or_die(find_run(database, options.run), FatalError::kBadUsage);
  OutputFile file = or_die(OutputFile::create(options.csv));
  const Transaction snapshot = or_die(Transaction::begin_reading(database));
  if (options.wide) {
    export_wide(database, run_id, options.spreadsheet_safe, file);
  } else {
    export_narrow(database, run_id, options.spreadsheet_safe, file);
  }
  or_die(file.commit());
  return 0;
}

}  // namespace memlog
