// SPDX-License-Identifier: Apache-2.0
#include "csv/sample_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/owned_fd.h"
#include "base/small_file.h"
#include "base/text.h"
#include "csv/timestamp.h"
#include "model/columns.h"

namespace memlog {
namespace {

constexpr int64_t kMostValue = int64_t{1} << 52U;  // bytes and counts: a thousand of them still have a sum
constexpr int64_t kMostSpanNs = int64_t{1} << 60U;
constexpr int64_t kMostTimeNs = 7'258'118'400'000'000'000;  // the year 2200
constexpr int64_t kMostPid = INT32_MAX;
constexpr double kBytesPerMib = 1048576;
constexpr int64_t kMostChips = 1'000'000;
constexpr int64_t kHalfStepBytes = 524;  // half a thousandth of a MiB, rounded down
constexpr size_t kMostColumns = 1000;
constexpr size_t kMostShownBytes = 40;

// What memory_logger.py wrote beside and memlog derives or does not keep.
bool is_derived(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"timestamp_utc", "rss_mib", "swap_mib", "process_count"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The file has the total and the mean, each rounded to a thousandth of a MiB, and memlog keeps the total only: of
// the totals that round to the one in the file the one in the middle of those whose mean rounds to the mean.
void fit_to_mean(DeviceTotal& devices, Nullable mean_bytes) {
  const int64_t count = devices.device_count.value_or(0);
  if (count < 1 || !devices.dram_bytes.has_value() || !mean_bytes.has_value()) return;
  if (mean_bytes.value() > kMostValue / count) return;
  const int64_t total = devices.dram_bytes.value();
  const int64_t by_mean = mean_bytes.value() * count;
  const int64_t least = std::max(total - kHalfStepBytes, by_mean - kHalfStepBytes * count);
  const int64_t most = std::min(total + kHalfStepBytes, by_mean + kHalfStepBytes * count);
  if (least <= most) devices.dram_bytes = std::max<int64_t>(0, least + (most - least) / 2);
}

std::string shown(std::string_view value) {
  const bool is_long = value.size() > kMostShownBytes;
  return printable(value.substr(0, kMostShownBytes)) + (is_long ? "..." : "");
}

}  // namespace

Result<SampleReader> SampleReader::open(CsvRows::Source source, const std::string& name) {
  SampleReader reader{CsvRows(std::move(source))};
  if (const Status status = reader.read_header(name); !status) return status.error();
  return reader;
}

Status SampleReader::read_header(const std::string& name) {
  const Result<CsvRows::Found> found = rows_.next();
  if (!found) return found.error();
  const std::string doing = "reading " + printable(name);
  if (*found == CsvRows::Found::end) return Error{doing, "the file is empty", ""};
  if (*found == CsvRows::Found::bad)
    return Error{doing, fmt::format("line {}: {}: this is no CSV file", rows_.line(), rows_.reason()), ""};
  const std::vector<CsvCell>& cells = rows_.cells();
  if (cells.size() == 1 && cells[0].text.find(';') != std::string_view::npos)
    return Error{doing, "its cells are separated by ';'",
                 "save it with commas between the cells and points in the numbers"};
  if (cells.size() > kMostColumns)
    return Error{doing, fmt::format("{} columns: no file of memlog or memory_logger.py", cells.size()), ""};
  for (const CsvCell& cell : cells) {
    Column column = recognise(trim(cell.text));
    const bool is_there = std::any_of(columns_.begin(), columns_.end(), [&](const Column& other) {
      return other.name == column.name && column.role != Role::ignored;
    });
    if (is_there)
      return Error{doing, fmt::format("the column {} is there twice", printable(column.name)), ""};
    columns_.push_back(std::move(column));
  }
  return check_header(name);
}

SampleReader::Column SampleReader::recognise(std::string_view text) const {
  Column column{std::string(text), Role::ignored, 0};
  constexpr std::array<std::pair<std::string_view, Role>, 10> names = {
      {{"timestamp_utc", Role::timestamp},
       {"time_ns", Role::time_ns},
       {"pid", Role::pid},
       {"process_name", Role::process_name},
       {"rss_mib", Role::rss_mib},
       {"swap_mib", Role::swap_mib},
       {"process", Role::process},
       {kParentProcess, Role::parent_process},
       {kRecord, Role::record},
       {kFields, Role::fields}}};
  for (const auto& [name, role] : names)
    if (name == text) column.role = role;
  const auto look_in = [&](const auto& table, Role role, auto name_of) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (text != name_of(table[i])) continue;
      column.role = role;
      column.index = i;
    }
  };
  look_in(kProcessColumns, Role::measure, [](const auto& entry) { return entry.name; });
  look_in(kProcessFacts, Role::process_fact, [](const auto& entry) { return entry.csv_name; });
  look_in(kRunFacts, Role::run_fact, [](const auto& entry) { return entry.csv_name; });
  look_in(kDramColumns, Role::dram, [](const auto& entry) { return entry; });
  return column;
}

