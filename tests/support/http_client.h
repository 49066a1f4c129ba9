// SPDX-License-Identifier: Apache-2.0
// A client of the dashboard that can also misbehave: it writes any bytes and reads when it likes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/owned_fd.h"

namespace memlog::testing {

struct HttpAnswer {
  int status = 0;  // 0: the connection ended without one
  std::map<std::string, std::string> headers;
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(int port, int receive_buffer_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0)
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool is_connected() const { return is_connected_; }
  int fd() const { return fd_.get(); }
  // The number of bytes that the server took.
  size_t send(std::string_view bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t more = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) break;
      sent += static_cast<size_t>(more);
    }
    return sent;
  }
  void close() { fd_.reset(); }

  // One more piece of what the server sends; empty: the end, or nothing came in time.
  std::string receive(int timeout_ms = 5000) {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) <= 0) return "";
    char bytes[65536];
    const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
    is_over_ = got <= 0;
    return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
  }
  bool is_over() const { return is_over_; }
  // Whether the server closes the connection within the time.
  bool is_closed_within(int timeout_ms) {
    const int64_t begin_ns = boot_now_ns();
    while (!is_over_ && (boot_now_ns() - begin_ns) / kNsPerMs < timeout_ms) receive(50);
    return is_over_;
  }

  // Reads one answer, its body by Content-Length.
  HttpAnswer read_answer(int timeout_ms = 5000) {
    HttpAnswer answer;
    size_t end = std::string::npos;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
      const std::string piece = receive(timeout_ms);
      if (piece.empty()) return answer;
      in_ += piece;
    }
    parse_head(in_.substr(0, end + 2), answer);
    in_.erase(0, end + 4);
    const auto length = answer.headers.find("Content-Length");
    const size_t size =
        length == answer.headers.end() ? 0 : std::strtoul(length->second.c_str(), nullptr, 10);
    while (in_.size() < size) {
      const std::string piece = receive(timeout_ms);
      if (piece.empty()) break;
      in_ += piece;
    }
    answer.body = in_.substr(0, size);
    in_.erase(0, size);
    return answer;
  }

  HttpAnswer get(const std::string& target, const std::string& more_headers = "",
                 const std::string& host = "localhost") {
    send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more_headers + "\r\n");
    return read_answer();
  }

  // What came after the head that was read last.
  const std::string& rest() const { return in_; }

 private:
  static void parse_head(const std::string& head, HttpAnswer& answer) {
    if (head.size() > 12) answer.status = std::atoi(head.c_str() + 9);
    for (size_t at = head.find("\r\n") + 2; at < head.size();) {
      const size_t line_end = head.find("\r\n", at);
      const size_t colon = head.find(": ", at);
      if (colon < line_end)
        answer.headers[head.substr(at, colon - at)] = head.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
  }

  OwnedFd fd_;
  bool is_connected_ = false;
  bool is_over_ = false;
  std::string in_;
};

inline HttpAnswer http_get(int port, const std::string& target, const std::string& more_headers = "",
                           const std::string& host = "localhost") {
  return HttpClient(port).get(target, more_headers, host);
}

}  // namespace memlog::testing
