// SPDX-License-Identifier: Apache-2.0
#include "render/panel_layout.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"
#include "render/curve_layout.h"
#include "render/event_lane.h"

namespace memlog {
namespace {

int ticks_that_fit(double height, double font) {
  return std::clamp(static_cast<int>(height / (font * 2.6)), 2, 8);
}

// The axis' upper end: room above the highest value for its label.
double axis_top(const Panel& panel, double height, double font) {
  double top = panel.least_top;
  for (const Curve& curve : panel.curves) {
    for (const TimelinePoint& point : curve.points) top = std::max(top, static_cast<double>(point.max));
    if (curve.kind != CurveKind::reference && curve.peak.has_value()) {
      top = std::max(top, static_cast<double>(curve.peak.value()));
    }
  }
  for (const UnsampledPeak& peak : panel.unsampled_peaks)
    top = std::max(top, static_cast<double>(peak.value));
  if (top <= 0) top = panel.unit == Unit::bytes ? 1048576 : 1;
  const double room = std::min(0.3, 1.9 * font / std::max(height, 1.0));
  return top / (1 - room);
}

void lay_axes(Canvas& canvas, const Panel& panel, const PanelPlace& place, const CurveScale& scale,
              const Style& style) {
  const TimeScale& time = scale.time;
  const Rect& plot = place.plot;
  canvas.add(Box{Role::frame, plot, style.plot});
  for (const TimeTick& tick : place.ticks) {
    const double x = time.x(tick.time_ns + time.origin_ns);
    canvas.add(Polyline{Role::grid, {{x, plot.y}, {x, plot.bottom()}}, style.grid, 1, 0});
  }
  const TextStyle text{Role::text, place.font * 0.9, false, style.muted};
  for (const ValueTick& tick : value_ticks(scale.top, ticks_that_fit(plot.height, place.font), panel.unit)) {
    const double y = scale.y(tick.value);
    canvas.add(Polyline{Role::grid, {{plot.x, y}, {plot.right(), y}}, style.grid, 1, 0});
    canvas.put(tick.label, {plot.x - place.font * 0.5, y + text.size * 0.33}, Align::right, text);
  }
  canvas.add(
      Polyline{Role::frame, {{plot.x, plot.bottom()}, {plot.right(), plot.bottom()}}, style.axis, 1, 0});
}

void lay_gaps(Canvas& canvas, const Timeline& timeline, const PanelPlace& place, const TimeScale& time,
              const Style& style) {
  for (const TimelineGap& gap : timeline.gaps) {
    const double left = time.x(gap.begin_ns);
    const double width = std::max(1.5, time.x(gap.end_ns) - left);
    canvas.add(Hatch{Role::gap, {left, place.plot.y, width, place.plot.height}, style.gap, place.font * 0.5});
    if (!place.say_gaps) continue;
    const TextStyle text{Role::peak, place.font * 0.95, false, style.muted};
    const std::string words = printable(gap.text);
    const std::array<Point, 1> middle = {Point{left + width / 2, place.plot.y + place.plot.height / 2}};
    if (canvas.width_of(words, text) < width) canvas.put_free(words, middle, Align::centre, text, place.plot);
  }
}

void lay_legend(Canvas& canvas, const Panel& panel, const PanelPlace& place, const Style& style) {
  const double font = place.font * 0.95;
  const double line = font * 1.45;
  double y = place.plot.y + font;
  const auto fits = static_cast<size_t>(std::max(1.0, (place.plot.height + font * 0.4) / line));
  const TextStyle name{Role::legend, font, false, style.text};
  const TextStyle value{Role::legend, font, true, style.text};
  for (size_t index = 0; index < panel.curves.size(); ++index) {
    if (index + 1 == fits && panel.curves.size() > fits) {
      canvas.put(fmt::format("and {} more", panel.curves.size() - index), {place.legend_x, y}, Align::left,
                 {Role::legend, font, false, style.muted}, place.legend_width);
      return;
    }
    const Curve& curve = panel.curves[index];
    const double swatch = font * 0.8;
    if (curve.kind == CurveKind::reference) {
      canvas.add(Polyline{Role::legend,
                          {{place.legend_x, y - font * 0.3}, {place.legend_x + swatch, y - font * 0.3}},
                          curve.colour,
                          font * 0.14,
                          font * 0.3});
    } else {
      canvas.add(Box{Role::legend, {place.legend_x, y - swatch * 0.85, swatch, swatch}, curve.colour});
    }
    const double right = place.legend_x + place.legend_width;
    const double value_width = canvas.width_of(curve.value, value);
    const double room = place.legend_width - font * 1.9 - value_width;
    canvas.put(curve.label, {place.legend_x + font * 1.2, y}, Align::left, name, std::max(room, font * 2));
    if (room > font * 2) canvas.put(curve.value, {right, y}, Align::right, value);
    y += line;
  }
}

// Words beside a point of the plot, where they cover no other words. They may cover curves: a halo keeps them
// readable.
void label_point(Canvas& canvas, const std::string& text, Point at, const PanelPlace& place,
                 const Style& style) {
  const double font = place.font;
  const TextStyle label{Role::peak, font * 0.95, true, style.text};
  const double width = canvas.width_of(text, label);
  const double above = at.y - font * 0.6;
  const double level = at.y + font * 0.35;
  const std::array<Point, 5> anchors = {Point{at.x - width / 2, above}, Point{at.x - width, above},
                                        Point{at.x, above}, Point{at.x + font * 0.8, level},
                                        Point{at.x - font * 0.8 - width, level}};
  canvas.put_free(text, anchors, Align::left, label, place.plot);
}

void lay_peak(Canvas& canvas, const Curve& curve, const Panel& panel, const PanelPlace& place,
              const CurveScale& scale, const Style& style) {
  const TimeScale& time = scale.time;
  if (!curve.peak.has_value() || curve.points.empty()) return;
  const Point at{time.x(curve.peak_ns), scale.y(curve.peak.value())};
  const double font = place.font;
  const int decimals = time.end_ns - time.begin_ns < int64_t{20} * 1000000000 ? 2 : 0;
  std::string text = format_value(curve.peak.value(), panel.unit);
  text += " at " + (time.origin_ns == 0 ? format_time(curve.peak_ns, place.zone, false, decimals)
                                        : "+" + format_duration(curve.peak_ns - time.origin_ns));
  canvas.add(Marker{Role::peak, Mark::ring, at, font * 0.28, curve.colour});
  label_point(canvas, text, at, place, style);
}

void lay_peaks(Canvas& canvas, const Panel& panel, const PanelPlace& place, const CurveScale& scale,
               const Style& style) {
  const TimeScale& time = scale.time;
  std::vector<const Curve*> highest;
  for (const Curve& curve : panel.curves) {
    if (curve.kind == CurveKind::line && curve.peak.value_or(0) > 0) highest.push_back(&curve);
  }
  std::stable_sort(highest.begin(), highest.end(), [](const Curve* left, const Curve* right) {
    return left->peak.value() > right->peak.value();
  });
  const size_t most = panel.weight > 2 ? 3 : 1;
  for (size_t index = 0; index < std::min(most, highest.size()); ++index) {
    lay_peak(canvas, *highest[index], panel, place, scale, style);
  }
  for (const UnsampledPeak& peak : panel.unsampled_peaks) {
    const Point at{time.x(peak.time_ns), scale.y(peak.value)};
    canvas.add(Marker{Role::peak, Mark::triangle, at, place.font * 0.36, peak.colour});
    label_point(canvas, format_value(peak.value, panel.unit) + ", seen by the kernel only", at, place, style);
  }
}

void lay_title(Canvas& canvas, const Panel& panel, const PanelPlace& place, const Style& style) {
  const double y = place.plot.y - place.font * 0.55;
  const double room = place.legend_x + place.legend_width - place.plot.x;
  const Rect title = canvas.put(panel.title, {place.plot.x, y}, Align::left,
                                {Role::text, place.font, true, style.text}, room);
  std::string remarks;
  for (const std::string& remark : panel.remarks) remarks += (remarks.empty() ? "" : ";  ") + remark;
  const double left = title.right() + place.font;
  canvas.put(remarks, {left, y}, Align::left, {Role::text, place.font * 0.95, false, style.muted},
             std::max(0.0, place.plot.x + room - left));
}

}  // namespace

double value_label_width(const Canvas& canvas, const Panel& panel, double height, double font) {
  double widest = 0;
  const TextStyle text{Role::text, font * 0.9, false, {}};
  for (const ValueTick& tick :
       value_ticks(axis_top(panel, height, font), ticks_that_fit(height, font), panel.unit)) {
    widest = std::max(widest, canvas.width_of(tick.label, text));
  }
  return widest;
}

double legend_width(const Canvas& canvas, const Panel& panel, double font) {
  double widest = 0;
  const double size = font * 0.95;
  for (const Curve& curve : panel.curves) {
    widest = std::max(widest, size * 2.2 + canvas.width_of(curve.label, {Role::legend, size, false, {}}) +
                                  canvas.width_of(curve.value, {Role::legend, size, true, {}}));
  }
  return widest;
}

void lay_panel(Canvas& canvas, const Timeline& timeline, const Panel& panel, const PanelPlace& place,
               const TimeScale& time, const Style& style) {
  const CurveScale scale{time, axis_top(panel, place.plot.height, place.font), place.plot.bottom(),
                         place.plot.height, place.font};
  lay_axes(canvas, panel, place, scale, style);
  lay_gaps(canvas, timeline, place, time, style);
  lay_title(canvas, panel, place, style);
  lay_uprights(canvas, timeline, place, time, style);
  for (const Curve& curve : panel.curves) {
    if (curve.kind == CurveKind::stacked) lay_curve(canvas, curve, scale);
  }
  for (auto curve = panel.curves.rbegin(); curve != panel.curves.rend(); ++curve) {
    if (curve->kind != CurveKind::stacked) lay_curve(canvas, *curve, scale);
  }
  const bool has_data = std::any_of(panel.curves.begin(), panel.curves.end(),
                                    [](const Curve& curve) { return !curve.points.empty(); });
  if (!has_data) {
    canvas.put("no samples", {place.plot.x + place.plot.width / 2, place.plot.y + place.plot.height / 2},
               Align::centre, {Role::text, place.font * 1.2, false, style.muted});
  }
  lay_legend(canvas, panel, place, style);
  lay_peaks(canvas, panel, place, scale, style);
}

}  // namespace memlog
