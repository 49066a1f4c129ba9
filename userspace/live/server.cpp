// SPDX-License-Identifier: Apache-2.0
#include "live/server.h"

#include "base/clock.h"
#include "live/engine.h"
#include "live/feed.h"
#include "live/front_door.h"
#include "live/routes.h"

namespace memlog {
namespace {

RouteOptions route_options(const LiveOptions& options, const LiveListener& listener) {
  RouteOptions routes;
  routes.database = options.database;
  routes.default_run = options.run;
  routes.recorder_pid = options.recorder_pid;
  routes.refresh_ms = options.refresh_ms;
  for (const std::string& host : options.allowed_hosts) {
    routes.guard.allowed_hosts.push_back(host_without_port(host));
  }
  routes.guard.allows_addresses = !listener.is_loopback;
  routes.guard.token = options.token;
  routes.guard.session = options.session.empty() ? random_secret() : options.session;
  return routes;
}

}  // namespace

struct LiveServer::Parts {
  Parts(const LiveOptions& options, const LiveListener& listener)
      : routes(route_options(options, listener), FrontDoorLimits().workers),
        engine([this](const httplib::Request& request, httplib::Response& response, Exchange& exchange) {
          routes.answer(request, response, exchange);
        }),
        door(listener.fd.get(), FrontDoorLimits(),
             {.answer = [this](Exchange& exchange) { engine.process(exchange); },
              .stream_begins = [this](uint64_t id, const StreamWish& wish) { feed->begin(id, wish); },
              .stream_ends = [this](uint64_t id) { feed->end(id); }}),
        feed(std::make_unique<Feed>(
            options.database, options.refresh_ms * kNsPerMs,
            [this](uint64_t id, std::string bytes) { door.send(id, std::move(bytes)); })) {}
  ~Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Routes routes;
  Engine engine;
  // The door tells the feed of streams only while it runs, the feed sends to the door until it is gone.
  FrontDoor door;
  std::unique_ptr<Feed> feed;
};

LiveServer::LiveServer(const LiveOptions& options, const LiveListener& listener)
    : parts_(std::make_unique<Parts>(options, listener)) {}

LiveServer::~LiveServer() { parts_->door.hang_up(); }

void LiveServer::run() { parts_->door.run(); }

void LiveServer::stop() const { parts_->door.stop(); }

}  // namespace memlog
