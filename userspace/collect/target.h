// SPDX-License-Identifier: Apache-2.0
// Target: which processes the user wants recorded, and whether a given process is one of them. Pure: no system calls.
#pragma once

#include <regex.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/event_source.h"

namespace memlog {

// A POSIX extended regular expression. (std::regex recurses once per character: a long command line overflows its stack.)
class Regex {
 public:
  static Result<Regex> compile(const std::string& pattern);
  bool search(const std::string& text) const {
    return regexec(compiled_.get(), text.c_str(), 0, nullptr, 0) == 0;
  }
  const std::string& pattern() const { return pattern_; }

 private:
  std::string pattern_;
  std::shared_ptr<const regex_t> compiled_;
};

// What is known of a process when it is judged. Absent = not known (yet).
struct Candidate {
  std::string_view comm;
  std::optional<std::string_view> exe;
  std::optional<std::string_view> argv0;
  std::optional<std::string> cmdline;
  std::optional<std::string_view> cgroup;
};

enum class Judgement : uint8_t {
  no,
  unsure,  // what would decide it is not known, or may change in a moment (a title that is being set)
  yes,
};

// A process is a target where any of the parts names it. Children are the tracker's affair.
struct Target {
  static constexpr size_t kCommBytes = 15;  // TASK_COMM_LEN without its NUL

  std::vector<std::string> names;
  std::vector<pid_t> pids;
  std::optional<Regex> match;
  std::optional<std::string> cgroup;  // path in the memory controller's hierarchy
  std::vector<int> devices;           // numbers of cards: whoever has one open
  bool children = false;
  std::string launched;  // what `memlog run` launches, in words

  Judgement judge(const Candidate& candidate) const;
  // What the kernel side has to let through for this target.
  EventFilter event_filter() const;
  // "process name 'worker'", "pid 7", "command line matching /x/", "cgroup /a": for people.
  std::string in_words() const;
};

}  // namespace memlog
