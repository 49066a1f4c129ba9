// SPDX-License-Identifier: Apache-2.0
#include "cli/live_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/clock.h"
#include "base/invoking_user.h"
#include "base/talk.h"

namespace memlog {
namespace {

constexpr rlim_t kMostMemoryBytes = rlim_t{1} << 30U;  // address space: code, stacks and a few pictures
constexpr rlim_t kMostFiles = 512;
constexpr int kMallocArenas = 2;
constexpr int kNiceness = 5;  // the recorder's ticks come first
constexpr int64_t kShortLifeNs = 2 * kNsPerSecond;
constexpr useconds_t kPauseUs = 500'000;
constexpr int kListenerFd = 3;

// What the parent has open is not for the clients of a dashboard.
void let_go_of_files(LiveListener& listener) {
  const OwnedFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing) {
    dup2(nothing.get(), STDIN_FILENO);
    dup2(nothing.get(), STDOUT_FILENO);
  }
  if (listener.fd.get() != kListenerFd) {
    dup2(listener.fd.get(), kListenerFd);
    listener.fd.release();
    listener.fd.reset(kListenerFd);
  }
  syscall(SYS_close_range, kListenerFd + 1, ~0U, 0);
}

bool drop_capabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // fails without CAP_SETPCAP: then there is nothing to drop
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

// Becomes the invoking user for good. false: some privilege is left.
bool drop_privileges() {
  const InvokingUser user = invoking_user();
  if (geteuid() == 0) {
    const bool is_other = user.uid != 0;
    if (is_other && setgroups(1, &user.gid) != 0) return false;
    for (int capability = 0; is_other && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
      prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (setresgid(user.gid, user.gid, user.gid) != 0 || setresuid(user.uid, user.uid, user.uid) != 0)
      return false;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && drop_capabilities();
}

// Ends with the process that started this one.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // after the change of user, which clears it
  if (getppid() != parent) _exit(0);
}

void take_signals() {
  sigset_t none;
  sigemptyset(&none);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void limit(__rlimit_resource resource, rlim_t most) {
  rlimit bounds{};
  if (getrlimit(resource, &bounds) != 0 || bounds.rlim_max < most) return;
  bounds.rlim_cur = bounds.rlim_max = most;
  setrlimit(resource, &bounds);
}

[[noreturn]] void serve(const LiveOptions& options, const LiveListener& listener, pid_t keeper) {
  die_with(keeper);
  take_signals();
  mallopt(M_ARENA_MAX, kMallocArenas);
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes of addresses
  limit(RLIMIT_AS, kMostMemoryBytes);
#endif
  setpriority(PRIO_PROCESS, 0, kNiceness);
  limit(RLIMIT_NOFILE, kMostFiles);
  limit(RLIMIT_CORE, 0);
  try {
    LiveServer server(options, listener);
    server.run();
  } catch (const std::exception&) {
    _exit(1);  // most likely out of memory: the keeper starts another
  }
  _exit(0);
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("status {}", WEXITSTATUS(status));
}

sigset_t await_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
  return awaited;
}

// Until the server ends; how it did. SIGTERM ends both, the server first.
std::string watch(pid_t server, const sigset_t& awaited) {
  while (true) {
    int signal = 0;
    sigwait(&awaited, &signal);
    int status = 0;
    if (signal == SIGTERM) {
      kill(server, SIGKILL);
      waitpid(server, &status, 0);
      _exit(0);
    }
    if (waitpid(server, &status, WNOHANG) == server) return ending_of(status);
  }
}

}  // namespace

void keep_serving(const LiveOptions& options, LiveListener listener, pid_t parent) {
  take_signals();
  prctl(PR_SET_NAME, "memlog-live", 0, 0, 0);
  let_go_of_files(listener);
  if (!drop_privileges()) {
    warn("the dashboard cannot give up its privileges and is not started");
    _exit(1);
  }
  die_with(parent);
  const sigset_t awaited = await_signals();
  const pid_t keeper = getpid();
  while (true) {
    const int64_t begun_ns = boot_now_ns();
    const pid_t server = fork();
    if (server == 0) serve(options, listener, keeper);
    if (server > 0)
      warn(fmt::format("the dashboard ended ({}) and is started again", watch(server, awaited)));
    if (server < 0 || boot_now_ns() - begun_ns < kShortLifeNs) usleep(kPauseUs);
  }
}

}  // namespace memlog
