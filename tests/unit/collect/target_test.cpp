// SPDX-License-Identifier: Apache-2.0
#include "collect/target.h"

#include <gtest/gtest.h>

namespace memlog {
namespace {

Target named(const std::string& name) {
  Target target;
  target.names = {name};
  return target;
}

TEST(Target, AShortNameIsTheWholeComm) {
  EXPECT_EQ(named("worker").judge({"worker", {}, {}, {}, {}}), Judgement::yes);
  EXPECT_EQ(named("worker").judge({"worker2", {}, {}, {}, {}}), Judgement::no);
  EXPECT_EQ(named("worker").judge({"work", {}, {}, {}, {}}), Judgement::no);
  EXPECT_EQ(named("gunicorn: maste").judge({"gunicorn: maste", {}, {}, {}, {}}), Judgement::yes);
}

TEST(Target, ALongNameIsRecognisedByExeOrArgv0) {
  const Target target = named("this_is_a_really_long_worker_name");
  const std::string_view comm = "this_is_a_reall";
  EXPECT_EQ(target.judge({comm, "/opt/this_is_a_really_long_worker_name", {}, {}, {}}), Judgement::yes);
  EXPECT_EQ(target.judge({comm, "/usr/bin/python3", "this_is_a_really_long_worker_name", {}, {}}),
            Judgement::yes);
  EXPECT_EQ(target.judge({comm, "/opt/this_is_a_really_different", {}, {}, {}}), Judgement::unsure);
  EXPECT_EQ(target.judge({comm, {}, {}, {}, {}}), Judgement::unsure);
  EXPECT_EQ(target.judge({"this_is_a_real", {}, {}, {}, {}}), Judgement::no);
}

TEST(Target, APatternIsSearchedInTheWholeCommandLine) {
  Target target;
  target.match = *Regex::compile("python.* train");
  EXPECT_EQ(target.judge({"python3", {}, {}, "python3 -u train.py", {}}), Judgement::yes);
  EXPECT_EQ(target.judge({"python3", {}, {}, "python3 serve.py", {}}), Judgement::no);
  EXPECT_EQ(target.judge({"python3", {}, {}, {}, {}}), Judgement::no);
}

TEST(Target, AVeryLongCommandLineIsSearchedWithoutHarm) {
  Target target;
  target.match = *Regex::compile("(a|b)*c");
  EXPECT_EQ(target.judge({"x", {}, {}, std::string(100000, 'a'), {}}), Judgement::no);
}

TEST(Target, ACgroupHoldsItsDescendantsButNotItsNamesakes) {
  Target target;
  target.cgroup = "/jobs";
  EXPECT_EQ(target.judge({"x", {}, {}, {}, "/jobs"}), Judgement::yes);
  EXPECT_EQ(target.judge({"x", {}, {}, {}, "/jobs/7"}), Judgement::yes);
  EXPECT_EQ(target.judge({"x", {}, {}, {}, "/jobs7"}), Judgement::no);
  target.cgroup = "/";
  EXPECT_EQ(target.judge({"x", {}, {}, {}, "/anything"}), Judgement::yes);
}

TEST(Target, AnyPartMayName) {
  Target target = named("worker");
  target.match = *Regex::compile("train");
  EXPECT_EQ(target.judge({"worker", {}, {}, "./worker", {}}), Judgement::yes);
  EXPECT_EQ(target.judge({"python", {}, {}, "python train.py", {}}), Judgement::yes);
}

TEST(Target, TheKernelFilterHoldsNoMoreThanACommCan) {
  Target target = named("this_is_a_really_long_worker_name");
  EXPECT_EQ(target.event_filter().comms, std::vector<std::string>{"this_is_a_reall"});
  EXPECT_FALSE(target.event_filter().every_process);
  target.match = *Regex::compile("x");
  EXPECT_TRUE(target.event_filter().every_process);
}

TEST(Regex, NamesWhatIsWrongWithAPattern) {
  for (const char* bad : {"(", "[a", "a{2,1}", "", "*("}) {
    const Result<Regex> regex = Regex::compile(bad);
    ASSERT_FALSE(regex.ok()) << bad;
    EXPECT_NE(regex.error().doing.find(std::string("'") + bad + "'"), std::string::npos);
    EXPECT_FALSE(regex.error().reason.empty());
  }
}

}  // namespace
}  // namespace memlog
