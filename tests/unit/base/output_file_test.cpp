// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace memlog {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "memlog-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~OutputFileTest() override { std::filesystem::remove_all(directory_); }

  std::string in(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path().filename());
    return names;
  }
  static std::string bytes(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }

  std::string directory_;
};

TEST_F(OutputFileTest, AFileAppearsWholeWhenItIsCommitted) {
  Result<OutputFile> file = OutputFile::create(in("out.csv"));
  ASSERT_TRUE(file.ok()) << file.error().reason;
  ASSERT_TRUE(file->write("first ").ok());
  ASSERT_TRUE(file->write(std::string(600'000, 'x')).ok());
  EXPECT_FALSE(std::filesystem::exists(in("out.csv")));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(bytes(in("out.csv")), "first " + std::string(600'000, 'x'));
  EXPECT_THAT(names(), UnorderedElementsAre("out.csv"));
}

TEST_F(OutputFileTest, WhatIsNotCommittedLeavesTheOldFileAndNothingElse) {
  std::ofstream(in("out.csv")) << "old";
  {
    Result<OutputFile> file = OutputFile::create(in("out.csv"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(bytes(in("out.csv")), "old");
  EXPECT_THAT(names(), UnorderedElementsAre("out.csv"));
}

TEST_F(OutputFileTest, AReplacedFileHandsOnItsPermissions) {
  std::ofstream(in("out.csv")) << "old";
  chmod(in("out.csv").c_str(), 0640);
  Result<OutputFile> file = OutputFile::create(in("out.csv"));
  ASSERT_TRUE(file.ok() && file->write("new").ok() && file->commit().ok());
  struct stat found{};
  stat(in("out.csv").c_str(), &found);
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
  EXPECT_EQ(bytes(in("out.csv")), "new");
}

TEST_F(OutputFileTest, ALinkIsNeitherFollowedNorReplaced) {
  std::ofstream(in("precious")) << "keep";
  std::filesystem::create_symlink("precious", in("out.csv"));
  const Result<OutputFile> file = OutputFile::create(in("out.csv"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().reason, "it is a symbolic link, which is not followed");
  EXPECT_EQ(bytes(in("precious")), "keep");
  EXPECT_TRUE(std::filesystem::is_symlink(in("out.csv")));
}

TEST_F(OutputFileTest, ADirectoryAndAMissingDirectoryAreRefused) {
  EXPECT_EQ(OutputFile::create(directory_).error().code, EISDIR);
  EXPECT_EQ(OutputFile::create(directory_ + "/").error().code, EINVAL);
  EXPECT_EQ(OutputFile::create(in("no/out.csv")).error().code, ENOENT);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAndADeviceStaysADevice) {
  Result<OutputFile> file = OutputFile::create("/dev/full");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("x").ok());
  const Status status = file->commit();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ENOSPC);
  EXPECT_EQ(status.error().doing, "writing /dev/full");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace memlog
