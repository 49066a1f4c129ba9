// SPDX-License-Identifier: Apache-2.0
// What a user without the privileges is told, and that the two capabilities of the hint are enough.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/listener.h"

namespace memlog {
namespace {

constexpr uid_t kNobody = 65534;
constexpr __u32 kPerfmonAndBpf = (1U << (38 - 32)) | (1U << (39 - 32));  // in the second word of a set

// Runs `prepare` and then opens the events in a child process; the text is "ok" or the error.
std::string open_in_child(bool (*prepare)()) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const OwnedFd output(ends[0]);
  OwnedFd input(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    std::string text = "not prepared";
    if (prepare()) {
      const auto opened = open_bpf_events(EventFilter{});
      text = opened.ok() ? "ok" : opened.error().reason + "\n" + opened.error().hint;
    }
    _exit(write(input.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  input.reset();
  std::string text;
  char part[512];
  for (ssize_t size = 0; (size = read(output.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(size));
  waitpid(child, nullptr, 0);
  return text;
}

bool become_nobody() { return setresuid(kNobody, kNobody, kNobody) == 0; }

bool become_nobody_with_two_capabilities() {
  if (prctl(PR_SET_KEEPCAPS, 1) != 0 || !become_nobody()) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  sets[1].effective = kPerfmonAndBpf;
  sets[1].permitted = kPerfmonAndBpf;
  return syscall(SYS_capset, &header, sets) == 0;
}

bool enter_user_namespace() { return unshare(CLONE_NEWUSER) == 0; }

#define MEMLOG_ROOT_OR_SKIP() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else"

TEST(BpfRefusal, TellsAPlainUserWhichCapabilitiesAreMissing) {
  MEMLOG_ROOT_OR_SKIP();
  const std::string said = open_in_child(become_nobody);
  EXPECT_NE(said.find("CAP_BPF and CAP_PERFMON"), std::string::npos) << said;
  EXPECT_NE(said.find("sudo setcap cap_bpf,cap_perfmon+ep"), std::string::npos) << said;
}

TEST(BpfRefusal, DoesNotHappenWithTheTwoCapabilitiesAlone) {
  MEMLOG_ROOT_OR_SKIP();
  Listener listener(EventFilter{});
  MEMLOG_LISTENER_OR_SKIP(listener);
  EXPECT_EQ(open_in_child(become_nobody_with_two_capabilities), "ok");
}

TEST(BpfRefusal, InsideAUserNamespaceIsNotBlamedOnCapabilities) {
  const std::string said = open_in_child(enter_user_namespace);
  if (said == "not prepared") GTEST_SKIP() << "no user namespace can be made here";
  EXPECT_EQ(said.find("setcap"), std::string::npos) << said;
  EXPECT_NE(said.find("user namespace"), std::string::npos) << said;
}

TEST(BpfRefusal, ShowsTheEndOfTheVerifiersLog) {
  std::string log = "the first line\n";
  for (int i = 0; i < 1000; i++) log += "line " + std::to_string(i) + "\n";
  const Error error =
      bpf_error("loading", -EACCES, "libbpf's own words", log + "R3 pointer arithmetic prohibited\n");
  EXPECT_NE(error.reason.find("R3 pointer arithmetic prohibited"), std::string::npos);
  EXPECT_EQ(error.reason.find("the first line"), std::string::npos);
  EXPECT_LT(error.reason.size(), 800U);
}

}  // namespace
}  // namespace memlog
