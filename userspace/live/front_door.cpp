// SPDX-License-Identifier: Apache-2.0
#include "live/front_door.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "live/front_door_parts.h"
#include "live/request_head.h"

namespace memlog {
namespace {

constexpr uint64_t kListener = 0;  // ids of what is no connection
constexpr uint64_t kWake = UINT64_MAX;
constexpr uint64_t kStop = UINT64_MAX - 1;
constexpr int kAcceptedAtOnce = 64;
constexpr int64_t kExpiryStepNs = 500 * kNsPerMs;
constexpr int kGoneSeconds = 30;

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);  // fails on Unix sockets, which need none of it
}

void tune(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kGoneSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kGoneSeconds / 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneSeconds * 1000);
}

}  // namespace

FrontDoor::FrontDoor(int listener, const FrontDoorLimits& limits, Callbacks callbacks)
    : listener_(listener),
      limits_(limits),
      callbacks_(std::move(callbacks)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const auto& [fd, id] : {std::pair{listener_, kListener}, {wake_.get(), kWake}, {stop_.get(), kStop}}) {
    epoll_event event{EPOLLIN, {.u64 = id}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  for (size_t worker = 0; worker < limits_.workers; ++worker)
    workers_.emplace_back([this, worker] { work(worker); });
}

FrontDoor::~FrontDoor() { hang_up(); }

void FrontDoor::hang_up() {
  while (!connections_.empty()) close_connection(connections_.begin()->first);
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    jobs_.clear();
  }
  has_job_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void FrontDoor::run() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int timeout_ms = connections_.empty() ? -1 : static_cast<int>(kExpiryStepNs / kNsPerMs);
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int at = 0; at < count; ++at) {
      const uint64_t id = events[static_cast<size_t>(at)].data.u64;
      if (id == kStop) return;
      if (id == kListener) {
        accept_some();
      } else if (id == kWake) {
        uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t got = read(wake_.get(), &ignored, sizeof ignored);
      } else if (const auto found = connections_.find(id); found != connections_.end()) {
        handle(*found->second, events[static_cast<size_t>(at)].events);
      }
    }
    deliver_ready();
    const int64_t now_ns = boot_now_ns();
    if (now_ns - expired_ns_ >= kExpiryStepNs) expire(now_ns);
  }
}

void FrontDoor::stop() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
}

void FrontDoor::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

// ---- connections ----

void FrontDoor::accept_some() {
  for (int count = 0; count < kAcceptedAtOnce; ++count) {
    OwnedFd fd(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_full && make_room()) continue;
      return;
    }
    if (connections_.size() >= limits_.connections && !make_room()) continue;  // all busy: closed at once
    tune(fd.get());
    auto connection = std::make_unique<Connection>();
    connection->id = next_id_++;
    connection->fd = std::move(fd);
    connection->since_ns = boot_now_ns();
    epoll_event event{EPOLLIN | EPOLLRDHUP, {.u64 = connection->id}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection->fd.get(), &event) != 0) continue;
    connection->watched = event.events;
    connections_.emplace(connection->id, std::move(connection));
  }
}

// Closes the connection that has waited longest for its client's next word.
bool FrontDoor::make_room() {
  const Connection* oldest = nullptr;
  for (const auto& [id, connection] : connections_) {
    if (connection->state != State::reading) continue;
    if (oldest == nullptr || connection->since_ns < oldest->since_ns) oldest = connection.get();
  }
  if (oldest == nullptr) return false;
  close_connection(oldest->id);
  return true;
}

void FrontDoor::close_connection(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  if (connection.outbox != nullptr) {
    const std::lock_guard lock(connection.outbox->mutex);
    connection.outbox->is_dead = true;
    connection.outbox->room.notify_all();
  }
  const bool was_stream = connection.state == State::streaming;
  connections_.erase(found);
  if (!was_stream) return;
  --stream_count_;
  callbacks_.stream_ends(id);
}

void FrontDoor::watch(Connection& connection, uint32_t events) const {
  if (connection.watched == events) return;
  connection.watched = events;
  epoll_event event{events, {.u64 = connection.id}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event);
}

void FrontDoor::handle(Connection& connection, uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return close_connection(connection.id);
  if ((events & EPOLLOUT) != 0) return flush(connection);
  if (connection.state == State::streaming) {
    // Nothing is expected but the end.
    if ((events & EPOLLRDHUP) != 0) return close_connection(connection.id);
    std::array<char, 4096> ignored{};
    if (recv(connection.fd.get(), ignored.data(), ignored.size(), 0) <= 0) close_connection(connection.id);
    return;
  }
  if (connection.state == State::reading) read_from(connection);
}

