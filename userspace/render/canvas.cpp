// SPDX-License-Identifier: Apache-2.0
#include "render/canvas.h"

#include <algorithm>

namespace memlog {
namespace {

constexpr double kAscent = 0.80;  // of the size; enough for the fonts in use
constexpr double kDescent = 0.22;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Offsets at which a character starts, and the end.
std::vector<size_t> character_starts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_continuation(text[at])) starts.push_back(at);
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace

Canvas::Canvas(double width, double height, const Style& style, TextWidth text_width)
    : text_width_(std::move(text_width)) {
  picture_.width = width;
  picture_.height = height;
  picture_.background = style.background;
}

double Canvas::width_of(std::string_view text, const TextStyle& style) const {
  return text_width_(text, style.size, style.bold);
}

Rect Canvas::box_of(std::string_view text, Point anchor, Align align, const TextStyle& style) const {
  const double width = width_of(text, style);
  const double left = align == Align::left     ? anchor.x
                      : align == Align::centre ? anchor.x - width / 2
                                               : anchor.x - width;
  return {left, anchor.y - kAscent * style.size, width, (kAscent + kDescent) * style.size};
}

Rect Canvas::put(std::string_view text, Point anchor, Align align, const TextStyle& style, double room) {
  const std::string fitted = fit(text, room, style);
  const Rect box = box_of(fitted, anchor, align, style);
  if (fitted.empty()) return box;
  claim(box);
  add(Label{style.role, fitted, {box.x, anchor.y}, style.size, style.bold, style.colour, box});
  return box;
}

bool Canvas::put_free(std::string_view text, std::span<const Point> anchors, Align align,
                      const TextStyle& style, const Rect& bounds) {
  for (const Point& anchor : anchors) {
    const Rect box = box_of(text, anchor, align, style);
    const double clear = style.size * 0.4;
    if (!bounds.holds(box) || !is_free({box.x - clear, box.y, box.width + 2 * clear, box.height})) continue;
    put(text, anchor, align, style);
    return true;
  }
  return false;
}

bool Canvas::is_free(const Rect& box) const {
  return std::none_of(taken_.begin(), taken_.end(), [&](const Rect& taken) { return taken.overlaps(box); });
}

std::string Canvas::fit(std::string_view text, double room, const TextStyle& style) const {
  if (text.empty() || width_of(text, style) <= room) return std::string(text);
  const std::vector<size_t> starts = character_starts(text);
  size_t low = 0;
  size_t high = starts.size() - 1;
  std::string best;
  while (low < high) {
    const size_t kept = (low + high + 1) / 2;
    const size_t head = (kept * 2 + 2) / 3;
    std::string cut(text.substr(0, starts[head]));
    cut += "...";
    cut += text.substr(starts[starts.size() - 1 - (kept - head)]);
    if (width_of(cut, style) <= room) {
      low = kept;
      best = std::move(cut);
    } else {
      high = kept - 1;
    }
  }
  return best;
}

}  // namespace memlog
