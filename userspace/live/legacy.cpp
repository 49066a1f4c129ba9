// SPDX-License-Identifier: Apache-2.0
// The two addresses of memory_logger.py's dashboard, in its CSV's names and units, for scripts that ask them.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "csv/sample_writer.h"
#include "csv/timestamp.h"
#include "live/question.h"
#include "query/live_table.h"
#include "query/sample_stream.h"
#include "render/timeline_json.h"

namespace memlog {
namespace {

constexpr int64_t kMostSamples = 10'000;  // in one answer; the next question gets the rest

std::string mib(Nullable bytes) {
  if (!bytes.has_value()) return "null";
  std::string text;
  append_mib(text, bytes.value());
  return text;
}

std::string number(Nullable value) { return value.has_value() ? fmt::format("{}", value.value()) : "null"; }

std::string timestamp(int64_t time_ns) {
  std::string text;
  TimestampWriter writer;
  writer.append(text, time_ns);
  return text;
}

// The end of what is read: a moment after which rows were left out is not half told.
Result<std::string> samples_json(Database& database, int64_t run_id, int64_t after_ns, bool& is_cut) {
  const Result<Transaction> snapshot = Transaction::begin_reading(database);
  if (!snapshot) return snapshot.error();
  SampleStream::Window window;
  window.from_ns = after_ns + 1;
  Result<SampleStream> stream =
      SampleStream::open(database, run_id, {"rss_bytes", "swap_bytes", "oom_score"}, window);
  if (!stream) return stream.error();
  std::string samples;
  int64_t last_ns = 0;
  for (int64_t rows = 0;; ++rows) {
    const Result<bool> row = stream->next();
    if (!row) return row.error();
    if (!*row) break;
    is_cut = rows >= kMostSamples && stream->time_ns() != last_ns;
    if (is_cut) break;
    last_ns = stream->time_ns();
    const SampleStream::Process& process = stream->processes()[stream->process()];
    const Nullable rss = stream->value(0);
    const Nullable swap = stream->value(1);
    fmt::format_to(std::back_inserter(samples),
                   R"({}{{"timestamp_utc":"{}","pid":{},"process_name":{},"rss_bytes":{},"rss_mib":{},)"
                   R"("swap_bytes":{},"swap_mib":{},"oom_score":{}}})",
                   samples.empty() ? "" : ",", timestamp(last_ns), process.pid, json_string(process.name),
                   number(rss), mib(rss), number(swap), mib(swap), number(stream->value(2)));
  }
  return samples;
}

}  // namespace

void Routes::send_legacy_meta(Question& question) {
  if (!find(question)) return;
  const Result<LiveTable> table = read_live_table(*question.database, question.run_id, 1);
  if (!table) return send_error(question, 503, table.error());
  const LiveProcess* process = table->processes.empty() ? nullptr : &table->processes.front();
  send_json(
      question,
      fmt::format(R"({{"run":{},"pid":{},"process_name":{},"interval":{},"refresh_ms":{},"running":{},)"
                  R"("columns":["timestamp_utc","pid","process_name","rss_bytes","rss_mib","swap_bytes",)"
                  R"("swap_mib","oom_score"]}})",
                  question.run_id, process == nullptr ? "null" : std::to_string(process->pid),
                  process == nullptr ? "null" : json_string(process->name),
                  static_cast<double>(table->run.interval_ns) / 1e9, options_.refresh_ms,
                  table->run.state == RunState::running ? "true" : "false"));
}

void Routes::send_legacy_samples(Question& question) {
  std::string since = question.request.get_param_value("since");
  std::replace(since.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(since.size(), 11)), since.end(),
               ' ',
               '+');  // an offset's plus sign that nobody escaped
  const std::optional<int64_t> after_ns = since.empty() ? std::optional<int64_t>(0) : parse_timestamp(since);
  if (!after_ns) return send_error(question, 400, {"reading since", "that is no ISO 8601 time", "", 0});
  // Timestamps are cut to microseconds: the rest of the one that was named is known too.
  const int64_t known_ns = since.empty() ? 0 : *after_ns + kNsPerUs - 1;
  if (!find(question)) return;
  bool is_cut = false;
  const Result<std::string> samples = samples_json(*question.database, question.run_id, known_ns, is_cut);
  if (!samples) return send_error(question, 503, samples.error());
  send_json(question,
            fmt::format(R"({{"samples":[{}],"truncated":{}}})", *samples, is_cut ? "true" : "false"));
}

}  // namespace memlog
