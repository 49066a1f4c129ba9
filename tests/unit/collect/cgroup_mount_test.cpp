// SPDX-License-Identifier: Apache-2.0
#include "collect/cgroup_mount.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect/process_facts.h"
#include "unit/collect/fake_tree.h"
#include "unit/collect/memory_cgroup.h"
#include "unit/collect/workload_process.h"

namespace memlog {
namespace {

using test::FakeTree;
using test::MemoryCgroup;
using test::WorkloadProcess;

constexpr const char* kHybrid =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:1 - cgroup cgroup rw,memory\n";

TEST(ParseCgroupMount, TheMemoryControllersOwnHierarchyWins) {
  const std::optional<CgroupMount> mount = parse_cgroup_mount(kHybrid);
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->directory, "/sys/fs/cgroup/memory");
  EXPECT_EQ(mount->root, "/");
  EXPECT_EQ(mount->version, 1);
}

TEST(ParseCgroupMount, TakesTheUnifiedHierarchyWhereItIsAlone) {
  const auto mount =
      parse_cgroup_mount("30 23 0:26 / /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw,nsdelegate");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->directory, "/sys/fs/cg roup");
  EXPECT_EQ(mount->version, 2);
}

TEST(ParseCgroupMount, AMountOfTheWholeHierarchyWinsOverOneOfAPart) {
  const auto mount = parse_cgroup_mount(
      "30 23 0:26 /docker/abc /mnt/part rw - cgroup cgroup rw,memory\n"
      "31 23 0:26 / /mnt/whole rw - cgroup cgroup rw,memory\n"
      "32 23 0:26 /docker/def /mnt/other rw - cgroup cgroup rw,memory\n");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->directory, "/mnt/whole");
}

TEST(ParseCgroupMount, FindsNoneInOtherText) {
  for (const char* bad :
       {"", "\n", "a b c", "35 31 0:32 / /m rw - cgroup cgroup rw,cpu", "- cgroup2 x y",
        "1 2 3 - cgroup2 cgroup2 rw", "35 31 0:32 / /m rw - cgroup2", "1 2 3 / /m rw cgroup2 c rw"}) {
    EXPECT_EQ(parse_cgroup_mount(bad).has_value(), false) << bad;
  }
}

TEST(CgroupDirectory, IsBelowTheMount) {
  const CgroupMount whole{"/cg", "/", 2};
  EXPECT_EQ(cgroup_directory(whole, "/"), "/cg");
  EXPECT_EQ(cgroup_directory(whole, "/a/b"), "/cg/a/b");
  const CgroupMount part{"/cg", "/docker/abc", 1};
  EXPECT_EQ(cgroup_directory(part, "/docker/abc"), "/cg");
  EXPECT_EQ(cgroup_directory(part, "/docker/abc/x"), "/cg/x");
}

TEST(CgroupDirectory, NeverLeavesTheMount) {
  const CgroupMount part{"/cg", "/docker/abc", 1};
  for (const char* outside :
       {"", "a", "/", "/docker", "/docker/abcd", "/docker/abc/../x", "/../docker/abc"}) {
    EXPECT_EQ(cgroup_directory(part, outside), std::nullopt) << outside;
  }
  EXPECT_EQ(cgroup_directory({"/cg", "/", 2}, "/.."), std::nullopt);
}

TEST(CgroupPathFromArgument, TakesADirectoryOrAPath) {
  FakeTree tree;
  tree.directory("user/job");
  const CgroupMount mount{tree.root(), "/", 2};
  for (const std::string& argument :
       {tree.path("user/job"), tree.path("user/job/"), std::string("/user/job"), std::string("user/job/")}) {
    const Result<std::string> path = cgroup_path_from_argument(mount, argument);
    ASSERT_TRUE(path.ok()) << argument;
    EXPECT_EQ(*path, "/user/job");
  }
  EXPECT_EQ(*cgroup_path_from_argument(mount, tree.root()), "/");
  EXPECT_EQ(*cgroup_path_from_argument(mount, "/"), "/");
}

