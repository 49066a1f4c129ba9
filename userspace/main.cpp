// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "base/talk.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  try {
    return memlog::run_command_line(argc, argv);
  } catch (const memlog::FatalError& failure) {
    memlog::clear_status();
    memlog::complain(failure.error());
    return failure.exit_status();
  } catch (const std::exception& failure) {
    memlog::clear_status();
    memlog::complain(
        {"running", failure.what(), "this is a bug in memlog: please report it with the command line"});
    return memlog::FatalError::kOwnFailure;
  }
}
