// SPDX-License-Identifier: Apache-2.0
#include "render/curve_layout.h"

#include <span>

namespace memlog {
namespace {

// A band's column is at least this wide, so that one sample's spike in hours is still seen.
constexpr double kLeastColumn = 1.4;

struct Columns {
  double left = 0;
  double right = 0;
};

Columns columns_of(const TimelinePoint& point, const TimeScale& time) {
  Columns columns{time.x(point.begin_ns), time.x(point.end_ns)};
  const double missing = kLeastColumn - (columns.right - columns.left);
  if (missing > 0) {
    columns.left -= missing / 2;
    columns.right += missing / 2;
  }
  return columns;
}

// Calls `piece(first, count)` for each run of points that no break divides.
template <typename Function>
void for_each_piece(const std::vector<TimelinePoint>& points, Function piece) {
  size_t first = 0;
  for (size_t at = 1; at <= points.size(); ++at) {
    if (at < points.size() && !points[at].follows_a_break) continue;
    piece(first, at - first);
    first = at;
  }
}

void lay_band(Canvas& canvas, const Curve& curve, std::span<const TimelinePoint> points,
              const CurveScale& scale) {
  bool is_flat = true;
  for (const TimelinePoint& point : points) is_flat = is_flat && point.min == point.max;
  if (is_flat) return;
  std::vector<Point> top;
  std::vector<Point> outline;
  for (const TimelinePoint& point : points) {
    const Columns columns = columns_of(point, scale.time);
    top.push_back({columns.left, scale.y(point.max)});
    top.push_back({columns.right, scale.y(point.max)});
  }
  outline = top;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    const Columns columns = columns_of(*point, scale.time);
    outline.push_back({columns.right, scale.y(point->min)});
    outline.push_back({columns.left, scale.y(point->min)});
  }
  canvas.add(Polygon{Role::band, std::move(outline), with_alpha(curve.colour, 90)});
  canvas.add(Polyline{Role::band, std::move(top), with_alpha(curve.colour, 200), scale.font * 0.05, 0});
}

void lay_stack(Canvas& canvas, const Curve& curve, size_t first, size_t count, const CurveScale& scale) {
  std::vector<Point> outline;
  for (size_t at = first; at < first + count; ++at) {
    const Columns columns = columns_of(curve.points[at], scale.time);
    const double y = scale.y(curve.floors[at] + curve.points[at].mean);
    outline.push_back({columns.left, y});
    outline.push_back({columns.right, y});
  }
  for (size_t at = first + count; at-- > first;) {
    const Columns columns = columns_of(curve.points[at], scale.time);
    const double y = scale.y(curve.floors[at]);
    outline.push_back({columns.right, y});
    outline.push_back({columns.left, y});
  }
  canvas.add(Polygon{Role::fill, std::move(outline), with_alpha(curve.colour, 150)});
}

void lay_line(Canvas& canvas, const Curve& curve, std::span<const TimelinePoint> points,
              const CurveScale& scale) {
  const bool is_reference = curve.kind == CurveKind::reference;
  std::vector<Point> line;
  line.reserve(points.size() + 2);
  for (const TimelinePoint& point : points) {
    const double x = scale.time.x(point.begin_ns + (point.end_ns - point.begin_ns) / 2);
    line.push_back({x, scale.y(point.mean)});
  }
  const double end_x = scale.time.x(points.back().end_ns);
  if (end_x > line.back().x) line.push_back({end_x, scale.y(points.back().last)});
  const double begin_x = scale.time.x(points.front().begin_ns);
  if (begin_x < line.front().x) line.insert(line.begin(), {begin_x, line.front().y});
  const double length = line.back().x - line.front().x;
  const bool is_roomy = length > static_cast<double>(points.size()) * scale.font * 1.5;
  const bool show_dots = !is_reference && (points.size() == 1 || is_roomy);
  if (show_dots) {
    for (const TimelinePoint& point : points) {
      const double x = scale.time.x(point.begin_ns + (point.end_ns - point.begin_ns) / 2);
      canvas.add(Marker{Role::curve, Mark::dot, {x, scale.y(point.mean)}, scale.font * 0.2, curve.colour});
    }
  }
  if (line.size() < 2) {
    if (!is_reference) return;
    line = {{line[0].x - scale.font, line[0].y}, {line[0].x + scale.font, line[0].y}};
  }
  const Role role = is_reference ? Role::reference : Role::curve;
  canvas.add(Polyline{role, std::move(line), curve.colour, scale.font * (is_reference ? 0.1 : 0.12),
                      is_reference ? scale.font * 0.5 : 0});
}

}  // namespace

void lay_curve(Canvas& canvas, const Curve& curve, const CurveScale& scale) {
  for_each_piece(curve.points, [&](size_t first, size_t count) {
    const std::span<const TimelinePoint> piece(curve.points.data() + first, count);
    if (piece.empty()) return;
    if (curve.kind == CurveKind::stacked) {
      lay_stack(canvas, curve, first, count, scale);
      return;
    }
    if (curve.kind == CurveKind::line) lay_band(canvas, curve, piece, scale);
    lay_line(canvas, curve, piece, scale);
  });
}

}  // namespace memlog
