// SPDX-License-Identifier: Apache-2.0
#include "record/run_facts.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/invoking_user.h"
#include "base/small_file.h"
#include "base/text.h"
#include "collect/process_facts.h"

namespace memlog {

RunStart run_facts_of_this_host() {
  RunStart run;
  utsname names{};
  uname(&names);
  run.host = names.nodename;
  run.kernel = names.release;
  if (const auto boot_id = read_small_file("/proc/sys/kernel/random/boot_id", 64); boot_id.ok()) {
    run.boot_id = trim(*boot_id);
  }
  run.uid = invoking_user().uid;
  run.page_size_bytes = sysconf(_SC_PAGESIZE);
  run.cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
  run.recorder_pid = getpid();
  if (const auto stat_text = read_small_file("/proc/self/stat", 1024); stat_text.ok()) {
    if (const auto fields = parse_stat(*stat_text); fields.ok())
      run.recorder_start_ticks = fields->start_ticks;
  }
  struct stat pid_namespace{};
  if (stat("/proc/self/ns/pid", &pid_namespace) == 0)
    run.recorder_pid_ns = static_cast<int64_t>(pid_namespace.st_ino);
  return run;
}

}  // namespace memlog
