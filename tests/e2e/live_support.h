// SPDX-License-Identifier: Apache-2.0
// The dashboard of a recording that runs, for tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/harness.h"
#include "support/http_client.h"

namespace memlog::e2e {

// The port that memlog said it serves on; 0: it has not.
inline int port_of(const Child& recording) {
  const std::string said = recording.output();
  const std::string before = "http://localhost:";
  const size_t at = said.find(before);
  return at == std::string::npos ? 0 : std::atoi(said.c_str() + at + before.size());
}

inline std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// The value of a line of /proc/PID/status; empty where there is none.
inline std::string status_of(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

template <typename Holds>
bool comes_true(Holds holds, int patience_ms = 10'000) {
  for (int waited_ms = 0; waited_ms < patience_ms; waited_ms += 20) {
    if (holds()) return true;
    usleep(20'000);
  }
  return holds();
}

}  // namespace memlog::e2e
