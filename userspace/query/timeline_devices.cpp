// SPDX-License-Identifier: Apache-2.0
#include "query/timeline_devices.h"

#include <algorithm>

#include "query/devices.h"

namespace memlog {
namespace {

constexpr int64_t kPointsOfAll = 4;  // times the points of a series: shared out among the single devices
constexpr int64_t kLeastPoints = 40;

// Columns of device_total in the order of its roll-up.
enum Column : size_t { device_count, dram, dram_min, dram_max, live, ghost, chip };

// One device of all: minimum and maximum are exact, the mean is where no device came or went in the span.
void derive_chip(Span& span) {
  const SpanMeasure& count = span.measures[device_count];
  const SpanMeasure& total = span.measures[dram];
  const SpanMeasure& least = span.measures[dram_min];
  const SpanMeasure& most = span.measures[dram_max];
  if (!count.is_known || !total.is_known || !least.is_known || !most.is_known) return;
  const auto share = [&](int64_t bytes, int64_t devices) {
    return std::clamp(bytes / std::max<int64_t>(1, devices), least.min, std::max(least.min, most.max));
  };
  span.measures[chip] = {true, least.min, std::max(least.min, most.max), share(total.mean, count.mean),
                         share(total.last, count.last)};
}

Status add_totals(Database& database, Timeline& timeline, const SampleGaps& gaps, int64_t points) {
  const RollupTable table = device_total_rollup_table();
  static_assert(kDeviceTotalColumns.size() == chip && chip < kRollupMostColumns);
  Result<SeriesReader> reader = SeriesReader::prepare(database, table, table.columns, timeline, gaps);
  if (!reader) return reader.error();
  SeriesReader::Options options;
  options.points = points;
  options.derived = {"dram_chip_bytes"};
  options.derive = derive_chip;
  Result<SeriesReader::Reading> reading = reader->read(timeline.run_id, options);
  if (!reading) return reading.error();
  timeline.resolution_ns = std::max(timeline.resolution_ns, reading->resolution_ns);
  const auto find = [&](const char* name) {
    return std::find_if(reading->series.begin(), reading->series.end(),
                        [&](const TimelineSeries& series) { return series.name == name; });
  };
  const auto most = find("dram_max_bytes");
  const auto of_chips = find("dram_chip_bytes");
  if (most != reading->series.end() && of_chips != reading->series.end()) {
    of_chips->peak = most->peak;
    of_chips->peak_ns = most->peak_ns;
  }
  if (const auto count = find("device_count"); count != reading->series.end())
    timeline.device_count = count->peak.value_or(0);
  for (const char* name : {"dram_bytes", "live_bytes", "ghost_bytes", "dram_chip_bytes"}) {
    if (const auto series = find(name); series != reading->series.end())
      timeline.device_totals.push_back(std::move(*series));
  }
  return Ok{};
}

Status add_single(Database& database, Timeline& timeline, const SampleGaps& gaps, int64_t points,
                  const std::vector<DeviceSummary>& devices) {
  const RollupTable table = device_rollup_table();
  Result<SeriesReader> reader = SeriesReader::prepare(database, table, table.columns, timeline, gaps);
  if (!reader) return reader.error();
  SeriesReader::Options options;
  options.points = std::clamp(points * kPointsOfAll / static_cast<int64_t>(devices.size()),
                              std::min(points, kLeastPoints), points);
  options.spans_a_point = 2;
  for (const DeviceSummary& device : devices) {
    Result<SeriesReader::Reading> reading = reader->read(device.id, options);
    if (!reading) return reading.error();
    timeline.devices.push_back(
        {device.name, std::move(reading->series), device.unreadable_reason.value_or("")});
  }
  return Ok{};
}

}  // namespace

Status add_devices(Database& database, Timeline& timeline, const SampleGaps& gaps, int64_t points) {
  if (const Status status = add_totals(database, timeline, gaps, points); !status) return status;
  const Result<std::vector<DeviceSummary>> devices = device_summaries(database, timeline.run_id);
  if (!devices) return devices.error();
  if (devices->empty()) return Ok{};
  timeline.device_ghosts = ghost_sentences(*devices);
  const Result<std::optional<std::string>> spread = device_spread(database, timeline.run_id, *devices);
  if (!spread) return spread.error();
  timeline.device_spread = spread->value_or("");
  for (const DeviceSummary& device : *devices) {
    if (device.unreadable_reason)
      timeline.notes.push_back("device memory unknown: " + device.region + ": " + *device.unreadable_reason);
  }
  return add_single(database, timeline, gaps, points, *devices);
}

}  // namespace memlog
