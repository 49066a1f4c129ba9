// SPDX-License-Identifier: Apache-2.0
#include "live/request_head.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace memlog {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

// "GET /path HTTP/1.1"
int check_request_line(std::string_view line) {
  const size_t target = line.find(' ');
  const size_t version = line.rfind(' ');
  if (target == std::string_view::npos || target == version) return 400;
  const std::string_view method = line.substr(0, target);
  const std::string_view path = line.substr(target + 1, version - target - 1);
  if (method != "GET" && method != "HEAD") return 405;
  if (path.size() > kMostTargetBytes) return 414;
  const std::string_view protocol = line.substr(version + 1);
  if (protocol != "HTTP/1.1" && protocol != "HTTP/1.0") return 505;
  const bool is_plain = std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return path.starts_with('/') && is_plain ? 0 : 400;
}

bool accepts_gzip(std::string_view value) {
  for (const std::string_view coding : split(value, ',')) {
    const std::string word = lower(trim(coding));
    if (word == "gzip" || word == "*" || (word.starts_with("gzip;") && !word.ends_with("q=0"))) return true;
  }
  return false;
}

bool is_hidden(std::string_view name) {
  constexpr std::array hidden = {"accept-encoding", "range",          "if-range",
                                 "expect",          "content-length", "upgrade"};
  return std::find(hidden.begin(), hidden.end(), name) != hidden.end();
}

// Looks at one header line and keeps it where the library may see it.
int take_header(std::string_view line, RequestHead& head, int& host_count) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t')
    return 400;
  if (std::any_of(line.begin(), line.end(), [](char c) { return c == '\0' || c == '\r'; })) return 400;
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name.find_first_of(" \t") != std::string::npos) return 400;
  if (name == "transfer-encoding" || (name == "content-length" && value != "0")) return 413;
  if (name == "host") ++host_count;
  if (name == "accept-encoding") head.accepts_gzip = accepts_gzip(value);
  if (!is_hidden(name)) head.bytes += std::string(line) + "\r\n";
  return 0;
}

}  // namespace

size_t head_length(std::string_view bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

RequestHead read_request_head(std::string_view text) {
  RequestHead head;
  const auto refuse = [&](int status) {
    head.refused_status = status;
    return head;
  };
  if (text.size() > kMostHeadBytes) return refuse(431);
  size_t lines = 0;
  int host_count = 0;
  while (!text.empty()) {
    const size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return refuse(400);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (line.empty()) break;
    if (++lines > kMostHeadLines) return refuse(431);
    if (lines == 1) {
      if (const int status = check_request_line(line); status != 0) return refuse(status);
      head.bytes = std::string(line) + "\r\n";
    } else if (const int status = take_header(line, head, host_count); status != 0) {
      return refuse(status);
    }
  }
  if (lines == 0 || host_count > 1) return refuse(400);
  head.bytes += "\r\n";
  return head;
}

}  // namespace memlog
