// SPDX-License-Identifier: Apache-2.0
// Any bytes as a CSV file: nothing crashes, lines only go forward, and what is read and written is read as
// the same again. The first byte is the size of the pieces in which the file is read.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "csv/sample_reader.h"
#include "csv/sample_writer.h"

namespace {

using namespace memlog;  // NOLINT(google-build-using-namespace)

CsvRows::Source source_of(std::string text, size_t piece) {
  return [text = std::move(text), piece, at = size_t{0}](std::span<char> space) mutable -> Result<size_t> {
    const size_t length = std::min({piece, space.size(), text.size() - at});
    std::memcpy(space.data(), text.data() + at, length);
    at += length;
    return length;
  };
}

void check(bool is_true) {
  if (!is_true) std::abort();
}

void check_round_trip(const CsvSample& sample) {
  std::string text = narrow_header(true);
  NarrowWriter(false, true)
      .append(text, {sample.time_ns.value(), sample.pid, sample.process_name, sample.values.rss_bytes,
                     sample.values.swap_bytes, sample.values.oom_score, sample.devices});
  Result<SampleReader> reader = SampleReader::open(source_of(text, text.size()), "again");
  check(reader.ok());
  const Result<SampleReader::Found> found = reader->next();
  check(found.ok() && *found == SampleReader::Found::sample);
  const CsvSample& again = reader->sample();
  check(again.time_ns.value() == sample.time_ns.value() / 1000 * 1000);
  check(again.pid == sample.pid && again.process_name == sample.process_name);
  check(again.values.rss_bytes == sample.values.rss_bytes);
  check(again.values.swap_bytes == sample.values.swap_bytes);
  check(again.values.oom_score == sample.values.oom_score);
  const bool has_devices =
      sample.devices.device_count.value_or(0) > 0 && sample.devices.dram_bytes.has_value();
  check(!has_devices || again.devices.device_count == sample.devices.device_count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Result<SampleReader> reader = SampleReader::open(
      source_of(std::string(reinterpret_cast<const char*>(data) + 1, size - 1), size_t{data[0]} + 1), "fuzz");
  if (!reader) return 0;
  int64_t line = 0;
  while (true) {
    const Result<SampleReader::Found> found = reader->next();
    if (!found || *found == SampleReader::Found::end) return 0;
    check(reader->line() >= line);
    line = reader->line();
    if (*found != SampleReader::Found::sample) {
      check(!reader->problem().empty());
      continue;
    }
    std::array<CsvFact, kProcessFacts.size()> process_facts;
    std::array<CsvFact, kRunFacts.size()> run_facts;
    static_cast<void>(reader->read_process_facts(process_facts) && reader->read_run_facts(run_facts));
    if (reader->sample().time_ns.has_value() && reader->sample().record.empty())
      check_round_trip(reader->sample());
  }
}
