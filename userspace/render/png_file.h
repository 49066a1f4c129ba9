// SPDX-License-Identifier: Apache-2.0
// PNG encoding (ISO/IEC 15948) made for charts: large flat areas, written in milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace memlog {

// `pixels`: rows of 0xXXRRGGBB in native byte order, `stride_bytes` apart. A chart becomes a palette image (its
// smoothed edges lose a few shades where it has more than 256 colours), a photograph RGB. `pixels_per_metre` is stored where it is above 0.
Result<std::string> encode_png(const unsigned char* pixels, int width, int height, int stride_bytes,
                               int pixels_per_metre = 0);

}  // namespace memlog