void FrontDoor::read_from(Connection& connection) {
  std::array<char, 8192> piece{};
  const ssize_t got = recv(connection.fd.get(), piece.data(), piece.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close_connection(connection.id);
  if (connection.in.empty()) connection.head_since_ns = boot_now_ns();
  connection.in.append(piece.data(), static_cast<size_t>(got));
  take_request(connection);
}

// Hands the first request of what was read to a worker, when its head is whole.
void FrontDoor::take_request(Connection& connection) {
  const size_t length = head_length(connection.in);
  if (length == 0 && connection.in.size() <= kMostHeadBytes) return watch(connection, EPOLLIN | EPOLLRDHUP);
  if (length == 0) return refuse(connection, 431, "the request is too large\n");
  const RequestHead head = read_request_head(std::string_view(connection.in).substr(0, length));
  connection.in.erase(0, length);
  connection.has_asked = true;
  if (head.refused_status != 0) return refuse(connection, head.refused_status, "this is not answered\n");
  Job job;
  job.connection = connection.id;
  job.outbox = connection.outbox = std::make_shared<Outbox>();
  job.exchange.head = head.bytes;
  job.exchange.accepts_gzip = head.accepts_gzip;
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() < limits_.queued) {
      jobs_.push_back(std::move(job));
      connection.state = State::answering;
    }
  }
  if (connection.state != State::answering) return refuse(connection, 503, "too many requests\n");
  has_job_.notify_one();
  connection.since_ns = boot_now_ns();
  watch(connection, 0);
}

void FrontDoor::refuse(Connection& connection, int status, std::string_view text) {
  connection.outbox = std::make_shared<Outbox>();
  connection.outbox->bytes = plain_answer(status, text);
  connection.outbox->is_finished = connection.outbox->closes = true;
  connection.state = State::answering;
  flush(connection);
}

// ---- answers ----

void FrontDoor::deliver_ready() {
  std::vector<uint64_t> ready;
  std::vector<Post> posts;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(ready_);
    posts.swap(posts_);
  }
  for (const uint64_t id : ready) {
    if (const auto found = connections_.find(id); found != connections_.end()) flush(*found->second);
  }
  for (Post& post : posts) {
    const auto found = connections_.find(post.connection);
    if (found == connections_.end() || found->second->state != State::streaming) continue;
    Connection& connection = *found->second;
    if (post.is_end || connection.out.size() + post.bytes.size() > limits_.stream_backlog_bytes) {
      close_connection(post.connection);
      continue;
    }
    if (connection.out.empty()) connection.since_ns = boot_now_ns();
    connection.out += post.bytes;
    flush(connection);
  }
}

// Takes over what a worker has written; true: there is something to send.
bool FrontDoor::fetch(Connection& connection, bool& is_finished) {
  const std::lock_guard lock(connection.outbox->mutex);
  is_finished = connection.outbox->is_finished;
  if (connection.outbox->bytes.empty()) return false;
  connection.out.swap(connection.outbox->bytes);
  connection.since_ns = boot_now_ns();
  connection.outbox->room.notify_all();
  return true;
}

void FrontDoor::flush(Connection& connection) {
  while (true) {
    while (connection.sent < connection.out.size()) {
      const ssize_t sent =
          send_to(connection.fd.get(), std::string_view(connection.out).substr(connection.sent));
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) return close_connection(connection.id);
      if (sent < 0)
        return watch(connection, EPOLLOUT | (connection.state == State::streaming ? EPOLLRDHUP : 0U));
      connection.sent += static_cast<size_t>(sent);
      connection.since_ns = boot_now_ns();
    }
    connection.out.clear();
    connection.sent = 0;
    if (connection.out.capacity() > limits_.stream_backlog_bytes) connection.out.shrink_to_fit();
    if (connection.state == State::streaming) return watch(connection, EPOLLIN | EPOLLRDHUP);
    if (connection.outbox == nullptr) return;
    bool is_finished = false;
    if (fetch(connection, is_finished)) continue;
    if (is_finished) return after_answer(connection);
    return watch(connection, 0);
  }
}

void FrontDoor::after_answer(Connection& connection) {
  const std::shared_ptr<Outbox> outbox = std::move(connection.outbox);
  connection.outbox = nullptr;
  if (outbox->stream) {
    connection.state = State::streaming;
    ++stream_count_;
    watch(connection, EPOLLIN | EPOLLRDHUP);
    if (stream_count_ > limits_.streams) return close_connection(connection.id);
    return callbacks_.stream_begins(connection.id, *outbox->stream);
  }
  if (outbox->closes) {
    shutdown(connection.fd.get(), SHUT_WR);
    return close_connection(connection.id);
  }
  connection.state = State::reading;
  connection.since_ns = connection.head_since_ns = boot_now_ns();
  take_request(connection);  // a client may have sent the next one already
}

void FrontDoor::expire(int64_t now_ns) {
  expired_ns_ = now_ns;
  std::vector<uint64_t> gone;
  for (const auto& [id, connection] : connections_) {
    const int64_t waited_ns = now_ns - connection->since_ns;
    const bool is_stalled = !connection->out.empty() && waited_ns > limits_.stall_ns;
    const bool is_idle = connection->state == State::reading && waited_ns > limits_.idle_ns;
    const bool is_slow = connection->state == State::reading && !connection->in.empty() &&
                         now_ns - connection->head_since_ns > limits_.head_ns;
    const bool is_silent =
        connection->state == State::reading && !connection->has_asked && waited_ns > limits_.head_ns;
    if (is_stalled || is_idle || is_slow || is_silent) gone.push_back(id);
  }
  for (const uint64_t id : gone) close_connection(id);
}

void FrontDoor::send(uint64_t connection, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    posts_.push_back({connection, std::move(bytes), false});
  }
  wake();
}

void FrontDoor::end(uint64_t connection) {
  {
    const std::lock_guard lock(mutex_);
    posts_.push_back({connection, "", true});
  }
  wake();
}

}  // namespace memlog
