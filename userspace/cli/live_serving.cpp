// SPDX-License-Identifier: Apache-2.0
#include "cli/live_serving.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/invoking_user.h"
#include "base/small_file.h"
#include "base/talk.h"
#include "base/text.h"
#include "cli/live_keeper.h"
#include "live/guard.h"

namespace memlog {
namespace {

constexpr size_t kLeastTokenBytes = 16;
constexpr size_t kMostTokenBytes = 256;

// A token of the user's own, so that it stands in no command line; or a new one.
Result<std::string> token_from(const std::string& path) {
  if (path.empty()) {
    const std::string token = random_secret();
    if (token.empty()) return Error{"making a token", "the kernel gives no random bytes", "", 0};
    return token;
  }
  const Result<std::string> text = read_small_file(path, kMostTokenBytes + 2);
  if (!text) return text.error();
  const std::string token(trim(*text));
  const bool is_plain =
      token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") ==
      std::string::npos;
  if (token.size() < kLeastTokenBytes || token.size() > kMostTokenBytes || !is_plain)
    return Error{"reading the token in " + printable(path),
                 fmt::format("it must be {} to {} letters, digits, '-', '.', '_' or '~'", kLeastTokenBytes,
                             kMostTokenBytes),
                 "", 0};
  return token;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name[0] == '\0' ? "HOST" : name;
}

sigset_t ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  return ending;
}

}  // namespace

Result<std::unique_ptr<LiveServing>> LiveServing::start(const LiveFlags& flags, const std::string& database,
                                                        const std::string& run, pid_t recorder_pid) {
  std::unique_ptr<LiveServing> serving(new LiveServing);
  LiveOptions& options = serving->options_;
  options.database = database;
  options.run = run;
  options.recorder_pid = recorder_pid;
  options.host = flags.host;
  options.port = static_cast<int>(flags.port);
  options.socket = flags.socket;
  options.refresh_ms = flags.refresh_ms;
  options.allowed_hosts = flags.allowed_hosts;
  options.session = random_secret();
  if (flags.token_file) {
    Result<std::string> token = token_from(*flags.token_file);
    if (!token) return token.error();
    options.token = *std::move(token);
  }
  Result<LiveListener> listener = listen_live(options);
  if (!listener) return listener.error();
  serving->address_ = listener->address;
  serving->port_ = listener->port;
  serving->is_loopback_ = listener->is_loopback;
  serving->exits_ = flags.exits;
  const pid_t parent = getpid();
  serving->keeper_ = fork();
  if (serving->keeper_ < 0) return errno_error("starting the dashboard", errno);
  if (serving->keeper_ == 0) keep_serving(options, *std::move(listener), parent);
  return serving;
}

std::unique_ptr<LiveServing> LiveServing::start_beside(const RecordOptions& options,
                                                       const std::string& database) {
  if (!options.live.is_wanted) return nullptr;
  std::unique_ptr<LiveServing> serving = or_die(start(options.live, database, "last", getpid()));
  if (!options.quiet || !serving->options_.token.empty()) serving->say_where();
  return serving;
}

LiveServing::~LiveServing() {
  if (keeper_ <= 0) return;
  kill(keeper_, SIGTERM);
  int status = 0;
  while (waitpid(keeper_, &status, 0) < 0 && errno == EINTR) {
  }
  remove_socket(options_);
}

void LiveServing::say_where() const {
  const InvokingUser user = invoking_user();
  const std::string target = fmt::format("{}@{}", user.name.empty() ? "USER" : user.name, host_name());
  if (port_ == 0) {
    say("dashboard on the socket " + printable(address_));
    say(fmt::format("see it from your machine: ssh -L {}:{} {}   then http://localhost:{}/", kLivePort,
                    printable(address_), target, kLivePort));
    say(fmt::format("through a jump host:      ssh -J JUMPHOST -L {}:{} {}", kLivePort, printable(address_),
                    target));
    return;
  }
  const std::string question = options_.token.empty() ? "" : "?token=" + options_.token;
  if (!is_loopback_) {
    say(fmt::format("dashboard at http://{}:{}/{}", host_name(), port_, question));
    return;
  }
  const std::string inside =
      options_.host == "127.0.0.1" ? "localhost" : address_.substr(0, address_.rfind(':'));
  say(fmt::format("dashboard at http://localhost:{}/{} on this machine", port_, question));
  say(fmt::format("see it from yours:   ssh -L {}:{}:{} {}", port_, inside, port_, target));
  say(fmt::format("through a jump host: ssh -J JUMPHOST -L {}:{}:{} {}", port_, inside, port_, target));
}

void LiveServing::wait() const {
  const sigset_t ending = ending_signals();
  int signal = 0;
  sigwait(&ending, &signal);
}

void LiveServing::stay(const std::string& why) const {
  if (exits_ || why.starts_with("SIG")) return;
  say(fmt::format("the dashboard stays at {} until Ctrl-C", printable(address_)));
  wait();
}

}  // namespace memlog
