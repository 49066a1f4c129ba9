// SPDX-License-Identifier: Apache-2.0
#include "render/event_lane.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "base/text.h"

namespace memlog {
namespace {

constexpr size_t kLabelRows = 3;
constexpr size_t kCrowd = 60;  // of more events than these the ordinary ones are bars

struct Look {
  Mark mark = Mark::bar;
  Colour colour;
  int rank = 9;             // the lower, the sooner it gets words
  bool is_upright = false;  // a line through all panels
};

bool ended_badly(const TimelineProcess* process) {
  if (process == nullptr) return false;
  return process->exit_status.value_or(0) != 0 || process->exit_signal.value_or(0) != 0;
}

Look look_of(const TimelineEvent& event, const TimelineProcess* process, const Style& style) {
  switch (event.kind) {
    case EventKind::oom_kill:
      return {Mark::cross, style.alarm, 0, true};
    case EventKind::mark:
      return {Mark::diamond, style.text, 1, true};
    case EventKind::clock_step:
      return {Mark::diamond, style.muted, 2, false};
    case EventKind::exit:
      return ended_badly(process) ? Look{Mark::dot, style.alarm, 2, false}
                                  : Look{Mark::dot, style.good, 4, false};
    case EventKind::note:
      return {Mark::diamond, style.muted, 5, false};
    case EventKind::exec:
      return {Mark::triangle, style.muted, 6, false};
    case EventKind::attach:
    case EventKind::detach:
      return {Mark::triangle, style.muted, 7, false};
    case EventKind::fork:
    case EventKind::rename:
      return {Mark::bar, style.muted, 8, false};
  }
  return {Mark::bar, style.muted, 9, false};
}

struct Shown {
  const TimelineEvent* event = nullptr;
  Look look;
  double x = 0;
};

std::vector<Shown> shown_events(const Timeline& timeline, const TimeScale& time, const Style& style) {
  std::unordered_map<int64_t, const TimelineProcess*> by_id;
  for (const TimelineProcess& process : timeline.processes) by_id.emplace(process.id, &process);
  std::vector<Shown> shown;
  shown.reserve(timeline.events.size());
  for (const TimelineEvent& event : timeline.events) {
    const auto found = by_id.find(event.process_id);
    const TimelineProcess* process = found == by_id.end() ? nullptr : found->second;
    shown.push_back({&event, look_of(event, process, style), time.x(event.time_ns)});
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Shown& left, const Shown& right) { return left.look.rank < right.look.rank; });
  return shown;
}

// Words beside a leader line in the first row that is free; false where none is.
bool put_words(Canvas& canvas, const Shown& shown, const Rect& lane, double font, double marks_y,
               const Style& style) {
  const TextStyle text{Role::event, font * 0.9, shown.look.rank == 0,
                       shown.look.rank == 0 ? style.alarm : style.text};
  const double room = std::max(lane.right() - shown.x, shown.x - lane.x) - font * 0.3;
  const std::string words = canvas.fit(printable(shown.event->text), room, text);
  if (words.empty()) return false;
  const double width = canvas.width_of(words, text);
  for (size_t row = 0; row < kLabelRows; ++row) {
    const double y = marks_y + font * (1.35 + 1.25 * static_cast<double>(row));
    const std::array<Point, 2> anchors = {Point{shown.x - font * 0.25, y},
                                          Point{shown.x + font * 0.25 - width, y}};
    if (canvas.put_free(words, anchors, Align::left, text, lane)) return true;
  }
  return false;
}

// One mark a pixel and look is enough.
void lay_marks(Canvas& canvas, const std::vector<Shown>& events, double y, double font) {
  std::unordered_map<int64_t, bool> drawn;
  for (auto shown = events.rbegin(); shown != events.rend(); ++shown) {
    const int64_t key = static_cast<int64_t>(shown->x) * 16 + static_cast<int64_t>(shown->look.mark);
    if (shown->look.rank > 1 && !drawn.emplace(key, true).second) continue;
    const Mark mark = events.size() > kCrowd && shown->look.rank > 3 ? Mark::bar : shown->look.mark;
    canvas.add(Marker{
        Role::event, mark, {shown->x, y}, font * (shown->look.rank < 2 ? 0.42 : 0.28), shown->look.colour});
  }
}

}  // namespace

double lane_height(const Timeline& timeline, double block_height, double font) {
  if (timeline.events.empty()) return 0;
  const double room = std::clamp((block_height / font - 16) / 7, 1.0, static_cast<double>(kLabelRows));
  const size_t rows = std::min(static_cast<size_t>(room), timeline.events.size());
  return font * (1.85 + 1.25 * static_cast<double>(rows));
}

void lay_uprights(Canvas& canvas, const Timeline& timeline, const PanelPlace& place, const TimeScale& time,
                  const Style& style) {
  for (const TimelineEvent& event : timeline.events) {
    const Look look = look_of(event, nullptr, style);
    if (!look.is_upright) continue;
    const double x = time.x(event.time_ns);
    const bool is_kill = event.kind == EventKind::oom_kill;
    canvas.add(Polyline{Role::event,
                        {{x, place.plot.y}, {x, place.plot.bottom()}},
                        with_alpha(look.colour, is_kill ? 220 : 110),
                        place.font * (is_kill ? 0.1 : 0.07),
                        is_kill ? 0 : place.font * 0.3});
  }
}

void lay_event_lane(Canvas& canvas, const Timeline& timeline, const PanelPlace& place, const TimeScale& time,
                    const Style& style) {
  if (timeline.events.empty()) return;
  const double font = place.font;
  const double marks_y = place.plot.y + font * 0.6;
  const std::vector<Shown> events = shown_events(timeline, time, style);
  canvas.put("events", {place.plot.x - font * 0.5, marks_y + font * 0.3}, Align::right,
             {Role::text, font * 0.9, false, style.muted});
  canvas.add(
      Polyline{Role::grid, {{place.plot.x, marks_y}, {place.plot.right(), marks_y}}, style.grid, 1, 0});
  lay_marks(canvas, events, marks_y, font);
  const Rect words_area{place.plot.x - font * 0.3, place.plot.y, place.plot.width + font * 0.6,
                        place.plot.height};
  size_t unsaid = 0;
  for (const Shown& shown : events) {
    // Beyond this many failures the rows are full: asking on costs time for nothing.
    if (unsaid > 200 || !put_words(canvas, shown, words_area, font, marks_y, style)) ++unsaid;
  }
  if (unsaid > 0) {
    canvas.put(fmt::format("{} more event{}", unsaid, unsaid == 1 ? "" : "s"),
               {place.legend_x, marks_y + font * 0.3}, Align::left,
               {Role::text, font * 0.9, false, style.muted}, place.legend_width);
  }
}

}  // namespace memlog
