// SPDX-License-Identifier: Apache-2.0
// Numbers in the text of kernel files. Whatever is not a number, or does not fit, is NULL; nothing allocates.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/nullable.h"

namespace memlog {

// The unsigned number at the start of `text`, after blanks. What follows it is not looked at.
inline Nullable leading_count(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  const size_t first_digit = at;
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    const int64_t digit = text[at] - '0';
    if (value > (INT64_MAX - digit) / 10) return {};
    value = value * 10 + digit;
  }
  return at == first_digit ? Nullable() : Nullable(value);
}

// `count` units of `factor` (> 0) each; NULL where the product does not fit.
inline Nullable scaled(Nullable count, int64_t factor) {
  if (!count.has_value() || count.value() > INT64_MAX / factor || count.value() < 0) return {};
  return count.value() * factor;
}

// The kernel's "kB" is 1024 bytes, whatever the page size.
inline Nullable leading_kb_as_bytes(std::string_view text) { return scaled(leading_count(text), 1024); }

// What follows `key` on the line that starts with it ("oom_kill " finds "oom_kill 7", not "oom_kill_disable
// 0"), or an empty text.
inline std::string_view after_key(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    const std::string_view rest = text.substr(at + key.size());
    return rest.substr(0, rest.find('\n'));
  }
  return {};
}

}  // namespace memlog
