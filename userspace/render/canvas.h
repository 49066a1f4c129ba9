// SPDX-License-Identifier: Apache-2.0
// Canvas: a Picture being laid out: shapes go in, and every text claims the room that it covers, so that a
// later text can be put where it overlaps none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "render/picture.h"

namespace memlog {

enum class Align : uint8_t { left, centre, right };

struct TextStyle {
  Role role = Role::text;
  double size = 12;
  bool bold = false;
  Colour colour;
};

class Canvas {
 public:
  Canvas(double width, double height, const Style& style, TextWidth text_width);

  void add(Shape shape) { picture_.shapes.push_back(std::move(shape)); }

  double width_of(std::string_view text, const TextStyle& style) const;
  // The box of `text` when its baseline is at `anchor`.
  Rect box_of(std::string_view text, Point anchor, Align align, const TextStyle& style) const;
  // Puts the text there, cut with "..." in its middle where it is wider than `room`. Returns its box.
  Rect put(std::string_view text, Point anchor, Align align, const TextStyle& style, double room = 1e9);
  // Puts the text at the first of `anchors` where it lies inside `bounds` and over no other text and no
  // claimed box; false where there is none.
  bool put_free(std::string_view text, std::span<const Point> anchors, Align align, const TextStyle& style,
                const Rect& bounds);
  void claim(const Rect& box) { taken_.push_back(box); }
  bool is_free(const Rect& box) const;

  // `text` shortened with "..." in its middle until it fits; empty where not even that fits.
  std::string fit(std::string_view text, double room, const TextStyle& style) const;

  Picture take() { return std::move(picture_); }

 private:
  Picture picture_;
  TextWidth text_width_;
  std::vector<Rect> taken_;
};

}  // namespace memlog