bool SampleReader::has(Role role) const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [&](const Column& column) { return column.role == role; });
}

bool SampleReader::has_measure(std::string_view name) const {
  return std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
    return column.role == Role::measure && column.name == name;
  });
}

Status SampleReader::check_header(const std::string& name) {
  is_wide_ = has(Role::time_ns) && has(Role::process);
  has_process_name_ = has(Role::process_name);
  const bool has_time = is_wide_ || has(Role::timestamp);
  const bool has_rss = has_measure("rss_bytes") || has(Role::rss_mib);
  if (!has_time || !has_rss)
    return Error{"reading " + printable(name),
                 fmt::format("not a CSV file of memlog or memory_logger.py: it has no column {}",
                             has_time ? "rss_bytes" : "timestamp_utc"),
                 ""};
  for (Column& column : columns_) {
    const bool is_doubled = (column.role == Role::rss_mib && has_measure("rss_bytes")) ||
                            (column.role == Role::swap_mib && has_measure("swap_bytes")) ||
                            (column.role == Role::timestamp && is_wide_);
    const bool is_foreign =
        !is_wide_ &&
        (column.role == Role::process_fact || column.role == Role::run_fact || column.role == Role::process ||
         column.role == Role::time_ns || column.role == Role::parent_process || column.role == Role::record ||
         column.role == Role::fields);
    if (column.role == Role::dram) has_devices_ = true;
    if (is_doubled || is_foreign) column.role = Role::ignored;
    if (column.role == Role::ignored && !is_derived(column.name)) ignored_.push_back(column.name);
    if (column.role == Role::measure) measured_.push_back(column.index);
    for (const auto& [role, measure] :
         {std::pair{Role::rss_mib, "rss_bytes"}, {Role::swap_mib, "swap_bytes"}}) {
      if (column.role != role) continue;
      for (size_t i = 0; i < kProcessColumns.size(); ++i)
        if (std::string_view(kProcessColumns[i].name) == measure) measured_.push_back(i);
    }
  }
  return Ok{};
}

Result<SampleReader::Found> SampleReader::next() {
  const Result<CsvRows::Found> found = rows_.next();
  if (!found) return found.error();
  if (*found == CsvRows::Found::end) return Found::end;
  const Found failure = rows_.is_unended() ? Found::cut : Found::bad;
  if (*found == CsvRows::Found::bad) {
    problem_ = fmt::format("line {}: {}", rows_.line(), rows_.reason());
    return failure;
  }
  if (rows_.cells().size() != columns_.size()) {
    problem_ = fmt::format("line {}: {} cells, but the header has {}", rows_.line(), rows_.cells().size(),
                           columns_.size());
    return rows_.cells().size() < columns_.size() ? failure : Found::bad;
  }
  return parse_row() ? Found::sample : failure;
}

bool SampleReader::parse_row() {
  sample_ = CsvSample();
  dram_mean_bytes_ = {};
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].role != Role::ignored && !parse_cell(i, rows_.cells()[i])) return false;
  }
  if (has_devices_) fit_to_mean(sample_.devices, dram_mean_bytes_);
  if (is_wide_ && sample_.record.empty() && !sample_.process.has_value()) {
    problem_ = fmt::format("line {}: the number of the process is missing", rows_.line());
    return false;
  }
  return true;
}

bool SampleReader::parse_cell(size_t column, const CsvCell& cell) {
  const std::string_view text = cell.text;
  Nullable number;
  switch (columns_[column].role) {
    case Role::timestamp: {
      const std::optional<int64_t> time_ns = parse_timestamp(text);
      if (!time_ns || *time_ns > kMostTimeNs)
        return refuse(column, text, "is not a time like 2026-06-05T12:34:56.789012+00:00");
      sample_.time_ns = *time_ns;
      return true;
    }
    case Role::time_ns:
      return parse_number(column, text, 0, kMostTimeNs, sample_.time_ns);
    case Role::pid:
      if (!parse_number(column, text, 0, kMostPid, number)) return false;
      sample_.pid = number.value_or(0);
      return true;
    case Role::process_name:
      sample_.process_name = text;
      return true;
    case Role::measure: {
      const auto& measure = kProcessColumns[columns_[column].index];
      const int64_t least = measure.unit == Unit::count ? -kMostValue : 0;
      const int64_t most = measure.unit == Unit::ns ? kMostSpanNs : kMostValue;
      return parse_number(column, text, least, most, sample_.values.*measure.field);
    }
    case Role::rss_mib:
      return parse_mib(column, text, sample_.values.rss_bytes);
    case Role::swap_mib:
      return parse_mib(column, text, sample_.values.swap_bytes);
    case Role::process:
      return parse_number(column, text, 1, kMostValue, sample_.process);
    case Role::parent_process:
      return parse_number(column, text, 1, kMostValue, sample_.parent_process);
    case Role::record:
      sample_.record = text;
      return true;
    case Role::fields:
      sample_.fields = text;
      return true;
    case Role::dram:
      return parse_dram(column, text);
    default:
      return true;
  }
}

