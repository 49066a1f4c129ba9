// SPDX-License-Identifier: Apache-2.0
#include "render/style.h"

#include <fmt/format.h>

#include <iterator>

namespace memlog {
namespace {

constexpr Colour rgb(uint32_t hex) {
  return {static_cast<uint8_t>(hex >> 16), static_cast<uint8_t>(hex >> 8), static_cast<uint8_t>(hex), 255};
}

constexpr Style kLight = {
    .background = rgb(0xffffff),
    .plot = rgb(0xfafbfc),
    .text = rgb(0x1a1f26),
    .muted = rgb(0x5b6572),
    .grid = rgb(0xe3e7ec),
    .axis = rgb(0x9aa4b0),
    .gap = rgb(0xb9c0c9),
    .alarm = rgb(0xc62f1d),
    .good = rgb(0x2f7d4f),
    .available = rgb(0x5b6572),
    .others = rgb(0x8a929c),
    .anon = rgb(0x3b8fc4),
    .file = rgb(0xe6a532),
    .shmem = rgb(0x3aa98a),
    .swap = rgb(0xb3509a),
    .hugetlb = rgb(0x6a51a3),
    .live = rgb(0x3aa98a),
    .ghost = rgb(0x8a929c),
    .series = {rgb(0x0072b2), rgb(0xe08600), rgb(0x009e73), rgb(0xb3509a), rgb(0x4bb0e8), rgb(0x8c5a2b),
               rgb(0x6a51a3), rgb(0x9aa800)},
};

constexpr Style kDark = {
    .background = rgb(0x14181d),
    .plot = rgb(0x191e25),
    .text = rgb(0xe8ecf1),
    .muted = rgb(0x9aa6b4),
    .grid = rgb(0x2b323b),
    .axis = rgb(0x596470),
    .gap = rgb(0x49535f),
    .alarm = rgb(0xff6f5e),
    .good = rgb(0x62c48b),
    .available = rgb(0x9aa6b4),
    .others = rgb(0x8791a0),
    .anon = rgb(0x3f8fc9),
    .file = rgb(0xd99a2b),
    .shmem = rgb(0x36a888),
    .swap = rgb(0xe38bc9),
    .hugetlb = rgb(0xa792e8),
    .live = rgb(0x36a888),
    .ghost = rgb(0x8791a0),
    .series = {rgb(0x56b4e9), rgb(0xf5a623), rgb(0x2cc79b), rgb(0xe38bc9), rgb(0xf0e442), rgb(0xc8905a),
               rgb(0xa792e8), rgb(0xdfe6ee)},
};

}  // namespace

const Style& style_of(Theme theme) { return theme == Theme::dark ? kDark : kLight; }

Colour with_alpha(Colour colour, uint8_t alpha) {
  colour.alpha = alpha;
  return colour;
}

std::string css_colour(Colour colour) {
  std::string text = fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
  if (colour.alpha != 255) text += fmt::format("{:02x}", colour.alpha);
  return text;
}

std::string style_json(Theme theme) {
  const Style& style = style_of(theme);
  std::string json = "{";
  const auto add = [&](const char* name, Colour colour) {
    fmt::format_to(std::back_inserter(json), "\"{}\":\"{}\",", name, css_colour(colour));
  };
  add("background", style.background);
  add("plot", style.plot);
  add("text", style.text);
  add("muted", style.muted);
  add("grid", style.grid);
  add("axis", style.axis);
  add("gap", style.gap);
  add("alarm", style.alarm);
  add("good", style.good);
  add("available", style.available);
  add("others", style.others);
  add("anon", style.anon);
  add("file", style.file);
  add("shmem", style.shmem);
  add("swap", style.swap);
  add("hugetlb", style.hugetlb);
  add("live", style.live);
  add("ghost", style.ghost);
  json += "\"series\":[";
  for (const Colour colour : style.series) json += '"' + css_colour(colour) + "\",";
  json.back() = ']';
  return json + '}';
}

}  // namespace memlog
