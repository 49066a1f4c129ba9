// SPDX-License-Identifier: Apache-2.0
// What a recording says to the user: a status line on a terminal, plain lines on stderr elsewhere, warnings only where
// --quiet asked for it.
#pragma once

#include <string>

#include "cli/commands.h"
#include "collect/target.h"
#include "record/progress.h"
#include "record/survival.h"
#include "store/database_file.h"

namespace memlog {

class RecordingTalk {
 public:
  // Both outlive it.
  RecordingTalk(const RecordOptions& options, const Target& target) : options_(options), target_(target) {}

  void say_missing(const Survival& survival) const;
  void say_begin(int64_t run_id, const std::string& database) const;
  // Shows what the recorder has to say until it is finished. A storm of lines is cut, and the cut is said.
  void show(Progress& progress) const;
  void say_end(int64_t run_id, const std::string& why, const ProgressNumbers& numbers) const;
  // The warning for storing that fails (`reason`), or works again (empty).
  static std::string on_misplaced(FilePlace place, const std::string& database);
  static std::string on_store(const std::string& reason);

 private:
  std::string status_line(const ProgressNumbers& numbers, int64_t elapsed_ns) const;

  const RecordOptions& options_;
  const Target& target_;
};

}  // namespace memlog
