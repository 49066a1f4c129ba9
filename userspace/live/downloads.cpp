// SPDX-License-Identifier: Apache-2.0
// What is seen, as files: a picture, a report, the samples. Few are made at once, so that they never keep the
// dashboard from answering.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "csv/sample_writer.h"
#include "csv/timestamp.h"
#include "live/gzip.h"
#include "live/question.h"
#include "query/device_totals.h"
#include "query/sample_stream.h"
#include "render/html.h"
#include "render/png.h"
#include "render/style.h"

namespace memlog {
namespace {

constexpr int64_t kPointsInPicture = 1200;
constexpr int64_t kPointsInReport = 2000;
constexpr int64_t kProcessesInReport = 200;
constexpr int kPictureWidth = 1600;
constexpr int64_t kRowsAPiece = 20'000;

void name_file(httplib::Response& response, int64_t run_id, const char* extension) {
  response.set_header("Content-Disposition",
                      fmt::format("attachment; filename=\"memlog-run-{}{}\"", run_id, extension));
  response.set_header("Cache-Control", "no-store");
}

Error too_many() { return {"making a file", "others are being made", "try again in a moment", 0}; }

// The samples as CSV, piece by piece. Each piece is read in a transaction of its own, which is over before the
// client gets it: samples are stored by time, and those of the past never change.
class CsvPieces {
 public:
  CsvPieces(Database& database, int64_t run_id, const TimelineRequest& wanted, bool is_packed)
      : database_(database), run_id_(run_id), only_(wanted.only) {
    window_.from_ns = wanted.since_ns.value_or(window_.from_ns);
    window_.to_ns = wanted.until_ns.value_or(wall_now_ns());
    if (is_packed) packing_.emplace(/*is_small=*/false);
  }

  // false: that was the last piece; an error ends the file where it is.
  Result<bool> next(std::string& piece) {
    std::string lines;
    const Result<bool> has_more = read(lines);
    if (!has_more) return has_more.error();
    piece = packing_ ? packing_->add(lines) : lines;
    if (packing_ && !*has_more) piece += packing_->finish();
    return *has_more;
  }

 private:
  Result<bool> read(std::string& lines) {
    const Result<Transaction> snapshot = Transaction::begin_reading(database_);
    if (!snapshot) return snapshot.error();
    Result<SampleStream> stream =
        SampleStream::open(database_, run_id_, {"rss_bytes", "swap_bytes", "oom_score"}, window_);
    if (!stream) return stream.error();
    Result<DeviceTotals> devices = DeviceTotals::open(database_, run_id_, window_.from_ns);
    if (!devices) return devices.error();
    if (!has_devices_) {
      has_devices_ = devices->has_any();
      lines = narrow_header(*has_devices_);
    }
    NarrowWriter writer(/*is_safe=*/false, *has_devices_);
    int64_t last_ns = 0;
    for (int64_t rows = 0;; ++rows) {
      const Result<bool> row = stream->next();
      if (!row) return row.error();
      if (!*row) return false;
      if (rows >= kRowsAPiece && stream->time_ns() != last_ns) {  // a moment is never torn apart
        window_.from_ns = stream->time_ns();
        return true;
      }
      last_ns = stream->time_ns();
      const SampleStream::Process& process = stream->processes()[stream->process()];
      if (!is_wanted(process)) continue;
      NarrowRow line{last_ns,          process.pid, process.name, stream->value(0), stream->value(1),
                     stream->value(2), {}};
      if (*has_devices_) {
        const Result<DeviceTotal> total = devices->at(last_ns);
        if (!total) return total.error();
        line.devices = *total;
      }
      writer.append(lines, line);
    }
  }

  bool is_wanted(const SampleStream::Process& process) const {
    if (only_.empty()) return true;
    const std::string pid = std::to_string(process.pid);
    return std::any_of(only_.begin(), only_.end(),
                       [&](const std::string& one) { return one == pid || one == process.name; });
  }

  Database& database_;
  int64_t run_id_;
  std::vector<std::string> only_;
  SampleStream::Window window_;
  std::optional<GzipStream> packing_;
  std::optional<bool> has_devices_;  // as the header, once it is written, says
};

}  // namespace

void Routes::send_picture(Question& question) {
  const auto colours = static_cast<int64_t>(style_of(Theme::light).series.size());
  const Result<TimelineRequest> wanted = timeline_request(question.request, kPointsInPicture, colours);
  if (!wanted) return send_error(question, 400, wanted.error());
  const DownloadShare share(download_count_);
  if (!share.is_granted()) return send_error(question, 503, too_many());
  if (!find(question)) return;
  const Result<Timeline> timeline = read_timeline(*question.database, question.run_id, *wanted);
  if (!timeline) return send_error(question, 400, timeline.error());
  ChartOptions chart;
  chart.width = kPictureWidth;
  chart.theme = theme_of(question.request);
  chart.metrics = wanted->metrics;
  const Result<std::string> png = render_png({&*timeline, 1}, chart);
  if (!png) return send_error(question, 503, png.error());
  name_file(question.response, question.run_id, ".png");
  question.response.set_content(*png, "image/png");
}

void Routes::send_report(Question& question) {
  const Result<TimelineRequest> wanted =
      timeline_request(question.request, kPointsInReport, kProcessesInReport);
  if (!wanted) return send_error(question, 400, wanted.error());
  const DownloadShare share(download_count_);
  if (!share.is_granted()) return send_error(question, 503, too_many());
  if (!find(question)) return;
  const Result<Timeline> timeline = read_timeline(*question.database, question.run_id, *wanted);
  if (!timeline) return send_error(question, 400, timeline.error());
  HtmlOptions html;
  if (question.request.has_param("theme")) html.theme = theme_of(question.request);
  name_file(question.response, question.run_id, ".html");
  send_body(question, render_html({&*timeline, 1}, html), "text/html; charset=utf-8");
}

void Routes::send_csv(Question& question) {
  const Result<TimelineRequest> wanted = timeline_request(question.request, 1, 1);
  if (!wanted) return send_error(question, 400, wanted.error());
  auto share = std::make_shared<DownloadShare>(download_count_);
  if (!share->is_granted()) return send_error(question, 503, too_many());
  if (!find(question)) return;
  httplib::Response& response = question.response;
  const bool is_packed = question.exchange.accepts_gzip;
  auto pieces = std::make_shared<CsvPieces>(*question.database, question.run_id, *wanted, is_packed);
  name_file(response, question.run_id, ".csv");
  if (is_packed) response.set_header("Content-Encoding", "gzip");
  response.set_chunked_content_provider("text/csv; charset=utf-8",
                                        [share, pieces](size_t, httplib::DataSink& sink) {
                                          std::string piece;
                                          const Result<bool> has_more = pieces->next(piece);
                                          if (!has_more) return false;
                                          if (!piece.empty()) sink.write(piece.data(), piece.size());
                                          if (!*has_more) sink.done();
                                          return true;
                                        });
}

}  // namespace memlog
