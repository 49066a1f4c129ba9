// SPDX-License-Identifier: Apache-2.0
// The dashboard through a real `ssh -L`: an sshd of the test's own, with its own port, keys and configuration.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "e2e/live_support.h"

namespace memlog::e2e {
namespace {

using memlog::testing::http_get;
using memlog::testing::HttpClient;
using ::testing::HasSubstr;

constexpr const char* kSshd = "/usr/sbin/sshd";

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}

class Tunnel : public EndToEnd {
 protected:
  void SetUp() override {
    MEMLOG_NEEDS_ROOT();
    if (!std::filesystem::exists(kSshd)) {
      const char* required = getenv("MEMLOG_REQUIRE_BPF");
      if (required != nullptr && required[0] == '1') FAIL() << "openssh-server is missing";
      GTEST_SKIP() << "openssh-server is missing";
    }
    made_run_directory_ = mkdir("/run/sshd", 0755) == 0;  // sshd wants its empty directory
    for (const char* key : {"host", "user"})
      ASSERT_EQ(e2e::run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir_ / key}).exit_status, 0);
    std::filesystem::copy_file(dir_ / "user.pub", dir_ / "authorized_keys");
    ssh_port_ = free_port();
    std::ofstream(dir_ / "sshd_config")
        << "Port " << ssh_port_ << "\nListenAddress 127.0.0.1\nHostKey " << dir_ / "host"
        << "\nAuthorizedKeysFile " << dir_ / "authorized_keys"
        << "\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
           "PermitRootLogin prohibit-password\n";
    server_.emplace(Child::start({kSshd, "-D", "-e", "-f", dir_ / "sshd_config"}));
    ASSERT_TRUE(server_->wait_for_output("Server listening")) << server_->output();
  }
  void TearDown() override {
    server_.reset();
    if (made_run_directory_) rmdir("/run/sshd");
  }

  // `ssh -L LOCAL:TARGET`, up and forwarding.
  Child tunnel(int local_port, const std::string& target) {
    Child client = Child::start(
        {"ssh", "-F", "none", "-N", "-p", std::to_string(ssh_port_), "-i", dir_ / "user", "-o",
         "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes",
         "-o", "BatchMode=yes", "-L", std::to_string(local_port) + ":" + target, "root@127.0.0.1"});
    EXPECT_TRUE(comes_true([&] { return HttpClient(local_port).is_connected(); }))
        << client.finish(0).err << server_->output();
    return client;
  }

  int ssh_port_ = 0;
  bool made_run_directory_ = false;
  std::optional<Child> server_;
};

TEST_F(Tunnel, PageDataAndStreamComeThroughWhateverTheLocalPort) {
  Child recording = trace({"--name", "e2e-tunnel", "--interval", "20ms", "--live", "--live-port", "0",
                           "--live-refresh-ms", "100"});
  const int port = port_of(recording);
  const int local = free_port();
  const std::string host = "localhost:" + std::to_string(local);
  Child forwarding = tunnel(local, "localhost:" + std::to_string(port));
  Child worker = Child::start({workload("e2e-tunnel"), "rate=1M:100ms:60"});
  EXPECT_THAT(http_get(local, "/", "", host).body, HasSubstr("<!doctype html>"));
  ASSERT_TRUE(comes_true([&] {
    return http_get(local, "/api/v1/runs/last", "", host).body.find("e2e-tunnel\",\"cmdline") !=
           std::string::npos;
  }));
  HttpClient stream(local);
  EXPECT_EQ(stream.get("/api/v1/runs/last/stream", "", host).status, 200);
  std::string heard = stream.rest();
  while (heard.find("event: update") == std::string::npos) {
    const std::string piece = stream.receive(10'000);
    ASSERT_FALSE(piece.empty()) << heard;
    heard += piece;
  }
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish().exit_status, 0);
  forwarding.signal(SIGTERM);
  forwarding.finish();
}

TEST_F(Tunnel, AUnixSocketCanBeTheOtherEnd) {
  const std::string path = dir_ / "live.sock";
  Child recording = trace({"--name", "e2e-tunnel", "--live", "--live-socket", path});
  const int local = free_port();
  Child forwarding = tunnel(local, path);
  EXPECT_EQ(http_get(local, "/api/v1/runs", "", "localhost:" + std::to_string(local)).status, 200);
  recording.signal(SIGINT);
  EXPECT_EQ(recording.finish().exit_status, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  forwarding.signal(SIGTERM);
  forwarding.finish();
}

}  // namespace
}  // namespace memlog::e2e
