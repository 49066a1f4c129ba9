// SPDX-License-Identifier: Apache-2.0
// The dashboard beside a recording: its process, its end, and clients that mean harm.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "e2e/live_support.h"

namespace memlog::e2e {
namespace {

using memlog::testing::http_get;
using memlog::testing::HttpClient;
using ::testing::HasSubstr;
using ::testing::Not;

class Live : public EndToEnd {
 protected:
  Child trace_live(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"--name", "e2e-live",    "--interval", "20ms",
                                          "--live", "--live-port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return trace(arguments);
  }
};

TEST_F(Live, TheServerHasNoPrivilegesAndABoundedMemory) {
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
  Child recording = Child::start(
      {MEMLOG_BINARY, "trace", "--name", "e2e-live", "--live", "--live-port", "0", "--db", database()},
      {{"SUDO_UID", "65534"}, {"SUDO_GID", "65534"}});
  ASSERT_TRUE(recording.wait_for_output(" into "));
  const int port = port_of(recording);
  ASSERT_EQ(http_get(port, "/api/v1/runs").status, 200) << recording.output();
  const pid_t keeper = children_of(recording.pid()).at(0);
  const pid_t server = children_of(keeper).at(0);
  for (const pid_t pid : {keeper, server}) {
    EXPECT_EQ(status_of(pid, "Uid"), "65534\t65534\t65534\t65534");
    EXPECT_EQ(status_of(pid, "Gid"), "65534\t65534\t65534\t65534");
    EXPECT_EQ(status_of(pid, "Groups"), "65534 ");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
      EXPECT_EQ(status_of(pid, set), "0000000000000000") << set;
    EXPECT_EQ(status_of(pid, "NoNewPrivs"), "1");
  }
#ifndef __SANITIZE_ADDRESS__
  std::ifstream limits("/proc/" + std::to_string(server) + "/limits");
  const std::string text((std::istreambuf_iterator<char>(limits)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("Max address space         1073741824"));
#endif
  // No descriptor of the recorder's has come along: standard ones, the listener and what the server opens itself.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(keeper) + "/fd"))
    EXPECT_LE(std::stoi(entry.path().filename()), 3) << std::filesystem::read_symlink(entry.path());
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish().exit_status, 0);
}

TEST_F(Live, NothingOfItOutlivesTheRecorder) {
  Child recording = trace_live();
  const pid_t keeper = children_of(recording.pid()).at(0);
  const pid_t server = children_of(keeper).at(0);
  recording.signal(SIGKILL);
  recording.finish();
  const auto is_gone = [](pid_t pid) {
    return kill(pid, 0) != 0 || status_of(pid, "State").starts_with("Z");
  };
  EXPECT_TRUE(comes_true([&] { return is_gone(keeper) && is_gone(server); }));
}

TEST_F(Live, AServerThatDiesIsStartedAgainAndTheRecordingIsWhole) {
  Child recording = trace_live({"--live-exit"});
  const int port = port_of(recording);
  Child worker = Child::start({workload("e2e-live"), "grow=8M", "sleep=2500ms"});
  ASSERT_EQ(http_get(port, "/api/v1/runs").status, 200);
  const pid_t keeper = children_of(recording.pid()).at(0);
  kill(children_of(keeper).at(0), SIGKILL);
  EXPECT_TRUE(comes_true([&] { return http_get(port, "/api/v1/runs").status == 200; }));
  worker.finish();
  const Finished finished = recording.finish();
  EXPECT_EQ(finished.exit_status, 0);
  EXPECT_THAT(finished.err, HasSubstr("the dashboard ended (signal 9) and is started again"));
  EXPECT_EQ(ask("SELECT state FROM run"), "ended");
  EXPECT_EQ(ask("SELECT count(*) FROM gap WHERE kind IN ('queue_overflow', 'storage')"), "0");
}

TEST_F(Live, ItServesOnUntilCtrlCAndTheFilesAreThereBefore) {
  const std::string png = dir_ / "run.png";
  Child recording = trace_live({"--png", png});
  const int port = port_of(recording);
  EXPECT_EQ(e2e::run({workload("e2e-live"), "grow=8M", "sleep=300ms"}).exit_status, 0);
  ASSERT_TRUE(recording.wait_for_output("until Ctrl-C"));
  EXPECT_TRUE(std::filesystem::exists(png));
  EXPECT_THAT(http_get(port, "/api/v1/runs/last").body, HasSubstr("\"state\":\"ended\""));
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish().exit_status, 0);
  EXPECT_FALSE(HttpClient(port).is_connected());
}

TEST_F(Live, CtrlCDuringTheRecordingEndsBoth) {
  Child recording = trace_live();
  recording.signal(SIGINT);
  const Finished finished = recording.finish();
  EXPECT_EQ(finished.exit_status, 0);
  EXPECT_THAT(finished.err, Not(HasSubstr("until Ctrl-C")));
}

TEST_F(Live, RunReturnsItsCommandsStatusAfterServing) {
  const Finished finished = e2e::run({MEMLOG_BINARY, "run", "--db", database(), "--live", "--live-port", "0",
                                      "--live-exit", "--", workload("e2e-live"), "grow=1M", "exit=7"});
  EXPECT_EQ(finished.exit_status, 7);
}

TEST_F(Live, ItSaysHowToGetThereThroughATunnelAndAJumpHost) {
  Child recording = trace_live();
  const std::string port = std::to_string(port_of(recording));
  EXPECT_THAT(recording.output(), HasSubstr("ssh -L " + port + ":localhost:" + port + " "));
  EXPECT_THAT(recording.output(), HasSubstr("ssh -J JUMPHOST -L " + port + ":localhost:" + port + " "));
  recording.signal(SIGTERM);
  recording.finish();
}

TEST_F(Live, ATakenPortIsOneLineAndNothingIsRecorded) {
  Child recording = trace_live();
  const std::string port = std::to_string(port_of(recording));
  const Finished second = e2e::run({MEMLOG_BINARY, "trace", "--name", "e2e-live", "--db", dir_ / "other.db",
                                    "--live", "--live-port", port});
  EXPECT_EQ(second.exit_status, 125);
  EXPECT_EQ(second.err,
            "memlog: serving on 127.0.0.1:" + port +
                ": the address is in use (choose another with --live-port N, or 0 for any that is free)\n");
  recording.signal(SIGINT);
  recording.finish();
}

TEST_F(Live, AFinishedRunIsServedByItself) {
  Child recording = trace({"--name", "e2e-live", "--interval", "20ms", "--label", "done"});
  EXPECT_EQ(e2e::run({workload("e2e-live"), "grow=8M", "sleep=200ms"}).exit_status, 0);
  recording.finish();
  Child live = Child::start({MEMLOG_BINARY, "live", "done", "--live-port", "0", "--db", database()});
  ASSERT_TRUE(live.wait_for_output("JUMPHOST"));
  EXPECT_THAT(http_get(port_of(live), "/").body, HasSubstr("e2e-live"));
  live.signal(SIGINT);
  EXPECT_EQ(live.finish().exit_status, 0);
  const Finished unknown = e2e::run({MEMLOG_BINARY, "live", "dona", "--live-port", "0", "--db", database()});
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("labels like it: done"));
}

