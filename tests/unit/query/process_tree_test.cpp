// SPDX-License-Identifier: Apache-2.0
#include "query/process_tree.h"

#include <gmock/gmock.h>

namespace memlog {
namespace {

using ::testing::ElementsAre;

ProcessSummary process(int64_t id, Nullable parent, Nullable peak_bytes = {}) {
  ProcessSummary summary;
  summary.id = id;
  summary.parent_process_id = parent;
  summary.name = std::to_string(id);
  summary.peak_rss_bytes = peak_bytes;
  return summary;
}

std::vector<std::string> drawn(const ProcessTree& tree) {
  std::vector<std::string> lines;
  lines.reserve(tree.lines.size());
  for (const TreeLine& line : tree.lines) lines.push_back(line.branch + line.process->name);
  return lines;
}

TEST(ProcessTree, DrawsChildrenBelowTheirParent) {
  const std::vector<ProcessSummary> processes = {process(1, {}), process(2, 1), process(3, 1), process(4, 2),
                                                 process(5, {})};
  EXPECT_THAT(drawn(build_process_tree(processes, 0)), ElementsAre("1", "├─ 2", "│  └─ 4", "└─ 3", "5"));
}

TEST(ProcessTree, AParentMayHaveBeenSeenAfterItsChild) {
  const std::vector<ProcessSummary> processes = {process(2, 1), process(1, {})};
  EXPECT_THAT(drawn(build_process_tree(processes, 0)), ElementsAre("1", "└─ 2"));
}

TEST(ProcessTree, KeepsTheLargestAndTheirAncestorsAndCountsTheRest) {
  const std::vector<ProcessSummary> processes = {process(1, {}, 1), process(2, 1, 50), process(3, 1, 7),
                                                 process(4, {}, 9), process(5, {})};
  const ProcessTree tree = build_process_tree(processes, 1);
  EXPECT_THAT(drawn(tree), ElementsAre("1", "└─ 2"));
  EXPECT_EQ(tree.left_out, 3U);
  EXPECT_EQ(tree.largest_left_out_bytes, Nullable(9));
}

TEST(ProcessTree, OfManyTwinsHasTheAskedNumber) {
  std::vector<ProcessSummary> processes;
  for (int64_t id = 1; id <= 300; ++id) processes.push_back(process(id, {}, 5));
  EXPECT_EQ(build_process_tree(processes, 60).lines.size(), 60U);
}

TEST(ProcessTree, ShowsEveryProcessOfACircleOnce) {
  const std::vector<ProcessSummary> processes = {process(1, 3), process(2, 1),  process(3, 2),
                                                 process(4, 4), process(5, 99), process(6, 3)};
  EXPECT_EQ(build_process_tree(processes, 0).lines.size(), 6U);
}

TEST(ProcessTree, HoldsAChainOfAHundredThousandForks) {
  std::vector<ProcessSummary> processes;
  for (int64_t id = 1; id <= 100'000; ++id) processes.push_back(process(id, id - 1));
  const ProcessTree tree = build_process_tree(processes, 0);
  EXPECT_EQ(tree.lines.size(), 100'000U);
  EXPECT_LT(tree.lines.back().branch.size(), 500U);
}

}  // namespace
}  // namespace memlog
