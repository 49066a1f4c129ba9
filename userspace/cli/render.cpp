// SPDX-License-Identifier: Apache-2.0
// memlog render RUN...: a PNG, an HTML report, or both.
#include "cli/render.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/output_file.h"
#include "base/talk.h"
#include "base/text.h"
#include "cli/csv_import.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/render_window.h"
#include "query/runs.h"
#include "query/timeline.h"
#include "render/html.h"
#include "render/png.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {
namespace {

constexpr size_t kMostPages = 50;         // runs in one picture
constexpr size_t kProcessesInHtml = 200;  // with curves of their own
constexpr int64_t kPointsInHtml = 2000;
constexpr int kMostScale = 50;

// What can be drawn, by its short name and its column.
constexpr std::array<std::pair<const char*, const char*>, 8> kMetrics = {{{"rss", "rss_bytes"},
                                                                          {"anon", "anon_bytes"},
                                                                          {"file", "file_bytes"},
                                                                          {"shmem", "shmem_bytes"},
                                                                          {"swap", "swap_bytes"},
                                                                          {"hugetlb", "hugetlb_bytes"},
                                                                          {"oom", "oom_score"},
                                                                          {"dram", "dram_bytes"}}};

Zone zone_of(const RenderOptions& options) { return options.is_local ? Zone::local : Zone::utc; }

RunAlignment alignment_of(const RenderOptions& options) {
  return options.align_start ? RunAlignment::start : RunAlignment::clock;
}

ChartOptions chart_options(const RenderOptions& options) {
  ChartOptions chart;
  chart.width = options.width;
  chart.height = options.height;
  chart.scale = options.scale;
  chart.theme = options.theme == "dark" ? Theme::dark : Theme::light;
  chart.zone = zone_of(options);
  chart.alignment = alignment_of(options);
  for (const std::string& metric : options.metrics) {
    if (std::optional<std::string> column = metric_column(metric))
      chart.metrics.push_back(*std::move(column));
  }
  return chart;
}

// What to read for a PNG or for a page.
TimelineRequest request_for(const RenderOptions& options, bool is_page) {
  TimelineRequest request;
  const double pixels = options.width * options.scale;
  request.points =
      is_page ? kPointsInHtml : std::clamp<int64_t>(static_cast<int64_t>(pixels * 0.75), 200, 4000);
  request.processes = is_page ? kProcessesInHtml : style_of(Theme::light).series.size();
  request.only = options.processes;
  for (const std::string& metric : options.metrics) {
    const std::string column = metric_column(metric).value_or("");
    if (column.empty() || column == "dram_bytes") continue;
    request.metrics.push_back(column);
    if (column != "rss_bytes") continue;
    for (const char* part : {"anon_bytes", "file_bytes", "shmem_bytes"}) request.metrics.emplace_back(part);
  }
  return request;
}

// A run of a database, or a CSV file.
struct Source {
  int64_t run_id = 0;
  std::string file;
};

Result<Timeline> read_source(Database* database, const Source& source, const TimelineRequest& request) {
  if (!source.file.empty()) return timeline_from_csv(source.file, request);
  return read_timeline(*database, source.run_id, request);
}

// The times that --since and --until mean for this source.
Status set_window(Database* database, const Source& source, const RenderOptions& options,
                  TimelineRequest& request) {
  if (options.since.empty() && options.until.empty()) return Ok{};
  TimelineRequest whole = request;
  whole.points = 2;
  const Result<Timeline> span = read_source(database, source, whole);
  if (!span.ok()) return span.error();
  for (const auto& [text, target] :
       {std::pair{&options.since, &request.since_ns}, std::pair{&options.until, &request.until_ns}}) {
    if (text->empty()) continue;
    const Result<int64_t> moment = parse_moment(*text, span->begin_ns, span->end_ns, zone_of(options));
    if (!moment.ok()) return moment.error();
    *target = *moment;
  }
  return Ok{};
}

Result<std::vector<Timeline>> read_sources(Database* database, const std::vector<Source>& sources,
                                           const RenderOptions& options, bool is_page) {
  std::vector<Timeline> timelines;
  ProgressLine progress;
  for (const Source& source : sources) {
    progress.set("reading " +
                 (source.file.empty() ? fmt::format("run {}", source.run_id) : printable(source.file)));
    TimelineRequest request = request_for(options, is_page);
    if (is_page && sources.size() > 4) request.processes = kProcessesInHtml / sources.size() + 8;
    if (const Status window = set_window(database, source, options, request); !window.ok())
      return window.error();
    Result<Timeline> timeline = read_source(database, source, request);
    if (!timeline.ok()) return timeline.error();
    timelines.push_back(std::move(*timeline));
  }
  return timelines;
}

// "memlog-run-7", "memlog-runs-7-8", "pid_memory".
std::string default_stem(const std::vector<Source>& sources) {
  if (sources.size() == 1 && !sources.front().file.empty()) {
    const std::string name(basename_of(sources.front().file));
    const size_t dot = name.rfind('.');
    const std::string stem = name.substr(0, dot == 0 ? std::string::npos : dot);
    return stem.empty() || stem == "-" ? "memlog-csv" : stem;
  }
  std::string ids;
  for (const Source& source : sources) {
    if (source.run_id != 0 && ids.size() < 60) ids += fmt::format("-{}", source.run_id);
  }
  if (ids.empty()) return "memlog-csv";
  return (sources.size() == 1 ? "memlog-run" : "memlog-runs") + ids;
}

Result<std::string> write_whole(const std::string& path, std::string_view bytes) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  if (const Status written = file->write(bytes); !written.ok()) return written.error();
  if (const Status committed = file->commit(); !committed.ok()) return committed.error();
  return path;
}

