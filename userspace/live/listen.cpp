// SPDX-License-Identifier: Apache-2.0
// Where the dashboard listens.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/invoking_user.h"
#include "base/text.h"
#include "live/guard.h"
#include "live/server.h"

namespace memlog {
namespace {

constexpr int kBacklog = 128;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

Error in_the_way(const std::string& address, int code) {
  const bool is_taken = code == EADDRINUSE;
  return {"serving on " + address,
          fmt::format("{} (choose another with --live-port N, or 0 for any that is free)",
                      is_taken ? "the address is in use" : std::strerror(code)),
          "", code};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(four->sin_addr.s_addr) >> 24U) == 127;
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

int bound_port(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

Result<LiveListener> listen_on_port(const LiveOptions& options) {
  const bool is_six = options.host.find(':') != std::string::npos;
  const std::string host = is_six ? "[" + options.host + "]" : options.host;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  if (code != 0)
    return Error{"serving on " + printable(host), gai_strerror(code),
                 "name an address of this machine with --live-host", 0};
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  LiveListener listener;
  listener.is_loopback = is_loopback(addresses->ai_addr);
  if (!listener.is_loopback && options.token.empty())
    return Error{"serving on " + printable(host),
                 "others than this machine could connect, so a token is needed",
                 "add --live-token, or leave --live-host out and use an SSH tunnel", 0};
  const std::string address = fmt::format("{}:{}", printable(host), options.port);
  listener.fd.reset(socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd) return in_the_way(address, errno);
  const int on = 1;
  setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.fd.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.fd.get(), kBacklog) != 0)
    return in_the_way(address, errno);
  listener.port = bound_port(listener.fd.get());
  listener.address = fmt::format("{}:{}", host, listener.port);
  return listener;
}

// A socket's file that nobody listens on any more is in the way of the next server.
bool is_dead_socket(const sockaddr_un& address) {
  struct stat status{};
  if (lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const OwnedFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe && connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

Result<LiveListener> listen_on_socket(const LiveOptions& options) {
  const std::string doing = "serving on the socket " + printable(options.socket);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket.size() >= sizeof address.sun_path)
    return Error{doing, "the path is too long for a socket", "", ENAMETOOLONG};
  std::memcpy(address.sun_path, options.socket.data(), options.socket.size());
  LiveListener listener;
  listener.address = options.socket;
  listener.fd.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd) return errno_error(doing, errno);
  if (is_dead_socket(address)) unlink(address.sun_path);
  const mode_t before = umask(0177);  // only its owner may connect
  const int bound = bind(listener.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int code = errno;
  umask(before);
  if (bound != 0)
    return Error{doing,
                 code == EADDRINUSE
                     ? "there is something of this name already (choose another with --live-socket)"
                     : std::strerror(code),
                 "", code};
  if (listen(listener.fd.get(), kBacklog) != 0) return errno_error(doing, errno);
  const InvokingUser user = invoking_user();
  if (geteuid() == 0 && user.uid != 0 && lchown(address.sun_path, user.uid, user.gid) != 0)
    return errno_error("giving " + printable(options.socket) + " to " + user.name, errno);
  return listener;
}

}  // namespace

Result<LiveListener> listen_live(const LiveOptions& options) {
  return options.socket.empty() ? listen_on_port(options) : listen_on_socket(options);
}

void remove_socket(const LiveOptions& options) {
  if (!options.socket.empty()) unlink(options.socket.c_str());
}

}  // namespace memlog
