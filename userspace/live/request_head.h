// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP request as text: what is refused before anything parses it, and what is hidden from the
// HTTP library.
//
// Only GET and HEAD without a body are answered. The library sees neither Accept-Encoding (it would compress
// slowly), nor Range, nor Expect: those lines are taken out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memlog {

inline constexpr size_t kMostHeadBytes = size_t{16} * 1024;
inline constexpr size_t kMostTargetBytes = 4096;
inline constexpr size_t kMostHeadLines = 100;

struct RequestHead {
  int refused_status = 0;  // 0: it may be answered
  std::string bytes;       // what the library gets, the blank line included
  bool accepts_gzip = false;
};

// `text` is a whole head: everything up to and with the blank line.
RequestHead read_request_head(std::string_view text);

// The length of the head that `bytes` begin with, blank line included; 0: it is not whole yet.
size_t head_length(std::string_view bytes);

}  // namespace memlog
