// SPDX-License-Identifier: Apache-2.0
// Paints Timelines as a PNG.
//
// Cairo is opened when the first picture is painted and never before: a recorder that draws nothing neither
// maps nor needs it.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "render/chart_layout.h"

namespace memlog {

// Cairo's own limit for an image's side.
inline constexpr int kMostPixels = 32767;

// Whether the picture that the options describe can be made: sides of 200 to 32767 real pixels and no more
// than 400 million in all.
Status check_size(const ChartOptions& options, size_t runs);

// The file's bytes. Fails where Cairo is missing, the size is impossible or memory is short.
Result<std::string> render_png(std::span<const Timeline> timelines, const ChartOptions& options);

}  // namespace memlog
