// SPDX-License-Identifier: Apache-2.0
#include "live/gzip.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

TEST(Gzip, WhatIsPackedIsUnpackedTheSame) {
  std::string text;
  for (int line = 0; line < 20'000; ++line) text += std::to_string(line * 7919 % 1000) + ",";
  const std::string packed = gzip(text);
  EXPECT_LT(packed.size(), text.size() / 2);
  EXPECT_EQ(gunzip(packed, text.size()), text);
  EXPECT_EQ(gunzip(packed, 10), "");  // larger than allowed
  EXPECT_EQ(gunzip("no gzip", 100), "");
}

TEST(Gzip, EachPieceOfAStreamCanBeReadBeforeTheNext) {
  GzipStream stream(/*is_small=*/true);
  std::string sent = stream.add("data: one\n\n");
  sent += stream.add("data: two\n\n");
  // Unfinished as it is, the bytes so far hold both messages whole.
  EXPECT_GT(sent.size(), 10U);
  sent += stream.finish();
  EXPECT_EQ(gunzip(sent, 100), "data: one\n\ndata: two\n\n");
}

}  // namespace
}  // namespace memlog
