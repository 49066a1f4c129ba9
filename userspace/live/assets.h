// SPDX-License-Identifier: Apache-2.0
// The dashboard's page and what it loads, as they go over the wire.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memlog {

struct LiveAsset {
  std::string name;  // with a hash of its content: "live-1a2b3c4d5e6f7081.js"
  std::string type;
  std::string_view packed;  // gzip
  size_t plain_bytes = 0;   // an upper bound of what it unpacks to
};

class LiveAssets {
 public:
  LiveAssets();
  // nullptr: there is none of that name.
  const LiveAsset* find(std::string_view name) const;
  // The page; `boot` is a JSON object, put into it with every "<" escaped.
  std::string page(std::string_view boot, std::string_view title) const;

 private:
  std::vector<LiveAsset> assets_;
  std::string packed_script_;
};

}  // namespace memlog
