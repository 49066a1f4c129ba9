// SPDX-License-Identifier: Apache-2.0
#include "live/guard.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

Visitor visitor_to(const std::string& host) {
  Visitor visitor;
  visitor.host = host;
  return visitor;
}

TEST(Guard, LoopbackNamesPassWhateverThePort) {
  for (const char* host : {"localhost", "localhost:8765", "LocalHost:9999", "127.0.0.1:1", "127.9.8.7",
                           "[::1]:80", "worker.localhost:3000", "localhost."}) {
    EXPECT_EQ(admit({}, visitor_to(host)), Admission::granted) << host;
  }
}

TEST(Guard, OtherNamesDoNotForAPageCouldHaveThemPointHere) {
  for (const char* host : {"evil.example", "evil.example:8765", "localhost.evil.example", "", "10.0.0.1",
                           "1270.0.0.1", "localhost:port", "localhost:8765:1", "localhost/evil", "[::2]"}) {
    EXPECT_EQ(admit({}, visitor_to(host)), Admission::wrong_host) << host;
  }
}

TEST(Guard, AnAllowedNamePasses) {
  GuardRules rules;
  rules.allowed_hosts = {"build.example"};
  EXPECT_EQ(admit(rules, visitor_to("Build.example:443")), Admission::granted);
  EXPECT_EQ(admit(rules, visitor_to("other.example")), Admission::wrong_host);
}

TEST(Guard, APageOfAnotherOriginGetsNothing) {
  Visitor visitor = visitor_to("localhost:9999");
  visitor.origin = "http://localhost:9999";
  EXPECT_EQ(admit({}, visitor), Admission::granted);
  for (const char* origin : {"http://localhost:3000", "https://evil.example", "null"}) {
    visitor.origin = origin;
    EXPECT_EQ(admit({}, visitor), Admission::cross_site) << origin;
  }
  visitor.origin = "";
  visitor.fetch_site = "cross-site";
  visitor.fetch_mode = "no-cors";
  EXPECT_EQ(admit({}, visitor), Admission::cross_site);
  visitor.fetch_mode = "navigate";  // a link to the page
  EXPECT_EQ(admit({}, visitor), Admission::granted);
}

TEST(Guard, ATokenOpensTheDoorAndACookieKeepsItOpen) {
  GuardRules rules;
  rules.allows_addresses = true;
  rules.token = "0123456789abcdef";
  rules.session = "fedcba9876543210";
  Visitor visitor = visitor_to("10.0.0.1:8765");
  EXPECT_EQ(admit(rules, visitor), Admission::no_token);
  visitor.token = "0123456789abcdeX";
  EXPECT_EQ(admit(rules, visitor), Admission::no_token);
  visitor.token = "0123456789abcdef";
  EXPECT_EQ(admit(rules, visitor), Admission::granted_by_token);
  visitor.token = "";
  visitor.cookies = "a=b; memlog_live=fedcba9876543210";
  EXPECT_EQ(admit(rules, visitor), Admission::granted);
  visitor.cookies = "";
  visitor.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(admit(rules, visitor), Admission::granted);
}

TEST(Guard, ComparisonsAreExact) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abcabc", "abd"})
    EXPECT_FALSE(equal_in_constant_time(other, "abc"));
  EXPECT_NE(random_secret(), random_secret());
  EXPECT_EQ(random_secret().size(), 64U);
}

}  // namespace
}  // namespace memlog
