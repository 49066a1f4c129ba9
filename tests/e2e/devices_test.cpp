// SPDX-License-Identifier: Apache-2.0
// `memlog devices` on regions that real processes keep, live, killed and in another pid namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "e2e/harness.h"

namespace memlog::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Finished devices(const TempDir& shm, const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {MEMLOG_BINARY, "devices", "--device-dir", shm.path()};
  command.insert(command.end(), more.begin(), more.end());
  return run(command);
}

std::vector<std::string> writer(const TempDir& shm, const std::string& number) {
  return {MEMLOG_DEVICE_WRITER,
          shm.path(),
          number,
          "v3",
          "dram",
          "4294967296",
          "say",
          "ready",
          "churn",
          "1",
          "60000"};
}

TEST(Devices, AKilledWorkloadsGhostIsShownWithTheCommandThatClearsItAndLeftAlone) {
  const TempDir shm;
  Child killed = Child::start(writer(shm, "7"));
  ASSERT_TRUE(killed.wait_for_output("ready"));
  EXPECT_THAT(devices(shm).out, AllOf(HasSubstr("(device_writer)"), Not(HasSubstr("rm "))));
  killed.signal(SIGKILL);
  killed.finish();
  const Finished shown = devices(shm);
  EXPECT_EQ(shown.exit_status, 0);
  EXPECT_THAT(shown.out, HasSubstr("(device_writer, dead)"));
  EXPECT_THAT(shown.out, HasSubstr("rm '" + shm.path() + "/tt_device_7_memory'"));
  EXPECT_TRUE(std::filesystem::exists(shm / "tt_device_7_memory"));
}

TEST(Devices, AStaleRegionThatIsInUseIsNotToBeRemoved) {
  const TempDir shm;
  Child killed = Child::start(writer(shm, "7"));
  ASSERT_TRUE(killed.wait_for_output("ready"));
  Child living = Child::start(writer(shm, "7"));
  ASSERT_TRUE(living.wait_for_output("ready"));
  killed.signal(SIGKILL);
  killed.finish();
  EXPECT_THAT(devices(shm).out, AllOf(HasSubstr("in use"), Not(HasSubstr("rm "))));
}

TEST(Devices, AWorkloadInAnotherPidNamespaceIsLive) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a pid namespace";
  const TempDir shm;
  std::vector<std::string> command = {"unshare", "--pid", "--fork", "--kill-child"};
  const std::vector<std::string> inner = writer(shm, "7");
  command.insert(command.end(), inner.begin(), inner.end());
  Child contained = Child::start(command);
  ASSERT_TRUE(contained.wait_for_output("ready"));
  const std::string json = devices(shm, {"--json"}).out;
  EXPECT_THAT(json, AllOf(HasSubstr("\"pid\": 1,"), HasSubstr("\"state\": \"live\""),
                          HasSubstr("\"ghost_bytes\": 0")));
}

TEST(Devices, NoneIsOneCalmLine) {
  const TempDir shm;
  const Finished shown = devices(shm);
  EXPECT_EQ(shown.exit_status, 0);
  EXPECT_THAT(shown.err, HasSubstr("no device memory regions in " + shm.path()));
  EXPECT_THAT(devices(shm, {"--json"}).out, HasSubstr("\"regions\": []"));
}

TEST(Devices, AnUnknownLayoutIsRefusedByItsNumber) {
  const TempDir shm;
  std::ofstream(shm / "tt_device_7_memory", std::ios::binary)
      << std::string("\x05\0\0\0", 4) << std::string(8572, '\0');
  EXPECT_THAT(devices(shm).out, HasSubstr("layout version 5"));
}

class DeviceRecording : public EndToEnd {};

