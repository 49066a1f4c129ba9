// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <exception>

#include "base/talk.h"
#include "cli/commands.h"

// Without a standard stream the next file that is opened would take its number, and be written into. Reading only: what
// is written to a closed stdout fails as it should.
static void fill_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDONLY) != fd) return;
  }
}

int main(int argc, char** argv) {
  fill_closed_streams();
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
