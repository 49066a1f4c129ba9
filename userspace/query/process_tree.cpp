// SPDX-License-Identifier: Apache-2.0
#include "query/process_tree.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace memlog {
namespace {

constexpr size_t kNoParent = SIZE_MAX;
constexpr size_t kDeepestBranch = 32;  // deeper processes are drawn at this depth

// Index of each process's parent. The links of a damaged file must not make a circle: one of its links is
// cut.
std::vector<size_t> find_parents(const std::vector<ProcessSummary>& processes) {
  std::unordered_map<int64_t, size_t> index_of;
  for (size_t i = 0; i < processes.size(); ++i) index_of[processes[i].id] = i;
  std::vector<size_t> parents(processes.size(), kNoParent);
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!processes[i].parent_process_id.has_value()) continue;
    const auto found = index_of.find(processes[i].parent_process_id.value());
    if (found != index_of.end()) parents[i] = found->second;
  }
  // Walk up from each process, marking the way; meeting one's own mark is a circle.
  std::vector<size_t> walked_from(processes.size(), kNoParent);
  for (size_t i = 0; i < parents.size(); ++i) {
    for (size_t at = i; walked_from[at] == kNoParent;) {
      walked_from[at] = i;
      const size_t up = parents[at];
      if (up == kNoParent) break;
      if (walked_from[up] == i) parents[at] = kNoParent;
      at = up;
    }
  }
  return parents;
}

std::vector<bool> choose(const std::vector<ProcessSummary>& processes, const std::vector<size_t>& parents,
                         size_t most) {
  if (most == 0 || processes.size() <= most) return std::vector<bool>(processes.size(), true);
  std::vector<size_t> by_peak(processes.size());
  std::iota(by_peak.begin(), by_peak.end(), size_t{0});
  std::stable_sort(by_peak.begin(), by_peak.end(), [&](size_t a, size_t b) {
    return processes[a].peak_rss_bytes.value_or(-1) > processes[b].peak_rss_bytes.value_or(-1);
  });
  std::vector<bool> is_chosen(processes.size(), false);
  for (size_t rank = 0; rank < most; ++rank) {
    for (size_t i = by_peak[rank]; i != kNoParent && !is_chosen[i]; i = parents[i]) is_chosen[i] = true;
  }
  return is_chosen;
}

class TreeDrawer {
 public:
  TreeDrawer(const std::vector<ProcessSummary>& processes, const std::vector<size_t>& parents,
             const std::vector<bool>& is_chosen)
      : processes_(processes), children_(processes.size()) {
    for (size_t i = 0; i < processes.size(); ++i) {
      if (!is_chosen[i]) continue;
      (parents[i] == kNoParent ? roots_ : children_[parents[i]]).push_back(i);
    }
  }

  // An explicit stack: a chain of forks can be deeper than the program's own.
  std::vector<TreeLine> draw() const {
    std::vector<TreeLine> lines;
    std::vector<Pending> pending;
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) pending.push_back({*root, "", "", 0});
    while (!pending.empty()) {
      const Pending next = std::move(pending.back());
      pending.pop_back();
      lines.push_back({&processes_[next.index], next.branch});
      const std::vector<size_t>& children = children_[next.index];
      for (size_t i = children.size(); i-- > 0;) {
        const bool is_last = i + 1 == children.size();
        if (next.depth >= kDeepestBranch) {
          pending.push_back({children[i], next.branch, next.below, next.depth});
        } else {
          pending.push_back({children[i], next.below + (is_last ? "└─ " : "├─ "),
                             next.below + (is_last ? "   " : "│  "), next.depth + 1});
        }
      }
    }
    return lines;
  }

 private:
  struct Pending {
    size_t index;
    std::string branch;
    std::string below;  // what its children's branches begin with
    size_t depth;
  };
  const std::vector<ProcessSummary>& processes_;
  std::vector<size_t> roots_;
  std::vector<std::vector<size_t>> children_;
};

}  // namespace

ProcessTree build_process_tree(const std::vector<ProcessSummary>& processes, size_t most) {
  const std::vector<size_t> parents = find_parents(processes);
  const std::vector<bool> is_chosen = choose(processes, parents, most);
  ProcessTree tree;
  tree.lines = TreeDrawer(processes, parents, is_chosen).draw();
  tree.left_out = processes.size() - tree.lines.size();
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!is_chosen[i])
      tree.largest_left_out_bytes = max_known(tree.largest_left_out_bytes, processes[i].peak_rss_bytes);
  }
  return tree;
}

}  // namespace memlog
