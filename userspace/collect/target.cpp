// SPDX-License-Identifier: Apache-2.0
#include "collect/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "collect/process_facts.h"

namespace memlog {
namespace {

// A name longer than a comm can only be recognised by the longer name that the comm is cut from.
Judgement judge_name(const std::string& name, const Candidate& candidate) {
  if (name.size() <= Target::kCommBytes) return candidate.comm == name ? Judgement::yes : Judgement::no;
  if (candidate.comm != std::string_view(name).substr(0, Target::kCommBytes)) return Judgement::no;
  return full_name(candidate.comm, candidate.exe, candidate.argv0) == name ? Judgement::yes
                                                                           : Judgement::unsure;
}

bool is_in_cgroup(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/" || path == ancestor) return true;
  return path.size() > ancestor.size() && path.starts_with(ancestor) && path[ancestor.size()] == '/';
}

}  // namespace

Result<Regex> Regex::compile(const std::string& pattern) {
  Regex regex;
  regex.pattern_ = pattern;
  const std::string doing = fmt::format("reading the pattern '{}'", printable(pattern));
  if (pattern.empty())
    return Error{doing, "it is empty and would match every process", "give a regular expression"};
  auto compiled = std::make_unique<regex_t>();
  const int error = regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char reason[128];
    regerror(error, compiled.get(), reason, sizeof reason);
    return Error{doing, reason,
                 "--match takes a POSIX extended regular expression, searched in the whole command line"};
  }
  regex.compiled_ = std::shared_ptr<const regex_t>(compiled.release(), [](const regex_t* owned) {
    regfree(const_cast<regex_t*>(owned));
    delete owned;
  });
  return regex;
}

Judgement Target::judge(const Candidate& candidate) const {
  Judgement best = Judgement::no;
  for (const std::string& name : names) best = std::max(best, judge_name(name, candidate));
  if (match && candidate.cmdline && match->search(*candidate.cmdline)) return Judgement::yes;
  if (cgroup && candidate.cgroup && is_in_cgroup(*candidate.cgroup, *cgroup)) return Judgement::yes;
  return best;
}

EventFilter Target::event_filter() const {
  EventFilter filter;
  for (const std::string& name : names) filter.comms.push_back(name.substr(0, kCommBytes));
  filter.every_process = match.has_value() || cgroup.has_value();
  filter.follow_children = children;
  return filter;
}

std::string Target::in_words() const {
  std::vector<std::string> parts;
  if (!launched.empty()) parts.push_back(fmt::format("command '{}'", printable(launched)));
  for (const std::string& name : names) parts.push_back(fmt::format("process name '{}'", printable(name)));
  for (const pid_t pid : pids) parts.push_back(fmt::format("pid {}", pid));
  if (match) parts.push_back(fmt::format("command line matching '{}'", printable(match->pattern())));
  if (cgroup) parts.push_back(fmt::format("cgroup {}", printable(*cgroup)));
  for (const int device : devices) parts.push_back(fmt::format("users of card {}", device));
  return fmt::format("{}{}", fmt::join(parts, " or "), children ? " and descendants" : "");
}

}  // namespace memlog
