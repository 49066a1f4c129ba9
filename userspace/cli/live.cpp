// SPDX-License-Identifier: Apache-2.0
// memlog live [RUN]: the dashboard beside any running or finished recording.
#include <pthread.h>
#include <signal.h>

#include "cli/commands.h"
#include "cli/live_serving.h"
#include "query/runs.h"
#include "store/location.h"
#include "store/repair.h"

namespace memlog {

int run_live(const LiveCommandOptions& options) {
  const std::string path = or_die(database_path(options.database));
  {
    Database database = or_die(open_for_reading(path));
    or_die(find_run(database, options.run), FatalError::kBadUsage);
  }
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  const std::unique_ptr<LiveServing> serving =
      or_die(LiveServing::start(options.flags, path, options.run, 0));
  serving->say_where();
  serving->wait();
  return 0;
}

}  // namespace memlog
