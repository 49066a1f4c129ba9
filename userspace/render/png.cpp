// SPDX-License-Identifier: Apache-2.0
#include "render/png.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "render/png_cairo.h"
#include "render/png_file.h"

namespace memlog {
namespace {

constexpr int kLeastPixels = 200;
constexpr int64_t kMostArea = 400'000'000;

// Walks a Picture's shapes with Cairo. Owns the image and its context.
class Painter {
 public:
  Painter(const Cairo& cairo, int width, int height, double scale)
      : cairo_(cairo),
        width_(width),
        height_(height),
        surface_(cairo.image_surface_create(CAIRO_FORMAT_RGB24, width, height)),
        context_(cairo.create(surface_)) {
    cairo_.scale(context_, scale, scale);
    cairo_.set_line_join(context_, CAIRO_LINE_JOIN_ROUND);
  }
  ~Painter() {
    cairo_.destroy(context_);
    cairo_.surface_destroy(surface_);
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  double text_width(std::string_view text, double size, bool bold) {
    font(size, bold);
    cairo_text_extents_t extents{};
    cairo_.text_extents(context_, std::string(text).c_str(), &extents);
    return extents.x_advance;
  }

  void paint(const Picture& picture) {
    background_ = picture.background;
    ink(picture.background);
    cairo_.paint(context_);
    for (const Shape& shape : picture.shapes) {
      std::visit([this](const auto& one) { paint(one); }, shape);
    }
    cairo_.surface_flush(surface_);
  }

  Result<std::string> encode(double scale) {
    const cairo_status_t status = cairo_.status(context_);
    if (status != CAIRO_STATUS_SUCCESS) {
      return Error{"drawing the picture", cairo_.status_to_string(status), "", 0};
    }
    const int density = static_cast<int>(std::lround(96 * scale / 0.0254));
    return encode_png(cairo_.image_surface_get_data(surface_), width_, height_,
                      cairo_.image_surface_get_stride(surface_), density);
  }

 private:
  void ink(Colour colour) {
    cairo_.set_source_rgba(context_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                           colour.alpha / 255.0);
  }
  void font(double size, bool bold) {
    cairo_.select_font_face(context_, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                            bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_.set_font_size(context_, size);
  }
  void path(const std::vector<Point>& points) {
    cairo_.new_path(context_);
    for (const Point& point : points) cairo_.line_to(context_, point.x, point.y);
  }

  void paint(const Box& box) {
    ink(box.colour);
    cairo_.rectangle(context_, box.area.x, box.area.y, box.area.width, box.area.height);
    cairo_.fill(context_);
  }
  void paint(const Polygon& polygon) {
    ink(polygon.colour);
    path(polygon.points);
    cairo_.close_path(context_);
    cairo_.fill(context_);
  }
  void paint(const Polyline& line) {
    ink(line.colour);
    cairo_.set_line_width(context_, line.width);
    // Hairlines of the grid fall on whole pixels; smoothing would smear them over two.
    const bool is_hairline = line.role == Role::grid || line.role == Role::frame;
    cairo_.set_antialias(context_, is_hairline ? CAIRO_ANTIALIAS_NONE : CAIRO_ANTIALIAS_DEFAULT);
    cairo_.set_dash(context_, &line.dash, line.dash > 0 ? 1 : 0, 0);
    path(line.points);
    cairo_.stroke(context_);
    cairo_.set_dash(context_, nullptr, 0, 0);
    cairo_.set_antialias(context_, CAIRO_ANTIALIAS_DEFAULT);
  }
  void paint(const Hatch& hatch) {
    const Rect& area = hatch.area;
    cairo_.save(context_);
    cairo_.rectangle(context_, area.x, area.y, area.width, area.height);
    cairo_.clip(context_);
    ink(with_alpha(hatch.colour, 40));
    cairo_.paint(context_);
    ink(hatch.colour);
    cairo_.set_line_width(context_, hatch.spacing * 0.15);
    const auto first = static_cast<int>(std::floor((area.x - area.height) / hatch.spacing));
    const auto end = static_cast<int>(std::ceil(area.right() / hatch.spacing));
    for (int line = first; line < end; ++line) {
      const double x = line * hatch.spacing;
      cairo_.move_to(context_, x, area.bottom());
      cairo_.line_to(context_, x + area.height, area.y);
    }
    cairo_.stroke(context_);
    cairo_.restore(context_);
  }
  void paint(const Marker& marker);
  void paint(const Label& label) {
    font(label.size, label.bold);
    if (label.role == Role::peak) {  // over curves: a halo keeps it readable
      ink(with_alpha(background_, 225));
      cairo_.set_line_width(context_, label.size * 0.3);
      cairo_.move_to(context_, label.baseline.x, label.baseline.y);
      cairo_.text_path(context_, label.text.c_str());
      cairo_.stroke(context_);
    }
    ink(label.colour);
    cairo_.move_to(context_, label.baseline.x, label.baseline.y);
    cairo_.show_text(context_, label.text.c_str());
  }

  const Cairo& cairo_;
  int width_;
  int height_;
  cairo_surface_t* surface_;
  cairo_t* context_;
  Colour background_;
};

void Painter::paint(const Marker& marker) {
  const double x = marker.centre.x;
  const double y = marker.centre.y;
  const double r = marker.radius;
  ink(marker.colour);
  cairo_.set_line_width(context_, r * 0.55);
  switch (marker.mark) {
    case Mark::dot:
    case Mark::ring:
      cairo_.new_path(context_);
      cairo_.arc(context_, x, y, r, 0, 2 * std::numbers::pi);
      if (marker.mark == Mark::dot) {
        cairo_.fill(context_);
      } else {
        cairo_.stroke(context_);
      }
      return;
    case Mark::triangle:
      return paint(
          Polygon{marker.role, {{x - r, y + r * 0.8}, {x, y - r}, {x + r, y + r * 0.8}}, marker.colour});
    case Mark::diamond:
      return paint(Polygon{marker.role, {{x - r, y}, {x, y - r}, {x + r, y}, {x, y + r}}, marker.colour});
    case Mark::bar:
      return paint(Box{marker.role, {x - r * 0.25, y - r, r * 0.5, 2 * r}, marker.colour});
    case Mark::cross:
      paint(Polyline{marker.role, {{x - r, y - r}, {x + r, y + r}}, marker.colour, r * 0.6, 0});
      return paint(Polyline{marker.role, {{x - r, y + r}, {x + r, y - r}}, marker.colour, r * 0.6, 0});
  }
}

int real_pixels(double logical, double scale) { return static_cast<int>(std::lround(logical * scale)); }

}  // namespace

Status check_size(const ChartOptions& options, size_t runs) {
  const double width = options.width * options.scale;
  const double height = chart_height(options, runs) * options.scale;
  const auto refuse = [&](const std::string& reason) {
    return Error{fmt::format("drawing a picture of {:.0f} x {:.0f} pixels", width, height), reason,
                 "choose other values of --width, --height and --scale", 0};
  };
  if (!(width >= kLeastPixels && height >= kLeastPixels)) {
    return refuse(fmt::format("a side below {} pixels holds no readable picture", kLeastPixels));
  }
  if (!(width <= kMostPixels && height <= kMostPixels)) {
    return refuse(fmt::format("a side may have at most {} pixels", kMostPixels));
  }
  if (width * height > static_cast<double>(kMostArea)) {
    return refuse(fmt::format("at most {} million pixels can be drawn", kMostArea / 1'000'000));
  }
  return Ok{};
}

Result<std::string> render_png(std::span<const Timeline> timelines, const ChartOptions& options) {
  if (const Status size = check_size(options, timelines.size()); !size.ok()) return size.error();
  const Result<const Cairo*> cairo = load_cairo();
  if (!cairo.ok()) return cairo.error();
  Painter painter(**cairo, real_pixels(options.width, options.scale),
                  real_pixels(chart_height(options, timelines.size()), options.scale), options.scale);
  const Picture picture = lay_chart(timelines, options, [&](std::string_view text, double size, bool bold) {
    return painter.text_width(text, size, bold);
  });
  painter.paint(picture);
  return painter.encode(options.scale);
}

}  // namespace memlog
