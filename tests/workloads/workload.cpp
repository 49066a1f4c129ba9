// SPDX-License-Identifier: Apache-2.0
// workload: a process that does what its arguments say, in order. Tests copy or link it under any name.
//
//   workload grow=64M print=grown sleep=500ms fork=2 name=child grow=8M exit=3 end wait
//
// Sizes take K, M or G (powers of 1024), times us, ms or s. After the last step it exits 0. A step that fails
// says so on stderr and exits 99. Whatever happens, a process of it ends by SIGALRM after ten minutes.
//
//   grow=SIZE           map anonymous memory and touch every page
//   free                unmap what the last grow (or one step of rate) mapped
//   rate=SIZE:TIME:N    N times: grow by SIZE, sleep TIME
//   shmem=SIZE          map shared anonymous memory and touch it
//   file=SIZE           map an unlinked file in TMPDIR (or /tmp) and touch it (on tmpfs it counts as shmem)
//   hugetlb=SIZE        map and touch huge pages
//   spin=TIME           use the CPU for TIME of this thread's CPU time
//   sleep=TIME, pause   sleep; sleep for ever
//   print=TEXT          a line on stdout, at once
//   print-pid=TEXT      "TEXT PID" on stdout, at once
//   read-line           wait for a line (or the end) on stdin
//   name=TEXT           rename the thread that runs the steps (the main one, unless leader-exit came before)
//   loop-rename=N       rename it 2 N times: to "renamed" and back
//   threads=N           N idle threads
//   thread-name=TEXT    an idle thread of that name
//   end-threads         end the idle threads, oldest first, and join them
//   fork=N ... end      N children run the steps up to the matching `end` and exit 0; the parent goes on after it
//   wait                reap every child
//   exec=PATH           exec PATH with the remaining steps as its arguments, argv[0] being its basename
//   exec-thread=PATH    the same, from a thread that is not the leader
//   leader-exit         the leader thread ends; another one runs the remaining steps
//   oom-score-adj=N     write /proc/self/oom_score_adj
//   cgroup=DIR          move this process into the cgroup whose directory is DIR
//   exit=N, abort, segv, raise=SIGNAL   (SIGNAL: a number, or TERM, KILL, STOP, INT, HUP, USR1, ...)
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Steps = std::span<const std::string>;

constexpr int kStepFailed = 99;
constexpr unsigned kLongestLifeSeconds = 600;

struct Mapping {
  void* address = nullptr;
  size_t size_bytes = 0;
};
std::vector<Mapping> mappings;

struct IdleThread {
  pthread_t handle{};
  std::string name;
  int stop_pipe[2] = {-1, -1};
};
std::vector<IdleThread*> idle_threads;

[[noreturn]] void fail(std::string_view step) {
  fprintf(stderr, "workload: step '%.*s' failed: %s\n", static_cast<int>(step.size()), step.data(),
          errno != 0 ? strerror(errno) : "bad argument");
  _exit(kStepFailed);
}

void require(bool good, std::string_view step) {
  if (!good) fail(step);
}

uint64_t number_with_unit(std::string_view text, std::span<const std::pair<std::string_view, uint64_t>> units,
                          std::string_view step) {
  uint64_t value = 0;
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 18) {
    value = value * 10 + static_cast<uint64_t>(text[digits++] - '0');
  }
  errno = 0;
  require(digits > 0, step);
  for (const auto& [name, factor] : units) {
    if (name == text.substr(digits)) return value * factor;
  }
  fail(step);
}

size_t size_of(std::string_view text, std::string_view step) {
  constexpr std::pair<std::string_view, uint64_t> units[] = {
      {"", 1}, {"K", 1U << 10U}, {"M", 1U << 20U}, {"G", 1U << 30U}};
  return number_with_unit(text, units, step);
}

uint64_t time_us_of(std::string_view text, std::string_view step) {
  constexpr std::pair<std::string_view, uint64_t> units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
  return number_with_unit(text, units, step);
}

long count_of(const std::string& text, std::string_view step) {
  char* end = nullptr;
  errno = 0;
  const long value = strtol(text.c_str(), &end, 10);
  require(!text.empty() && *end == '\0', step);
  return value;
}

void map_and_touch(size_t size_bytes, int flags, int fd, std::string_view step) {
  void* address = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  require(address != MAP_FAILED, step);
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* bytes = static_cast<volatile char*>(address);
  for (size_t at = 0; at < size_bytes; at += page_bytes) bytes[at] = 1;
  mappings.push_back({address, size_bytes});
}

