// SPDX-License-Identifier: Apache-2.0
#include "live/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace memlog {
namespace {

constexpr size_t kRequestsAConnection = 1000;
constexpr time_t kKeepAliveSeconds = 60;

// The request's bytes as a stream; what is written goes to the exchange. Newer versions of the library ask a
// stream a few more questions, which older ones do not know.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(Exchange& exchange) : exchange_(exchange), rest_(exchange.head) {}

  bool is_readable() const override { return !rest_.empty(); }
  bool wait_readable() const { return true; }     // NOLINT(modernize-use-override)
  bool wait_writable() const { return true; }     // NOLINT(modernize-use-override)
  bool is_writable() const { return !is_gone_; }  // NOLINT(modernize-use-override)
  time_t duration() const { return 0; }           // NOLINT(modernize-use-override)

  ssize_t read(char* bytes, size_t size) override {
    const size_t count = std::min(size, rest_.size());
    std::memcpy(bytes, rest_.data(), count);
    rest_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    is_gone_ = is_gone_ || !exchange_.write({bytes, size});
    return is_gone_ ? -1 : static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  Exchange& exchange_;
  std::string_view rest_;
  bool is_gone_ = false;
};

thread_local Exchange* current_exchange = nullptr;

}  // namespace

Engine::Engine(Handler handler) : handler_(std::move(handler)) {
  svr_sock_ = 0;  // any descriptor: without one the library believes that it is being stopped
  set_keep_alive_max_count(kRequestsAConnection);
  set_keep_alive_timeout(kKeepAliveSeconds);
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    handler_(request, response, *current_exchange);
    return HandlerResponse::Handled;
  });
  set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
    response.status = 500;
    response.set_content("something went wrong\n", "text/plain");
  });
}

// The library's function has grown parameters over its versions.
template <typename Self>
bool Engine::process_with(Self& self, httplib::Stream& stream, bool& is_closed) {
  if constexpr (requires { self.process_request(stream, false, is_closed, nullptr); }) {
    return self.process_request(stream, false, is_closed, nullptr);
  } else {
    return self.process_request(stream, "", 0, "", 0, false, is_closed, nullptr);
  }
}

void Engine::process(Exchange& exchange) {
  MemoryStream stream(exchange);
  bool is_closed = false;
  current_exchange = &exchange;
  const bool is_answered = process_with(*this, stream, is_closed);
  current_exchange = nullptr;
  exchange.closes = is_closed || !is_answered;
}

std::string plain_answer(int status, std::string_view text) {
  const char* reason = "Error";
  for (const auto& [code, words] : {std::pair{400, "Bad Request"},
                                    {405, "Method Not Allowed"},
                                    {408, "Request Timeout"},
                                    {413, "Payload Too Large"},
                                    {414, "URI Too Long"},
                                    {431, "Request Header Fields Too Large"},
                                    {500, "Internal Server Error"},
                                    {503, "Service Unavailable"},
                                    {505, "HTTP Version Not Supported"}}) {
    if (code == status) reason = words;
  }
  return fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: text/plain\r\nX-Content-Type-Options: nosniff\r\n"
      "{}Content-Length: {}\r\n\r\n{}",
      status, reason,
      status == 405   ? "Allow: GET, HEAD\r\n"
      : status == 503 ? "Retry-After: 1\r\n"
                      : "",
      text.size(), text);
}

}  // namespace memlog
