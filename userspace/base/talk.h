// SPDX-License-Identifier: Apache-2.0
// What memlog says on stderr. stdout is for results only.
//
// Lines are whole (`memlog: ...`), never coloured off a terminal, and a status line that is being shown is
// cleared before anything else is printed and redrawn by its owner's next update.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace memlog {

bool stderr_is_terminal();
bool stdout_is_terminal();

void say(std::string_view line);    // memlog: <line>
void warn(std::string_view line);   // memlog: warning: <line>
void complain(const Error& error);  // memlog: <doing>: <reason> and a hint line

// Shows `text` (cut to the terminal's width) in place of the last status line; no effect off a terminal.
void show_status(std::string_view text);
// Wipes the status line. Called before the process ends.
void clear_status();

}  // namespace memlog
