// SPDX-License-Identifier: Apache-2.0
// The process that the tests watch: does what its arguments say, in order, and nothing else. Built without
// sanitizers, so that its memory is its own. Unknown words end it with status 64.
//
//   exit N | raise N | pause | rename NAME | touch MB (and keep) | spike MB (touch and free)
//   fork N: N children that exit at once, all waited for        crowd N: N children that pause; prints
//   "ready" thread-rename NAME | thread-exec PATH ARG... | exec PATH ARG... | child PATH ARG...: fork, exec,
//   wait leader-exits N: the main thread ends first, another ends the process with status N hog: touches
//   memory until killed        thread-hog: the same from a thread whose leader has exited
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr size_t kMiB = size_t{1024} * 1024;

void* touch(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(65);
  memset(memory, 1, bytes);
  return memory;
}

[[noreturn]] void hog() {
  for (int count = 0; count < 512; count++) touch(kMiB);  // ends even where no limit stops it
  _exit(66);
}

[[noreturn]] void pause_for_ever() {
  for (;;) pause();
}

void fork_and_wait(int count) {
  for (int i = 0; i < count; i++) {
    if (fork() == 0) _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
}

void crowd(int count) {
  for (int i = 0; i < count; i++) {
    const pid_t child = fork();
    if (child < 0) _exit(67);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      pause_for_ever();
    }
  }
  if (write(STDOUT_FILENO, "ready", 5) != 5) _exit(68);
}

[[noreturn]] void exec(char** arguments) {
  execv(arguments[0], arguments);
  _exit(69);
}

void run_child(char** arguments) {
  const pid_t child = fork();
  if (child == 0) exec(arguments);
  waitpid(child, nullptr, 0);
}

bool leader_is_zombie() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") Z ") != std::string::npos;
}

// Ends the main thread; `rest` runs in another, 50 ms after the main thread is a zombie.
[[noreturn]] void leave_to_thread(void (*rest)(int), int argument) {
  std::thread([rest, argument] {
    while (!leader_is_zombie()) usleep(1000);
    usleep(50'000);
    rest(argument);
  }).detach();
  syscall(SYS_exit, 1);  // this thread alone
  __builtin_unreachable();
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; i++) {
    const std::string_view word = words[i];
    const auto number = [&] { return atoi(words[++i]); };
    if (word == "pause") pause_for_ever();
    if (word == "hog") hog();
    if (word == "thread-hog") leave_to_thread([](int) { hog(); }, 0);
    if (i + 1 >= count) return 64;
    if (word == "exit") return number();
    if (word == "raise") {
      raise(number());
    } else if (word == "rename") {
      prctl(PR_SET_NAME, words[++i]);
    } else if (word == "touch") {
      touch(static_cast<size_t>(number()) * kMiB);
    } else if (word == "spike") {
      const size_t bytes = static_cast<size_t>(number()) * kMiB;
      munmap(touch(bytes), bytes);
    } else if (word == "fork") {
      fork_and_wait(number());
    } else if (word == "crowd") {
      crowd(number());
    } else if (word == "thread-rename") {
      std::thread([name = words[++i]] { prctl(PR_SET_NAME, name); }).join();
    } else if (word == "leader-exits") {
      leave_to_thread([](int status) { _exit(status); }, number());
    } else if (word == "exec") {
      exec(words + i + 1);
    } else if (word == "thread-exec") {
      std::thread([arguments = words + i + 1] { exec(arguments); }).join();
    } else if (word == "child") {
      run_child(words + i + 1);
      return 0;
    } else {
      return 64;
    }
  }
  return 0;
}
