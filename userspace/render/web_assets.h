// SPDX-License-Identifier: Apache-2.0
// What web/ and its packages became when memlog was built: pieces of the pages, embedded in the binary.
#pragma once

#include <string>
#include <string_view>

namespace memlog {

struct WebAssets {
  std::string_view page;           // template with {{places}}
  std::string_view style;          // CSS
  std::string_view script;         // the page's module, all files joined
  std::string_view script_sha256;  // hex, of `script`
  std::string_view plotly_gzip;    // Plotly's minified source
  std::string_view plotly_sha256;  // hex, of the source itself
  std::string_view plotly_licence;
};

WebAssets web_assets();

std::string base64(std::string_view bytes);
std::string bytes_of_hex(std::string_view hex);

}  // namespace memlog
