// SPDX-License-Identifier: Apache-2.0
// Engine: one request's bytes in, one answer's bytes out. The only user of cpp-httplib's server.
//
// The library parses the request, calls the handler and writes the answer; sockets, waiting and limits are
// FrontDoor's, for the library has no bounds on time and header lines and pins a thread to each connection.
// Requests have no body and a whole head (request_head.h). process() may be called by many threads at once.
#pragma once

#include <httplib.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace memlog {

// What a client of the event stream wants to hear.
struct StreamWish {
  int64_t run_id = 0;
  std::string since;  // a cursor's text (facts.h), or empty: from now on
  bool gzip = false;
};

struct Exchange {
  std::string head;
  bool accepts_gzip = false;
  size_t worker = 0;                            // index of the thread that answers
  std::function<bool(std::string_view)> write;  // may block while the client is slow; false: it is gone
  std::optional<StreamWish> stream;             // set by the handler: the connection becomes a stream
  bool closes = false;                          // set by process(): no further request on this connection
};

class Engine : private httplib::Server {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&, Exchange&)>;

  explicit Engine(Handler handler);
  void process(Exchange& exchange);

 private:
  template <typename Self>
  static bool process_with(Self& self, httplib::Stream& stream, bool& is_closed);

  Handler handler_;
};

// A whole small answer that needs no parser: "HTTP/1.1 503 ..." with the connection closed after it.
std::string plain_answer(int status, std::string_view text);

}  // namespace memlog
