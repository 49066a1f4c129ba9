// SPDX-License-Identifier: Apache-2.0
// The colours of every picture, PNG and HTML alike: one place for both themes.
//
// The series colours are told apart with any of the common colour blindnesses (they start from Okabe and
// Ito's set, darkened on white and lightened on black until each has enough contrast). Red-orange `alarm` is
// kept for OOM kills and limits.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace memlog {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  uint8_t alpha = 255;
  bool operator==(const Colour&) const = default;
};

enum class Theme : uint8_t { light, dark };

struct Style {
  Colour background;
  Colour plot;  // behind the curves
  Colour text;
  Colour muted;  // second-rank text
  Colour grid;
  Colour axis;
  Colour gap;    // hatching where nothing is known
  Colour alarm;  // OOM kills, limits
  Colour good;   // a clean exit
  Colour available;
  Colour others;
  Colour anon, file, shmem;
  Colour swap, hugetlb;
  Colour live, ghost;
  std::array<Colour, 8> series;
};

const Style& style_of(Theme theme);

Colour with_alpha(Colour colour, uint8_t alpha);
std::string css_colour(Colour colour);  // "#0072b2", "#0072b280"
// Every colour by name as a JSON object, for the pages.
std::string style_json(Theme theme);

}  // namespace memlog