TEST_F(Live, ATokenIsNeededBeyondThisMachineAndIsInNoRecord) {
  const Finished refused = e2e::run({MEMLOG_BINARY, "trace", "--name", "x", "--db", database(), "--live",
                                     "--live-port", "0", "--live-host", "0.0.0.0"});
  EXPECT_EQ(refused.exit_status, 125);
  EXPECT_THAT(refused.err, HasSubstr("a token is needed"));
  Child recording = trace_live({"--live-token"});
  const std::string said = recording.output();
  const size_t at = said.find("?token=") + 7;
  const std::string token = said.substr(at, 64);
  EXPECT_EQ(http_get(port_of(recording), "/api/v1/runs").status, 401);
  EXPECT_EQ(http_get(port_of(recording), "/api/v1/runs", "Authorization: Bearer " + token + "\r\n").status,
            200);
  EXPECT_THAT(ask("SELECT command FROM run"), Not(HasSubstr(token)));
  recording.signal(SIGINT);
  recording.finish();
}

// Clients that mean harm, for a few seconds: the recording neither waits nor grows, and others are answered.
TEST_F(Live, HostileClientsNeitherStopTheRecordingNorTheOthers) {
  Child recording = trace_live();
  const int port = port_of(recording);
  Child worker = Child::start({workload("e2e-live"), "grow=8M", "sleep=60s"});
  ASSERT_TRUE(comes_true([&] { return ask("SELECT count(*) FROM process_sample") != "0"; }));
  const auto rss_kib = [&] { return std::stol(status_of(recording.pid(), "VmRSS")); };
  const long before_kib = rss_kib();
  std::vector<std::unique_ptr<HttpClient>> clients;
  const std::string megabyte(size_t{1} << 20U, 'a');
  for (int i = 0; i < 600; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->send(i % 2 == 0 ? "GET / HTTP/1.1\r\nHo" : "");
  }
  for (int i = 0; i < 40; ++i) {  // clients that never read
    clients.push_back(std::make_unique<HttpClient>(port, 4096));
    for (int n = 0; n < 20; ++n)
      clients.back()->send("GET /api/v1/runs/last/report.html HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  std::thread header([&] {
    HttpClient client(port);
    client.send("GET / HTTP/1.1\r\nX: ");
    for (int n = 0; n < 256 && client.send(megabyte) == megabyte.size(); ++n) {
    }
  });
  EXPECT_TRUE(comes_true([&] { return http_get(port, "/api/v1/runs").status == 200; }, 5000));
  header.join();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(http_get(port, "/api/v1/runs/last").status, 200) << i;
  clients.clear();
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory for a while
  EXPECT_LT(rss_kib(), before_kib + 4096);
#else
  EXPECT_GT(rss_kib(), before_kib / 2);
#endif
  const std::string samples = ask("SELECT count(*) FROM process_sample");
  EXPECT_TRUE(comes_true([&] { return ask("SELECT count(*) FROM process_sample") != samples; }));
  EXPECT_EQ(ask("SELECT count(*) FROM gap WHERE kind IN ('queue_overflow', 'storage')"), "0");
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish().exit_status, 0);
}

}  // namespace
}  // namespace memlog::e2e