bool SampleReader::parse_dram(size_t column, std::string_view text) {
  DeviceTotal& devices = sample_.devices;
  switch (columns_[column].index) {
    case 0:
      return parse_number(column, text, 0, kMostChips, devices.device_count);
    case 1:
      return parse_mib(column, text, devices.dram_bytes);
    case 2:
      return parse_mib(column, text, dram_mean_bytes_);
    case 3:
      return parse_mib(column, text, devices.dram_min_bytes);
    default:
      return parse_mib(column, text, devices.dram_max_bytes);
  }
}

std::string SampleReader::place_of_fields() const {
  size_t at = 0;
  while (at < columns_.size() && columns_[at].role != Role::fields) ++at;
  return fmt::format("line {}, column {} ({})", rows_.line(), at + 1, kFields);
}

bool SampleReader::parse_number(size_t column, std::string_view text, int64_t least, int64_t most,
                                Nullable& value) {
  if (text.empty()) return true;
  std::optional<int64_t> number = parse_int(text);
  if (!number) {
    // A spreadsheet or pandas may have made 12 into 12.0.
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    const bool is_whole = error == std::errc() && end == text.data() + text.size() &&
                          std::fabs(real) < 9e15 && std::trunc(real) == real;
    if (!is_whole) return refuse(column, text, "is not a whole number");
    number = static_cast<int64_t>(real);
  }
  if (*number < least || *number > most) return refuse(column, text, "is out of range");
  value = *number;
  return true;
}

bool SampleReader::parse_mib(size_t column, std::string_view text, Nullable& value) {
  if (text.empty()) return true;
  double mib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mib);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(mib))
    return refuse(column, text, "is not a number");
  if (mib < 0 || mib > static_cast<double>(kMostValue) / kBytesPerMib)
    return refuse(column, text, "is out of range");
  value = static_cast<int64_t>(std::llround(mib * kBytesPerMib));
  return true;
}

bool SampleReader::parse_fact(size_t column, const FactColumn& fact, CsvFact& value) {
  const CsvCell& cell = rows_.cells()[column];
  if (cell.text.empty() && !cell.is_quoted) return true;
  if (fact.kind == CellKind::integer) return parse_number(column, cell.text, 0, kMostTimeNs, value.integer);
  value.text = std::string(cell.text);
  return true;
}

bool SampleReader::read_process_facts(std::array<CsvFact, kProcessFacts.size()>& facts) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t index = columns_[i].index;
    if (columns_[i].role == Role::process_fact && !parse_fact(i, kProcessFacts[index], facts[index]))
      return false;
  }
  return true;
}

bool SampleReader::read_run_facts(std::array<CsvFact, kRunFacts.size()>& facts) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t index = columns_[i].index;
    if (columns_[i].role == Role::run_fact && !parse_fact(i, kRunFacts[index], facts[index])) return false;
  }
  return true;
}

bool SampleReader::refuse(size_t column, std::string_view value, std::string_view reason) {
  problem_ = fmt::format("line {}, column {} ({}): '{}' {}", rows_.line(), column + 1,
                         printable(columns_[column].name), shown(value), reason);
  return false;
}

Result<CsvRows::Source> csv_file_source(const std::string& path, int64_t* bytes_read) {
  auto file = std::make_shared<OwnedFd>();
  if (path == "-") {
    file->reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  } else {
    Result<OwnedFd> opened = open_file(AT_FDCWD, path, O_NOCTTY);
    if (!opened) return opened.error();
    *file = *std::move(opened);
  }
  return CsvRows::Source([file, path, bytes_read](std::span<char> space) -> Result<size_t> {
    while (true) {
      const ssize_t got = read(file->get(), space.data(), space.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_error("reading " + printable(path), errno);
      if (bytes_read != nullptr) *bytes_read += got;
      return static_cast<size_t>(got);
    }
  });
}

}  // namespace memlog
