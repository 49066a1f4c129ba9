// SPDX-License-Identifier: Apache-2.0
#include "store/location.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

TEST(NetworkFileSystem, IsToldByItsMagic) {
  EXPECT_EQ(network_file_system(0x6969, ""), "nfs");
  EXPECT_EQ(network_file_system(0xFF534D42, ""), "cifs");
  EXPECT_EQ(network_file_system(0x01021997, ""), "9p");
  EXPECT_EQ(network_file_system(0xEF53, ""), std::nullopt);      // ext4
  EXPECT_EQ(network_file_system(0x01021994, ""), std::nullopt);  // tmpfs
}

TEST(NetworkFileSystem, OfFuseOnlyWhatIsKnownToBeLocalPasses) {
  constexpr uint64_t fuse = 0x65735546;
  EXPECT_EQ(network_file_system(fuse, "fuse.sshfs"), "fuse.sshfs");
  EXPECT_EQ(network_file_system(fuse, "virtiofs"), "virtiofs");
  EXPECT_EQ(network_file_system(fuse, ""), "fuse");
  EXPECT_EQ(network_file_system(fuse, "fuse.gocryptfs"), std::nullopt);
}

TEST(ParseMountType, FindsTheDeviceAmongOptionalFields) {
  constexpr std::string_view mountinfo =
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "36 22 0:31 / /home rw,nosuid shared:9 master:1 - fuse.sshfs host:/home rw\n"
      "37 22 0:32 / /x\\040y rw - nfs4 server:/ rw\n"
      "junk\n";
  EXPECT_EQ(parse_mount_type(mountinfo, 0, 31), "fuse.sshfs");
  EXPECT_EQ(parse_mount_type(mountinfo, 0, 32), "nfs4");
  EXPECT_EQ(parse_mount_type(mountinfo, 254, 0), "ext4");
  EXPECT_EQ(parse_mount_type(mountinfo, 0, 3), "");
}

TEST(StateDirectory, IsTheInvokingUsersOwn) {
  const InvokingUser user{1000, 1000, "ada", "/home/ada"};
  EXPECT_EQ(state_directory(user, true, nullptr), "/home/ada/.local/state");
  EXPECT_EQ(state_directory(user, true, "/data/state"), "/data/state");
  EXPECT_EQ(state_directory(user, true, "relative"), "/home/ada/.local/state");
  EXPECT_EQ(state_directory(user, false, "/root/state"), "/home/ada/.local/state");
  EXPECT_EQ(state_directory({1000, 1000, "", ""}, true, nullptr), "");
}

TEST(MakeDirectories, MakesPrivateDirectoriesOfTheInvokingUser) {
  const TemporaryDirectory directory;
  setenv("SUDO_UID", "1234", 1);
  setenv("SUDO_GID", "1235", 1);
  const Status made = make_directories(directory / "a/b/c");
  unsetenv("SUDO_UID");
  unsetenv("SUDO_GID");
  ASSERT_TRUE(made);
  struct stat status{};
  ASSERT_EQ(stat((directory / "a/b/c").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(status.st_uid, geteuid() == 0 ? 1234U : getuid());
}

TEST(MakeDirectories, DoesNotFollowALinkThatLeadsNowhere) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink(directory / "elsewhere", directory / "link");
  EXPECT_FALSE(make_directories(directory / "link/memlog"));
  EXPECT_FALSE(std::filesystem::exists(directory / "elsewhere"));
}

class DatabasePathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("MEMLOG_DB");
    unsetenv("SUDO_UID");
    unsetenv("SUDO_GID");
    setenv("XDG_STATE_HOME", directory_.path().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_STATE_HOME");
    unsetenv("MEMLOG_DB");
  }
  TemporaryDirectory directory_;
};

TEST_F(DatabasePathTest, GivenPathThenEnvironmentThenStateDirectory) {
  EXPECT_EQ(*database_path(""), directory_ / "memlog/memlog.db");
  setenv("MEMLOG_DB", "/var/tmp/m.db", 1);
  EXPECT_EQ(*database_path(""), "/var/tmp/m.db");
  EXPECT_EQ(*database_path("x.db"), "x.db");
}

TEST_F(DatabasePathTest, LookingMakesNothingAndPreparingMakesTheDirectory) {
  ASSERT_TRUE(database_path(""));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "memlog"));
  EXPECT_EQ(*prepare_database_path(""), directory_ / "memlog/memlog.db");
  EXPECT_TRUE(std::filesystem::is_directory(directory_ / "memlog"));
}

}  // namespace
}  // namespace memlog::testing
