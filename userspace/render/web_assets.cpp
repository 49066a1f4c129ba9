// SPDX-License-Identifier: Apache-2.0
#include "render/web_assets.h"

#include <cstdint>

#include "base/text.h"

// Made by memlog_embed (CMakeLists.txt).
#define MEMLOG_ASSET(name)              \
  extern "C" const char asset_##name[]; \
  extern "C" const char asset_##name##_end[];
MEMLOG_ASSET(page)
MEMLOG_ASSET(style)
MEMLOG_ASSET(script)
MEMLOG_ASSET(script_sha256)
MEMLOG_ASSET(plotly_gzip)
MEMLOG_ASSET(plotly_sha256)
MEMLOG_ASSET(plotly_licence)
#undef MEMLOG_ASSET

namespace memlog {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

WebAssets web_assets() {
  return {.page = between(asset_page, asset_page_end),
          .style = between(asset_style, asset_style_end),
          .script = between(asset_script, asset_script_end),
          .script_sha256 = trim(between(asset_script_sha256, asset_script_sha256_end)),
          .plotly_gzip = between(asset_plotly_gzip, asset_plotly_gzip_end),
          .plotly_sha256 = trim(between(asset_plotly_sha256, asset_plotly_sha256_end)),
          .plotly_licence = between(asset_plotly_licence, asset_plotly_licence_end)};
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t step = 0; step < 3; ++step) {
      group = group << 8 | (at + step < bytes.size() ? static_cast<unsigned char>(bytes[at + step]) : 0U);
    }
    for (size_t step = 0; step < 4; ++step) {
      text += at + step > bytes.size() ? '=' : digits[group >> (18 - 6 * step) & 63U];
    }
  }
  return text;
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) {
    const int high = hex_digit(hex[at]);
    const int low = hex_digit(hex[at + 1]);
    if (high < 0 || low < 0) return "";
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace memlog
