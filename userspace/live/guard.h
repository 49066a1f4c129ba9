// SPDX-License-Identifier: Apache-2.0
// Who may ask: the rules against other web pages in the user's browser (DNS rebinding, cross-site requests) and,
// where more than this machine can connect, the token.
//
// Names of the loopback pass with any port, for the local end of an SSH tunnel may have any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memlog {

struct GuardRules {
  std::vector<std::string> allowed_hosts;  // beside the loopback's names, without a port
  bool allows_addresses = false;           // any IP address as Host: bound to more than the loopback
  std::string token;                       // empty: none is asked for
  std::string session;                     // the cookie's value, once the token was shown
};

// What of a request counts; empty where the header is missing.
struct Visitor {
  std::string host;
  std::string origin;
  std::string fetch_site;     // Sec-Fetch-Site
  std::string fetch_mode;     // Sec-Fetch-Mode
  std::string cookies;        // Cookie
  std::string authorization;  // Authorization
  std::string token;          // the query's token
};

enum class Admission : unsigned char { granted, granted_by_token, wrong_host, cross_site, no_token };

Admission admit(const GuardRules& rules, const Visitor& visitor);

inline constexpr const char* kSessionCookie = "memlog_live";

// Takes as long whatever the first difference is.
bool equal_in_constant_time(std::string_view left, std::string_view right);
// "localhost", "127.0.0.1" and the like, "[::1]".
bool is_loopback_name(std::string_view host);
// "[::1]:8765" -> "[::1]", "LOCALHOST:1" -> "localhost"; empty for what is no host with a port.
std::string host_without_port(std::string_view authority);
// 32 random bytes as hex; empty where the kernel gives none.
std::string random_secret();

}  // namespace memlog