TEST(CgroupPathFromArgument, InAPartOfTheHierarchyTheRootIsTakenIn) {
  FakeTree tree;
  tree.directory("job");
  const CgroupMount mount{tree.root(), "/docker/abc", 1};
  EXPECT_EQ(*cgroup_path_from_argument(mount, tree.path("job")), "/docker/abc/job");
  EXPECT_EQ(*cgroup_path_from_argument(mount, "/docker/abc/job"), "/docker/abc/job");
  EXPECT_EQ(*cgroup_path_from_argument(mount, tree.root()), "/docker/abc");
}

TEST(CgroupPathFromArgument, SaysWhatItDoesNotFind) {
  FakeTree tree;
  tree.directory("job").file("plain", "").link("way-out", "/tmp");
  const CgroupMount mount{tree.root(), "/", 2};
  for (const char* bad : {"", "/none", "job/../job", "plain", "way-out", "/tmp"}) {
    const Result<std::string> path = cgroup_path_from_argument(mount, bad);
    ASSERT_FALSE(path.ok()) << bad;
    EXPECT_THAT(path.error().doing, testing::HasSubstr(std::string("'") + bad + "'"));
    EXPECT_THAT(path.error().hint, testing::HasSubstr(tree.root()));
  }
}

TEST(ListCgroupPids, HasTheDescendantsToo) {
  FakeTree tree;
  tree.file("job/cgroup.procs", "12\n7\n")
      .file("job/a/b/cgroup.procs", "9\n7\n0\n")
      .file("else/cgroup.procs", "5\n");
  tree.directory("job/threaded");
  const CgroupMount mount{tree.root(), "/", 2};
  EXPECT_THAT(*list_cgroup_pids(mount, "/job"), testing::ElementsAre(7, 9, 12));
  EXPECT_EQ(list_cgroup_pids(mount, "/none").error().code, ENOENT);
  EXPECT_FALSE(list_cgroup_pids(mount, "/../job").ok());
}

TEST(CgroupPathFromId, WalksWhereHandlesDoNotWork) {
  FakeTree tree;
  tree.directory("a/b/c").directory("d");
  const CgroupMount mount{tree.root(), "/", 2};
  struct stat wanted{};
  ASSERT_EQ(stat(tree.path("a/b/c").c_str(), &wanted), 0);
  EXPECT_EQ(*cgroup_path_from_id(mount, wanted.st_ino), "/a/b/c");
  EXPECT_FALSE(cgroup_path_from_id(mount, 0).ok());
  EXPECT_FALSE(cgroup_path_from_id(mount, UINT64_MAX).ok());
}

TEST(RealCgroups, AreFoundByIdPathAndProcess) {
  MEMLOG_NEEDS_CGROUP_V1();
  const CgroupMount& mount = *found_mount;
  MemoryCgroup outer(mount, "/memlog-unit-find-" + std::to_string(getpid()));
  if (!outer.is_made()) GTEST_SKIP() << "cannot make a memory cgroup here";
  MemoryCgroup inner(mount, outer.path() + "/in ner");
  ASSERT_TRUE(inner.is_made());
  struct stat directory{};
  ASSERT_EQ(stat(inner.directory().c_str(), &directory), 0);

  EXPECT_EQ(*cgroup_path_from_id(mount, directory.st_ino), inner.path());
  EXPECT_EQ(test::as_nobody([&] {  // no right to open by handle: the walk finds it
              const Result<std::string> path = cgroup_path_from_id(mount, directory.st_ino);
              return path.ok() && *path == inner.path() ? 0 : 1;
            }),
            0);
  EXPECT_EQ(*cgroup_path_from_argument(mount, inner.directory()), inner.path());
  {
    WorkloadProcess process({"cgroup=" + inner.directory(), "print=ready", "pause"});
    ASSERT_EQ(process.line(), "ready");
    EXPECT_THAT(*list_cgroup_pids(mount, outer.path()), testing::ElementsAre(process.pid()));
    EXPECT_EQ(read_process_facts("/proc", process.pid())->memory_cgroup, inner.path());
  }
  ASSERT_TRUE(inner.remove());
  EXPECT_FALSE(cgroup_path_from_id(mount, directory.st_ino).ok());
}

}  // namespace
}  // namespace memlog
