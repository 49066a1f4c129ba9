// SPDX-License-Identifier: Apache-2.0
#include "render/chart_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "render/canvas.h"
#include "render/event_lane.h"
#include "render/panel_layout.h"

namespace memlog {
namespace {

// What one run takes up, and where its parts went.
struct RunBlock {
  const Timeline* timeline = nullptr;
  std::vector<Panel> panels;
  double header_height = 0;
  double lane_height = 0;
  double top = 0;
  double height = 0;
};

struct Frame {
  double font = 12;
  double margin = 12;
  double left = 0;  // of the plots
  double plot_width = 0;
  double legend_x = 0;
  double legend_width = 0;
  double axis_height = 0;
};

constexpr double kTitleSpace = 2.1;  // above a plot, for the panel's title, in font sizes
constexpr int kRunHeight = 600;      // of each of several runs
constexpr double kLeastPlot = 2.6;   // a plot lower than this many font sizes is left out

bool is_bad_ending(const Timeline& timeline) {
  return timeline.is_incomplete ||
         std::any_of(timeline.events.begin(), timeline.events.end(),
                     [](const TimelineEvent& event) { return event.kind == EventKind::oom_kill; });
}

std::string title_of(const Timeline& timeline) {
  std::string title = printable(timeline.title.empty() ? timeline.source : timeline.title);
  if (!timeline.host.empty()) title += " on " + printable(timeline.host);
  return title;
}

std::string facts_of(const Timeline& timeline, Zone zone) {
  std::string facts = printable(timeline.source);
  const auto add = [&](const std::string& text) {
    if (!text.empty()) facts += (facts.empty() ? "" : ",  ") + text;
  };
  add(when_text(timeline, zone));
  if (timeline.target != timeline.title) add(printable(timeline.target));
  return facts;
}

std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "" : "; ") + printable(note);
  return text;
}

bool has_third_line(const Timeline& timeline) {
  return !timeline.ending.empty() || !timeline.notes.empty() || !timeline.device_ghosts.empty();
}

double header_height(const Timeline& timeline, double font) {
  return font * (1.5 + 1.35 + (has_third_line(timeline) ? 1.35 : 0) + 0.3);
}

void lay_header(Canvas& canvas, const RunBlock& block, const Frame& frame, Zone zone, const Style& style) {
  const double font = frame.font;
  const double room = frame.legend_x + frame.legend_width - frame.margin;
  double y = block.top + font * 1.15;
  canvas.put(title_of(*block.timeline), {frame.margin, y}, Align::left,
             {Role::text, font * 1.4, true, style.text}, room);
  y += font * 1.45;
  canvas.put(facts_of(*block.timeline, zone), {frame.margin, y}, Align::left,
             {Role::text, font, false, style.muted}, room);
  y += font * 1.35;
  // How it ended, what is stale, what else a reader must know, as far as there is room.
  const Timeline& timeline = *block.timeline;
  const Colour ending = is_bad_ending(timeline) ? style.alarm : style.text;
  double x = frame.margin;
  for (const auto& [text, look] :
       {std::pair<std::string, TextStyle>{printable(timeline.ending), {Role::text, font, true, ending}},
        {joined(timeline.device_ghosts), {Role::text, font, true, style.alarm}},
        {joined(timeline.notes), {Role::text, font, false, style.muted}}}) {
    const Rect place = canvas.put(text, {x, y}, Align::left, look, std::max(0.0, frame.margin + room - x));
    if (place.width > 0) x = place.right() + font;
  }
}

double plot_height(const RunBlock& block, const Panel& panel, double font) {
  double weights = 0;
  for (const Panel& one : block.panels) weights += one.weight;
  const double room = block.height - block.header_height - block.lane_height -
                      static_cast<double>(block.panels.size()) * kTitleSpace * font;
  return room * panel.weight / std::max(weights, 0.1);
}

// Leaves out the last panels where there is no room for all; the first one says so.
void fit_panels(RunBlock& block, double font) {
  std::string left_out;
  const auto is_too_low = [&] {
    return std::any_of(block.panels.begin(), block.panels.end(), [&](const Panel& panel) {
      return plot_height(block, panel, font) < kLeastPlot * font;
    });
  };
  while (block.panels.size() > 1 && is_too_low()) {
    const std::string& title = block.panels.back().title;
    std::string titles = title.substr(0, title.find(" ("));
    if (!left_out.empty()) titles.append(", ").append(left_out);
    left_out = std::move(titles);
    block.panels.pop_back();
  }
  if (!left_out.empty()) block.panels.front().remarks.push_back("no room for: " + left_out);
  if (!block.panels.empty() && is_too_low()) block.lane_height = 0;
}