TEST_F(DeviceRecording, DeviceMemoryIsSampledOnTheTicksOfTheProcessesAndJoinedToThem) {
  const TempDir shm;
  Child trace = this->trace(
      {"--name", "device_writer", "--device-dram", "--device-dir", shm.path(), "--interval", "50ms"});
  Child workload = Child::start({MEMLOG_DEVICE_WRITER, shm.path(), "7,8", "v3", "dram", "1073741824", "say",
                                 "ready", "churn", "100", "800", "close"});
  EXPECT_EQ(workload.finish().exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  EXPECT_EQ(ask("SELECT group_concat(region) FROM (SELECT region FROM device ORDER BY region)"),
            "tt_device_7_memory,tt_device_8_memory");
  EXPECT_GE(
      std::stoi(
          ask("SELECT count(*) FROM device_sample WHERE dram_bytes >= 1073741824 AND live_bytes = dram_bytes "
              "AND ghost_bytes = 0")),
      10);
  EXPECT_GE(
      std::stoi(ask("SELECT count(*) FROM memory WHERE dram_chip_count = 2 AND dram_total_mib >= 2048 AND "
                    "device_dram_mib >= 2048 AND dram_min_mib = dram_max_mib")),
      5);
}

TEST_F(DeviceRecording, AGhostIsInShowPicturesAndCsvAndComesBackFromTheWideFile) {
  const TempDir shm;
  Child killed = Child::start(writer(shm, "7"));
  ASSERT_TRUE(killed.wait_for_output("ready"));
  const std::string ghost = "GiB of a dead process " + std::to_string(killed.pid()) + " (device_writer)";
  killed.signal(SIGKILL);
  killed.finish();
  Child trace = this->trace(
      {"--name", "device_writer", "--device-dram", "--device-dir", shm.path(), "--interval", "50ms"});
  Child workload = Child::start({MEMLOG_DEVICE_WRITER, shm.path(), "8", "v3", "dram", "1073741824", "say",
                                 "ready", "churn", "100", "800", "close"});
  EXPECT_EQ(workload.finish().exit_status, 0);
  EXPECT_EQ(trace.finish().exit_status, 0);
  const std::string shown = run({MEMLOG_BINARY, "show", "last", "--db", database()}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("PEAK DEVICE"), HasSubstr(ghost),
                           HasSubstr("rm '" + shm.path() + "/tt_device_7_memory'")));
  const std::string page = shm / "page.html";
  const Finished rendered =
      run({MEMLOG_BINARY, "render", "last", "--html", page, "--png", shm / "a.png", "--db", database()});
  EXPECT_EQ(rendered.exit_status, 0) << rendered.err;
  const std::string report = run({"cat", page}).out;
  EXPECT_THAT(report, AllOf(HasSubstr(ghost), HasSubstr("Peak device DRAM")));
  EXPECT_THAT(run({MEMLOG_BINARY, "export", "last", "--db", database()}).out,
              AllOf(HasSubstr(",dram_chip_count,dram_total_mib,dram_avg_mib,dram_min_mib,dram_max_mib\r\n"),
                    ::testing::ContainsRegex(",2,[56][0-9][0-9][0-9][.]")));
  const std::string wide = shm / "wide.csv";
  const std::string again = shm / "again.csv";
  const std::string other = shm / "other.db";
  EXPECT_EQ(run({MEMLOG_BINARY, "export", "last", "--wide", "--csv", wide, "--db", database()}).exit_status,
            0);
  EXPECT_EQ(run({MEMLOG_BINARY, "import", wide, "--db", other}).exit_status, 0);
  EXPECT_EQ(run({MEMLOG_BINARY, "export", "last", "--wide", "--csv", again, "--db", other}).exit_status, 0);
  EXPECT_EQ(run({"cmp", wide, again}).exit_status, 0);
}

TEST_F(DeviceRecording, WithoutAnyRegionOneCalmLineIsSaidAndTheRunGoesOn) {
  const TempDir shm;
  Child trace = this->trace(
      {"--name", "e2e-nodevice", "--device-dram", "--device-dir", shm.path(), "--interval", "50ms"});
  EXPECT_EQ(e2e::run({workload("e2e-nodevice"), "sleep=300ms"}).exit_status, 0);
  const Finished traced = trace.finish();
  EXPECT_EQ(traced.exit_status, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM memory WHERE dram_total_mib IS NOT NULL"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE kind = 'note' AND detail LIKE '%region%'"), "1")
      << traced.err;
}

}  // namespace
}  // namespace memlog::e2e
