// SPDX-License-Identifier: Apache-2.0
// Picture: what is to be painted, as plain shapes in logical pixels (y grows downwards), in painting order.
//
// The layout makes it without knowing of any graphics library, a painter walks it without knowing of memory:
// so the layout is tested by its numbers. `role` says what a shape stands for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "render/style.h"

namespace memlog {

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  bool overlaps(const Rect& other) const {
    return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
  }
  bool holds(const Rect& other) const {
    return other.x >= x && other.right() <= right() && other.y >= y && other.bottom() <= bottom();
  }
};

enum class Role : uint8_t { frame, grid, curve, band, fill, reference, gap, event, peak, legend, text };

struct Box {
  Role role = Role::frame;
  Rect area;
  Colour colour;
};
struct Polygon {
  Role role = Role::fill;
  std::vector<Point> points;
  Colour colour;
};
struct Polyline {
  Role role = Role::curve;
  std::vector<Point> points;
  Colour colour;
  double width = 1;
  double dash = 0;  // length of dashes and of the spaces between them; 0 = unbroken
};
struct Hatch {
  Role role = Role::gap;
  Rect area;
  Colour colour;
  double spacing = 6;
};
enum class Mark : uint8_t { dot, ring, triangle, diamond, cross, bar };
struct Marker {
  Role role = Role::event;
  Mark mark = Mark::dot;
  Point centre;
  double radius = 3;
  Colour colour;
};
struct Label {
  Role role = Role::text;
  std::string text;
  Point baseline;  // left end of the baseline
  double size = 12;
  bool bold = false;
  Colour colour;
  Rect box;  // what the text covers
};

using Shape = std::variant<Box, Polygon, Polyline, Hatch, Marker, Label>;

struct Picture {
  double width = 0;
  double height = 0;
  Colour background;
  std::vector<Shape> shapes;
};

// Width in logical pixels of `text` at `size`.
using TextWidth = std::function<double(std::string_view text, double size, bool bold)>;

}  // namespace memlog