std::vector<RunBlock> make_blocks(std::span<const Timeline> timelines, const ChartOptions& options,
                                  const Frame& frame, double height) {
  const ContentOptions content{options.theme, options.metrics};
  const double between = frame.font * 0.9;
  const double room = height - 2 * frame.margin - frame.axis_height;
  const double each = room / static_cast<double>(timelines.size());
  std::vector<RunBlock> blocks;
  for (const Timeline& timeline : timelines) {
    RunBlock block;
    block.timeline = &timeline;
    block.panels = chart_panels(timeline, content);
    block.header_height = header_height(timeline, frame.font);
    block.top = frame.margin + each * static_cast<double>(blocks.size());
    block.height = each - (blocks.size() + 1 < timelines.size() ? between : 0);
    block.lane_height = lane_height(timeline, block.height, frame.font);
    fit_panels(block, frame.font);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// Columns left and right of the plots, wide enough for the widest labels of all runs.
void measure_columns(Frame& frame, const Canvas& canvas, const std::vector<RunBlock>& blocks, double width) {
  double left = canvas.width_of("events", {Role::text, frame.font * 0.9, false, {}});
  double right = frame.font * 6;
  for (const RunBlock& block : blocks) {
    for (const Panel& panel : block.panels) {
      left =
          std::max(left, value_label_width(canvas, panel, plot_height(block, panel, frame.font), frame.font));
      right = std::max(right, legend_width(canvas, panel, frame.font));
    }
  }
  frame.left = frame.margin + left + frame.font * 0.5;
  frame.legend_width = std::min(right, width * 0.27);
  frame.legend_x = width - frame.margin - frame.legend_width;
  frame.plot_width = std::max(1.0, frame.legend_x - frame.font * 0.9 - frame.left);
}

// The axis' span, a little wider than the data so that the first and last marks are whole.
TimeScale shared_scale(std::span<const Timeline> timelines, const ChartOptions& options, const Frame& frame) {
  TimeScale scale;
  scale.left = frame.left;
  scale.width = frame.plot_width;
  const bool by_start = options.alignment == RunAlignment::start;
  int64_t interval_ns = 0;
  bool is_first = true;
  for (const Timeline& timeline : timelines) {
    const int64_t origin = by_start ? timeline.begin_ns : 0;
    const int64_t begin = timeline.begin_ns - origin;
    const int64_t end = std::max(timeline.begin_ns, timeline.end_ns) - origin;
    scale.begin_ns = is_first ? begin : std::min(scale.begin_ns, begin);
    scale.end_ns = is_first ? end : std::max(scale.end_ns, end);
    interval_ns = std::max(interval_ns, timeline.interval_ns);
    is_first = false;
  }
  const int64_t span = scale.end_ns - scale.begin_ns;
  const int64_t pad = span > 0 ? span / 120 : std::max(interval_ns, kNsPerSecond);
  if (!by_start || span == 0) scale.begin_ns -= by_start ? 0 : pad;
  scale.end_ns += pad;
  return scale;
}

std::vector<TimeTick> shared_ticks(const TimeScale& scale, const ChartOptions& options, double font) {
  const int most = std::max(2, static_cast<int>(scale.width / (font * 6)));
  if (options.alignment == RunAlignment::start) return elapsed_ticks(scale.end_ns, most);
  return time_ticks(scale.begin_ns, scale.end_ns, most, options.zone);
}

void lay_time_axis(Canvas& canvas, const Frame& frame, const TimeScale& scale,
                   const std::vector<TimeTick>& ticks, const ChartOptions& options, double top,
                   const Style& style) {
  const TextStyle text{Role::text, frame.font * 0.9, false, style.muted};
  const double y = top + frame.font * 1.3;
  const Rect bounds{frame.left - frame.font * 4, top, frame.plot_width + frame.font * 8, frame.font * 4};
  for (const TimeTick& tick : ticks) {
    const double x = scale.x(tick.time_ns);
    const std::array<Point, 1> at = {Point{x, y}};
    canvas.put_free(tick.label, at, Align::centre, text, bounds);
    if (tick.date.empty()) continue;
    const std::array<Point, 1> below = {Point{x, y + frame.font * 1.15}};
    canvas.put_free(tick.date, below, Align::centre, text, bounds);
  }
  const bool by_start = options.alignment == RunAlignment::start;
  const std::string name =
      by_start ? "since each start" : "time in " + zone_name(scale.begin_ns, options.zone);
  canvas.put(name, {frame.legend_x + frame.legend_width, y + frame.font * 1.15}, Align::right,
             {Role::text, frame.font * 0.95, true, style.muted}, frame.legend_width);
}

void lay_block(Canvas& canvas, const RunBlock& block, const Frame& frame, TimeScale scale,
               const std::vector<TimeTick>& ticks, const ChartOptions& options, const Style& style) {
  if (options.alignment == RunAlignment::start) scale.origin_ns = block.timeline->begin_ns;
  lay_header(canvas, block, frame, options.zone, style);
  PanelPlace place{.plot = {},
                   .legend_x = frame.legend_x,
                   .legend_width = frame.legend_width,
                   .font = frame.font,
                   .zone = options.zone,
                   .say_gaps = true,
                   .ticks = ticks};
  double y = block.top + block.header_height;
  for (const Panel& panel : block.panels) {
    const double height = plot_height(block, panel, frame.font);
    place.plot = {frame.left, y + kTitleSpace * frame.font, frame.plot_width, height};
    lay_panel(canvas, *block.timeline, panel, place, scale, style);
    place.say_gaps = false;
    y = place.plot.bottom();
  }
  if (block.lane_height <= 0) return;
  place.plot = {frame.left, y + frame.font * 0.75, frame.plot_width, block.lane_height - frame.font * 0.75};
  lay_event_lane(canvas, *block.timeline, place, scale, style);
}

double font_for(const ChartOptions& options, double height, size_t runs) {
  const double own_height = runs == 1 ? height / 1000 : height / static_cast<double>(runs) / kRunHeight;
  return 19 * std::clamp(std::min(options.width / 1600.0, own_height), 0.58, 1.8);
}

}  // namespace

int chart_height(const ChartOptions& options, size_t runs) {
  if (options.height > 0) return options.height;
  return runs <= 1 ? 1000 : static_cast<int>(std::min<size_t>(runs, 50)) * kRunHeight;
}

std::string when_text(const Timeline& timeline, Zone zone) {
  if (timeline.end_ns == 0) return "";
  const int64_t span = std::max<int64_t>(0, timeline.end_ns - timeline.begin_ns);
  const int decimals = span < 2 * kNsPerSecond ? 3 : 0;
  const std::string begin = format_time(timeline.begin_ns, zone, true, decimals);
  const std::string end_date = format_time(timeline.end_ns, zone, true, decimals);
  const bool same_day = begin.substr(0, 10) == end_date.substr(0, 10);
  const std::string zone_text = zone_name(timeline.begin_ns, zone);
  std::string text = span == 0
                         ? fmt::format("{} {}", begin, zone_text)
                         : fmt::format("{} to {} {} ({})", begin, same_day ? end_date.substr(11) : end_date,
                                       zone_text, format_duration(span));
  if (timeline.interval_ns > 0) text += ", sampled every " + format_duration(timeline.interval_ns);
  return text;
}

Picture lay_chart(std::span<const Timeline> timelines, const ChartOptions& options,
                  const TextWidth& text_width) {
  const Style& style = style_of(options.theme);
  const double height = chart_height(options, timelines.size());
  Canvas canvas(options.width, height, style, text_width);
  if (timelines.empty()) return canvas.take();
  Frame frame;
  frame.font = font_for(options, height, timelines.size());
  frame.margin = frame.font * 1.1;
  frame.axis_height = frame.font * 2.8;
  const std::vector<RunBlock> blocks = make_blocks(timelines, options, frame, height);
  measure_columns(frame, canvas, blocks, options.width);
  const TimeScale scale = shared_scale(timelines, options, frame);
  const std::vector<TimeTick> ticks = shared_ticks(scale, options, frame.font);
  for (const RunBlock& block : blocks) lay_block(canvas, block, frame, scale, ticks, options, style);
  lay_time_axis(canvas, frame, scale, ticks, options, height - frame.margin - frame.axis_height, style);
  return canvas.take();
}

}  // namespace memlog