void map_file(size_t size_bytes, std::string_view step) {
  const char* directory = getenv("TMPDIR");
  std::string path = std::string(directory != nullptr ? directory : "/tmp") + "/workload.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  require(fd >= 0, step);
  unlink(path.c_str());
  require(ftruncate(fd, static_cast<off_t>(size_bytes)) == 0, step);
  map_and_touch(size_bytes, MAP_SHARED, fd, step);
  close(fd);
}

void sleep_us(uint64_t time_us) {
  timespec left{static_cast<time_t>(time_us / 1000000), static_cast<long>(time_us % 1000000 * 1000)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

uint64_t thread_cpu_us() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1000000 + static_cast<uint64_t>(used.tv_nsec) / 1000;
}

void spin_us(uint64_t time_us) {
  const uint64_t until_us = thread_cpu_us() + time_us;
  while (thread_cpu_us() < until_us) {
  }
}

// "10M:50ms:20"
void grow_in_steps(std::string_view text, std::string_view step) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  require(first != std::string_view::npos && second != std::string_view::npos, step);
  const size_t size_bytes = size_of(text.substr(0, first), step);
  const uint64_t pause_us = time_us_of(text.substr(first + 1, second - first - 1), step);
  for (long left = count_of(std::string(text.substr(second + 1)), step); left > 0; --left) {
    map_and_touch(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, step);
    sleep_us(pause_us);
  }
}

void* idle(void* argument) {
  auto* thread = static_cast<IdleThread*>(argument);
  if (!thread->name.empty()) prctl(PR_SET_NAME, thread->name.c_str());
  char byte = 0;
  while (read(thread->stop_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  return nullptr;
}

void start_idle_thread(const std::string& name, std::string_view step) {
  auto* thread = new IdleThread{.name = name};
  require(pipe2(thread->stop_pipe, O_CLOEXEC) == 0, step);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, size_t{64} * 1024);
  errno = pthread_create(&thread->handle, &small, idle, thread);
  require(errno == 0, step);
  pthread_attr_destroy(&small);
  idle_threads.push_back(thread);
}

void end_idle_threads() {
  for (IdleThread* thread : idle_threads) {
    close(thread->stop_pipe[1]);
    pthread_join(thread->handle, nullptr);
    close(thread->stop_pipe[0]);
    delete thread;
  }
  idle_threads.clear();
}

void write_file(const std::string& path, const std::string& text, std::string_view step) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  require(fd >= 0, step);
  require(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), step);
  close(fd);
}

void exec_with(const std::string& path, Steps rest, std::string_view step) {
  std::vector<char*> arguments;
  std::string base = path.substr(path.rfind('/') + 1);
  arguments.push_back(base.data());
  for (const std::string& argument : rest) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  fail(step);
}

int signal_of(const std::string& text, std::string_view step) {
  for (int number = 1; number < NSIG; ++number) {
    const char* name = sigabbrev_np(number);
    if (name != nullptr && (text == name || text == std::string("SIG") + name)) return number;
  }
  return static_cast<int>(count_of(text, step));
}

// Index of the `end` that closes the fork before `from`, or the number of steps.
size_t matching_end(Steps steps, size_t from) {
  int depth = 1;
  size_t at = from;
  for (; at < steps.size(); ++at) {
    if (steps[at].starts_with("fork=")) ++depth;
    if (steps[at] == "end" && --depth == 0) break;
  }
  return at;
}

[[noreturn]] void run_steps(Steps steps);

struct ThreadTask {
  std::string exec_path;  // empty: run the steps here
  Steps rest;
};

void* thread_task(void* argument) {
  auto* task = static_cast<ThreadTask*>(argument);
  if (!task->exec_path.empty()) exec_with(task->exec_path, task->rest, "exec-thread");
  run_steps(task->rest);
}

void start_task_thread(ThreadTask* task, std::string_view step) {
  pthread_t thread{};
  errno = pthread_create(&thread, nullptr, thread_task, task);
  require(errno == 0, step);
}

// Forks the children of the fork at `steps[at]`; returns the index of the first step after its `end`.
size_t fork_children(Steps steps, size_t at, long count) {
  const size_t end = matching_end(steps, at + 1);
  fflush(stdout);
  for (; count > 0; --count) {
    const pid_t child = fork();
    require(child >= 0, steps[at]);
    if (child != 0) continue;
    alarm(kLongestLifeSeconds);
    run_steps(steps.subspan(at + 1, end - at - 1));
  }
  return end + 1;
}

