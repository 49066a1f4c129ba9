// SPDX-License-Identifier: Apache-2.0
#include "live/guard.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace memlog {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  if (inet_pton(AF_INET, host.c_str(), address.data()) == 1) return true;
  if (host.size() < 3 || host.front() != '[' || host.back() != ']') return false;
  return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), address.data()) == 1;
}

bool is_allowed(const GuardRules& rules, const std::string& host) {
  if (host.empty()) return false;
  if (is_loopback_name(host)) return true;
  if (rules.allows_addresses && is_address(host)) return true;
  return std::find(rules.allowed_hosts.begin(), rules.allowed_hosts.end(), host) != rules.allowed_hosts.end();
}

// A page of another origin is asking. Where a proxy rewrites Host, the origin's own name must be allowed.
bool is_foreign_origin(const GuardRules& rules, const Visitor& visitor) {
  if (visitor.origin.empty()) return false;
  const size_t scheme = visitor.origin.find("://");
  if (scheme == std::string::npos) return true;  // "null" too
  const std::string authority = visitor.origin.substr(scheme + 3);
  if (authority.size() == visitor.host.size() &&
      std::equal(authority.begin(), authority.end(), visitor.host.begin(),
                 [](char a, char b) { return (a | 0x20) == (b | 0x20); }))
    return false;
  const std::string host = host_without_port(authority);
  return std::find(rules.allowed_hosts.begin(), rules.allowed_hosts.end(), host) == rules.allowed_hosts.end();
}

std::string cookie_value(std::string_view cookies, std::string_view name) {
  for (const std::string_view piece : split(cookies, ';')) {
    const std::string_view pair = trim(piece);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name)
      return std::string(pair.substr(equals + 1));
  }
  return "";
}

std::string bearer(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer ";
  return authorization.starts_with(scheme) ? std::string(trim(authorization.substr(scheme.size()))) : "";
}

}  // namespace

bool equal_in_constant_time(std::string_view left, std::string_view right) {
  unsigned difference = left.size() == right.size() ? 0 : 1;
  for (size_t at = 0; at < right.size(); ++at) {
    const char other = left.empty() ? '\0' : left[at % left.size()];
    difference |= static_cast<unsigned char>(other) ^ static_cast<unsigned char>(right[at]);
  }
  return difference == 0;
}

std::string host_without_port(std::string_view authority) {
  std::string host(trim(authority));
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    const std::string_view port = std::string_view(host).substr(colon + 1);
    if (port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return "";
    host.resize(colon);
  }
  if (host.ends_with('.')) host.pop_back();
  const bool is_plain = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '.' || c == '-' || c == '_' || c == '[' ||
           c == ']' || c == ':';
  });
  return is_plain ? host : "";
}

bool is_loopback_name(std::string_view host) {
  if (host == "localhost" || host == "[::1]" || host == "::1" || host.ends_with(".localhost")) return true;
  const std::string text(host);
  in_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127;
}

Admission admit(const GuardRules& rules, const Visitor& visitor) {
  if (!is_allowed(rules, host_without_port(visitor.host))) return Admission::wrong_host;
  if (is_foreign_origin(rules, visitor)) return Admission::cross_site;
  // A link from anywhere may open the page; a script or picture of another site may not fetch anything.
  const bool is_other_site = visitor.fetch_site == "cross-site" || visitor.fetch_site == "same-site";
  if (is_other_site && visitor.fetch_mode != "navigate") return Admission::cross_site;
  if (rules.token.empty()) return Admission::granted;
  if (equal_in_constant_time(cookie_value(visitor.cookies, kSessionCookie), rules.session))
    return Admission::granted;
  if (equal_in_constant_time(bearer(visitor.authorization), rules.token)) return Admission::granted;
  if (equal_in_constant_time(visitor.token, rules.token)) return Admission::granted_by_token;
  return Admission::no_token;
}

std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace memlog
