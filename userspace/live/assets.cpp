// SPDX-License-Identifier: Apache-2.0
#include "live/assets.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "live/gzip.h"
#include "render/html.h"
#include "render/web_assets.h"

// Made by memlog_embed (CMakeLists.txt).
#define MEMLOG_ASSET(name)              \
  extern "C" const char asset_##name[]; \
  extern "C" const char asset_##name##_end[];
MEMLOG_ASSET(live_page)
MEMLOG_ASSET(live_style)
MEMLOG_ASSET(live_script)
MEMLOG_ASSET(live_script_sha256)
#undef MEMLOG_ASSET

namespace memlog {
namespace {

constexpr size_t kHashDigits = 16;
constexpr size_t kMostPlotlyBytes = size_t{8} << 20U;

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

std::string without_markup(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

LiveAssets::LiveAssets() {
  const std::string_view script = between(asset_live_script, asset_live_script_end);
  const std::string_view hash = trim(between(asset_live_script_sha256, asset_live_script_sha256_end));
  const WebAssets web = web_assets();
  packed_script_ = gzip(script);
  assets_.push_back({"live-" + std::string(hash.substr(0, kHashDigits)) + ".js",
                     "text/javascript; charset=utf-8", packed_script_, script.size()});
  assets_.push_back({"plotly-" + std::string(web.plotly_sha256.substr(0, kHashDigits)) + ".js",
                     "text/javascript; charset=utf-8", web.plotly_gzip, kMostPlotlyBytes});
}

const LiveAsset* LiveAssets::find(std::string_view name) const {
  const auto found = std::find_if(assets_.begin(), assets_.end(),
                                  [&](const LiveAsset& asset) { return asset.name == name; });
  return found == assets_.end() ? nullptr : &*found;
}

std::string LiveAssets::page(std::string_view boot, std::string_view title) const {
  const std::string safe_boot = without_markup(boot);
  const std::string safe_title = html_text(title);
  const std::string colours = colours_css({});
  const std::pair<std::string_view, std::string_view> values[] = {
      {"title", safe_title},
      {"colours", colours},
      {"style", between(asset_live_style, asset_live_style_end)},
      {"boot", safe_boot},
      {"script", assets_[0].name},
      {"plotly", assets_[1].name}};
  return fill_in(between(asset_live_page, asset_live_page_end), values);
}

}  // namespace memlog
