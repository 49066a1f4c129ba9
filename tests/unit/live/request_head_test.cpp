// SPDX-License-Identifier: Apache-2.0
#include "live/request_head.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

int status_of(const std::string& text) { return read_request_head(text).refused_status; }

TEST(RequestHead, AnOrdinaryOnePassesWithoutWhatTheLibraryShallNotSee) {
  const RequestHead head = read_request_head(
      "GET /api?x=1 HTTP/1.1\r\nHost: localhost:8765\r\nAccept-Encoding: br, gzip\r\nRange: bytes=0-1\r\n"
      "Last-Event-ID: 7\r\n\r\n");
  EXPECT_EQ(head.refused_status, 0);
  EXPECT_TRUE(head.accepts_gzip);
  EXPECT_EQ(head.bytes, "GET /api?x=1 HTTP/1.1\r\nHost: localhost:8765\r\nLast-Event-ID: 7\r\n\r\n");
}

TEST(RequestHead, OnlyReadingIsAnswered) {
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
  EXPECT_EQ(status_of("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
}

TEST(RequestHead, ABodyIsRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), 0);
}

TEST(RequestHead, WhatIsTooLargeIsRefused) {
  EXPECT_EQ(status_of("GET /" + std::string(kMostTargetBytes, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(kMostHeadBytes, 'a') + "\r\n\r\n"), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (size_t line = 0; line < kMostHeadLines; ++line) many += "A: b\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
}

TEST(RequestHead, WhatTwoParsersCouldReadInTwoWaysIsRefused) {
  for (const char* lines : {"Host: a\r\nHost: b\r\n", "Host: a\r\n folded\r\n", "Host : a\r\n", ": a\r\n",
                            "no colon\r\n", "Host: a\rb\r\n"}) {
    EXPECT_EQ(status_of(std::string("GET / HTTP/1.1\r\n") + lines + "\r\n"), 400) << lines;
  }
  EXPECT_EQ(status_of("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("\r\n\r\n"), 400);
}

TEST(RequestHead, AHeadIsWholeWithItsBlankLine) {
  EXPECT_EQ(head_length("GET / HTTP/1.1\r\nHost: a\r\n"), 0U);
  EXPECT_EQ(head_length("GET / HTTP/1.1\r\n\r\nGET /"), 18U);
}

}  // namespace
}  // namespace memlog