void read_line() {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
  }
}

// Steps that touch memory; false: not one of them.
bool run_memory_step(std::string_view verb, const std::string& value, std::string_view step) {
  if (verb == "grow") {
    map_and_touch(size_of(value, step), MAP_PRIVATE | MAP_ANONYMOUS, -1, step);
  } else if (verb == "shmem") {
    map_and_touch(size_of(value, step), MAP_SHARED | MAP_ANONYMOUS, -1, step);
  } else if (verb == "hugetlb") {
    map_and_touch(size_of(value, step), MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, step);
  } else if (verb == "file") {
    map_file(size_of(value, step), step);
  } else if (verb == "rate") {
    grow_in_steps(value, step);
  } else if (verb == "free") {
    require(!mappings.empty(), step);
    munmap(mappings.back().address, mappings.back().size_bytes);
    mappings.pop_back();
  } else {
    return false;
  }
  return true;
}

// Steps about names, threads and talk; false: not one of them.
bool run_plain_step(std::string_view verb, const std::string& value, std::string_view step) {
  if (verb == "sleep") {
    sleep_us(time_us_of(value, step));
  } else if (verb == "spin") {
    spin_us(time_us_of(value, step));
  } else if (verb == "pause") {
    while (true) pause();
  } else if (verb == "print") {
    puts(value.c_str());
    fflush(stdout);
  } else if (verb == "print-pid") {
    printf("%s %d\n", value.c_str(), getpid());
    fflush(stdout);
  } else if (verb == "read-line") {
    read_line();
  } else if (verb == "name") {
    prctl(PR_SET_NAME, value.c_str());
  } else if (verb == "loop-rename") {
    char before[16] = {};
    prctl(PR_GET_NAME, before);
    for (long left = count_of(value, step); left > 0; --left) {
      prctl(PR_SET_NAME, "renamed");
      prctl(PR_SET_NAME, before);
    }
  } else if (verb == "threads") {
    for (long left = count_of(value, step); left > 0; --left) start_idle_thread("", step);
  } else if (verb == "thread-name") {
    start_idle_thread(value, step);
  } else if (verb == "end-threads") {
    end_idle_threads();
  } else if (verb == "wait") {
    while (wait(nullptr) > 0 || errno == EINTR) {
    }
  } else if (verb == "oom-score-adj") {
    write_file("/proc/self/oom_score_adj", value, step);
  } else if (verb == "cgroup") {
    write_file(value + "/cgroup.procs", std::to_string(getpid()), step);
  } else {
    return false;
  }
  return true;
}

// Steps that end the process or this thread's run of it; false: not one of them.
bool run_ending_step(std::string_view verb, const std::string& value, std::string_view step, Steps rest) {
  if (verb == "exit") {
    _exit(static_cast<int>(count_of(value, step)));
  } else if (verb == "abort") {
    abort();
  } else if (verb == "segv") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  } else if (verb == "raise") {
    kill(getpid(), signal_of(value, step));
  } else if (verb == "exec") {
    exec_with(value, rest, step);
  } else if (verb == "exec-thread") {
    start_task_thread(new ThreadTask{value, rest}, step);
    while (true) pause();
  } else if (verb == "leader-exit") {
    start_task_thread(new ThreadTask{"", rest}, step);
    pthread_exit(nullptr);
  } else {
    return false;
  }
  return true;
}

[[noreturn]] void run_steps(Steps steps) {
  for (size_t at = 0; at < steps.size();) {
    const std::string& step = steps[at];
    const std::string_view verb = std::string_view(step).substr(0, step.find('='));
    const std::string value = verb.size() < step.size() ? step.substr(verb.size() + 1) : "";
    if (verb == "fork") {
      at = fork_children(steps, at, count_of(value, step));
      continue;
    }
    errno = 0;
    const bool known = run_memory_step(verb, value, step) || run_plain_step(verb, value, step) ||
                       run_ending_step(verb, value, step, steps.subspan(at + 1));
    if (!known) fail(step);
    ++at;
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  static std::vector<std::string> steps(argv + (argc > 0 ? 1 : 0), argv + argc);
  alarm(kLongestLifeSeconds);
  run_steps(steps);
}
