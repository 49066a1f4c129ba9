// SPDX-License-Identifier: Apache-2.0
// The functions of Cairo that pictures need, found in libcairo when they are first wanted.
//
// Linked the usual way, Cairo and the X libraries behind it would cost every memlog process megabytes of
// resident memory, the recorder above all, and a machine without them could not even record.
#pragma once

#include <cairo.h>

#include "base/result.h"

namespace memlog {

// X(name): each becomes a member with the type of cairo_<name>.
#define MEMLOG_CAIRO_FUNCTIONS(X) \
  X(image_surface_create)         \
  X(image_surface_get_data)       \
  X(image_surface_get_stride)     \
  X(surface_status)               \
  X(surface_flush)                \
  X(surface_destroy)              \
  X(create)                       \
  X(destroy)                      \
  X(status)                       \
  X(status_to_string)             \
  X(save)                         \
  X(restore)                      \
  X(scale)                        \
  X(clip)                         \
  X(set_source_rgba)              \
  X(set_line_width)               \
  X(set_line_join)                \
  X(set_line_cap)                 \
  X(set_dash)                     \
  X(set_antialias)                \
  X(move_to)                      \
  X(line_to)                      \
  X(close_path)                   \
  X(rectangle)                    \
  X(arc)                          \
  X(new_path)                     \
  X(fill)                         \
  X(stroke)                       \
  X(paint)                        \
  X(select_font_face)             \
  X(set_font_size)                \
  X(text_extents)                 \
  X(text_path)                    \
  X(show_text)

struct Cairo {
#define MEMLOG_MEMBER(name) decltype(&cairo_##name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  MEMLOG_CAIRO_FUNCTIONS(MEMLOG_MEMBER)
#undef MEMLOG_MEMBER
};

// The library, opened once and kept; the error says how to get it.
Result<const Cairo*> load_cairo();

}  // namespace memlog