Result<std::string> make_png(Database* database, const std::vector<Source>& sources,
                             const RenderOptions& options) {
  const Result<std::vector<Timeline>> timelines = read_sources(database, sources, options, /*is_page=*/false);
  if (!timelines.ok()) return timelines.error();
  ProgressLine progress;
  progress.set("drawing the picture");
  const Result<std::string> png = render_png(*timelines, chart_options(options));
  if (!png.ok()) return png.error();
  const std::string path = options.png.value_or("");
  return write_whole(path.empty() ? free_file_name(default_stem(sources), ".png") : path, *png);
}

Result<std::string> make_html(Database* database, const std::vector<Source>& sources,
                              const RenderOptions& options) {
  const Result<std::vector<Timeline>> timelines = read_sources(database, sources, options, /*is_page=*/true);
  if (!timelines.ok()) return timelines.error();
  ProgressLine progress;
  progress.set("making the page");
  HtmlOptions html;
  if (!options.theme.empty()) html.theme = chart_options(options).theme;
  html.zone = zone_of(options);
  html.alignment = alignment_of(options);
  return write_whole(options.html->empty() ? free_file_name(default_stem(sources), ".html") : *options.html,
                     render_html(*timelines, html));
}

Result<std::vector<std::string>> make_files(Database* database, const std::vector<Source>& sources,
                                            const RenderOptions& options) {
  if (const Status check = check_render_options(options, sources.size()); !check.ok()) return check.error();
  std::vector<std::string> paths;
  if (options.png || !options.html) {
    const Result<std::string> path = make_png(database, sources, options);
    if (!path.ok()) return path.error();
    paths.push_back(*path);
  }
  if (options.html) {
    const Result<std::string> path = make_html(database, sources, options);
    if (!path.ok()) return path.error();
    paths.push_back(*path);
  }
  return paths;
}

// A word that can hardly be a file's name: the run was meant.
Status check_name(const std::optional<std::string>& path, const char* option) {
  if (!path || path->empty() || *path == "-" || path->find_first_of("./") != std::string::npos) return Ok{};
  return Error{
      fmt::format("reading {} '{}'", option, printable(*path)), "that is no file's name with an ending",
      fmt::format("a run goes before the options: memlog render {} {}", printable(*path), option), 0};
}

Error bad_value(const char* option, std::string_view value, std::string reason, std::string hint = "") {
  return {fmt::format("reading {} '{}'", option, printable(value)), std::move(reason), std::move(hint), 0};
}

Status check_metrics(const RenderOptions& options) {
  std::string names;
  for (const auto& [name, column] : kMetrics) names += (names.empty() ? "" : ", ") + std::string(name);
  for (const std::string& metric : options.metrics) {
    if (metric_column(metric)) continue;
    return bad_value("--metrics", metric, "that is nothing that can be drawn", "there are " + names);
  }
  return Ok{};
}

Status check_values(const RenderOptions& options) {
  if (!options.theme.empty() && options.theme != "light" && options.theme != "dark")
    return bad_value("--theme", options.theme, "there are light and dark");
  for (const std::string& process : options.processes) {
    if (trim(process).empty())
      return bad_value("--process", process, "that names no process", "give a name or a process id");
  }
  for (const auto& [option, text] : {std::pair{"--since", &options.since}, {"--until", &options.until}}) {
    if (text->empty()) continue;
    const Result<int64_t> moment = parse_moment(*text, 0, 0, zone_of(options));
    if (!moment.ok()) return bad_value(option, *text, "that is no time", moment.error().hint);
  }
  if (options.width <= 0)
    return bad_value("--width", std::to_string(options.width), "it must be more than 0");
  if (options.height < 0)
    return bad_value("--height", std::to_string(options.height), "it must be 0 or more");
  if (!(options.scale > 0 && options.scale <= kMostScale))
    return bad_value("--scale", fmt::format("{}", options.scale),
                     fmt::format("it must be more than 0 and at most {}", kMostScale));
  return check_metrics(options);
}

}  // namespace

std::optional<std::string> metric_column(const std::string& metric) {
  for (const auto& [name, column] : kMetrics) {
    if (metric == name || metric == column) return column;
  }
  return std::nullopt;
}

Status check_render_options(const RenderOptions& options, size_t runs) {
  if (runs > kMostPages) {
    return Error{fmt::format("drawing {} runs", runs),
                 fmt::format("one picture holds at most {}", kMostPages), "", 0};
  }
  if (const Status values = check_values(options); !values.ok()) return values;
  if (const Status png = check_name(options.png, "--png"); !png.ok()) return png;
  if (const Status html = check_name(options.html, "--html"); !html.ok()) return html;
  return check_size(chart_options(options), runs);
}

Result<std::vector<std::string>> render_run_files(Database& database, int64_t run_id,
                                                  const RenderOptions& options) {
  return make_files(&database, {Source{run_id, ""}}, options);
}

int run_render(const RenderOptions& options) {
  std::vector<std::string> runs = options.runs;
  if (runs.empty() && options.files.empty()) runs.emplace_back("last");
  or_die(check_render_options(options, runs.size() + options.files.size()), FatalError::kBadUsage);
  std::optional<Database> database;
  std::vector<Source> sources;
  sources.reserve(runs.size() + options.files.size());
  if (!runs.empty()) database.emplace(or_die(open_for_reading(or_die(database_path(options.database)))));
  for (const std::string& run : runs)
    sources.push_back({or_die(find_run(*database, run), FatalError::kBadUsage), ""});
  for (const std::string& file : options.files) sources.push_back({0, file});
  const std::vector<std::string> paths =
      or_die(make_files(database ? &*database : nullptr, sources, options));
  Output output;
  for (const std::string& path : paths) {
    if (path != "-") output.put(path + "\n");
  }
  output.flush();
  return 0;
}

}  // namespace memlog
