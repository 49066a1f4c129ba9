// SPDX-License-Identifier: Apache-2.0
#include "csv/sample_writer.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

std::string mib(int64_t bytes) {
  std::string text;
  append_mib(text, bytes);
  return text;
}

std::string cell(std::string_view text, bool is_safe = false) {
  std::string out;
  append_text_cell(out, text, is_safe);
  return out;
}

TEST(SampleWriter, MebibytesAreThoseOfPythonsRoundAndRepr) {
  EXPECT_EQ(mib(0), "0.0");
  EXPECT_EQ(mib(1), "0.0");
  EXPECT_EQ(mib(524), "0.0");
  EXPECT_EQ(mib(525), "0.001");
  EXPECT_EQ(mib(65'536), "0.062");   // 0.0625: half to even
  EXPECT_EQ(mib(196'608), "0.188");  // 0.1875: half to even
  EXPECT_EQ(mib(557'056), "0.531");
  EXPECT_EQ(mib(12'582'912), "12.0");
  EXPECT_EQ(mib(12'345'678'901), "11773.757");
  EXPECT_EQ(mib(1'099'511'640'121), "1048576.012");
}

TEST(SampleWriter, ALineIsMemoryLoggersToTheByte) {
  std::string lines = narrow_header(false);
  NarrowWriter writer(false, false);
  writer.append(lines, {1'780'662'896'789'012'345, 7, "VLLM::EngineCore", 12'582'912, 0, 667, {}});
  writer.append(lines, {1'780'662'897'000'000'000, 8, "a,\"b\"", 1, {}, {}, {}});
  EXPECT_EQ(lines,
            "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score\r\n"
            "2026-06-05T12:34:56.789012+00:00,7,VLLM::EngineCore,12582912,12.0,0,0.0,667\r\n"
            "2026-06-05T12:34:57+00:00,8,\"a,\"\"b\"\"\",1,0.0,,,\r\n");
}

TEST(SampleWriter, DeviceColumnsAreBlankWhereNoDeviceWasReadable) {
  std::string lines = narrow_header(true);
  NarrowWriter writer(false, true);
  constexpr int64_t mib = 1'048'576;
  const DeviceTotal three{1, 3, 10 * mib, mib, 6 * mib, {}, {}};
  writer.append(lines, {1'780'662'896'000'000'000, 7, "w", 1, 0, 1, three});
  writer.append(lines, {1'780'662'897'000'000'000, 7, "w", 1, 0, 1, {}});
  writer.append(lines, {1'780'662'898'000'000'000, 7, "w", 1, 0, 1, {1, 2, 0, 0, 0, {}, {}}});
  EXPECT_EQ(lines,
            "timestamp_utc,pid,process_name,rss_bytes,rss_mib,swap_bytes,swap_mib,oom_score,dram_chip_count,"
            "dram_total_mib,dram_avg_mib,dram_min_mib,dram_max_mib\r\n"
            "2026-06-05T12:34:56+00:00,7,w,1,0.0,0,0.0,1,3,10.0,3.333,1.0,6.0\r\n"
            "2026-06-05T12:34:57+00:00,7,w,1,0.0,0,0.0,1,,,,,\r\n"
            "2026-06-05T12:34:58+00:00,7,w,1,0.0,0,0.0,1,2,0.0,0.0,0.0,0.0\r\n");
}

TEST(SampleWriter, FormulasStayAsTheyAreUnlessSafetyIsAskedFor) {
  EXPECT_EQ(cell("=1+1"), "=1+1");
  EXPECT_EQ(cell("=1+1", true), "'=1+1");
  EXPECT_EQ(cell("@a,b", true), "\"'@a,b\"");
  EXPECT_EQ(cell("-x", true), "'-x");
  EXPECT_EQ(cell("worker", true), "worker");
  EXPECT_EQ(cell("", true), "");
}

}  // namespace
}  // namespace memlog
