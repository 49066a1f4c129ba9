// SPDX-License-Identifier: Apache-2.0
// A run and its parts in words and as JSON: what `runs` and `show` share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "query/summary.h"

namespace memlog {

std::string bytes_or_dash(Nullable bytes);

// "the last process ended", "interrupted", "recording"; what spoils it comes first, for a narrow terminal
// cuts the end: "2 OOM kills; events lost; SIGINT".
std::string run_end_text(const Run& run);

// "exit 0", "SIGKILL, OOM kill in cgroup /x (limit 32.0 MiB)", "SIGSEGV (core dumped)", "running", "end not
// seen". `kill` is the process's OOM kill or nullptr.
std::string process_end_text(const ProcessSummary& process, const OomKillSummary* kill, RunState state);

// "in cgroup /x (limit 32.0 MiB)", "for the machine was out of memory".
std::string oom_place_text(const OomKillSummary& kill);

// As text; bytes that are not UTF-8 (a damaged file) are replaced.
std::string json_text(const nlohmann::ordered_json& json);
nlohmann::ordered_json run_json(const Run& run);
nlohmann::ordered_json summary_json(const RunSummary& summary);

}  // namespace memlog
