// SPDX-License-Identifier: Apache-2.0
// The dashboard's server over real sockets, beside a literal run.
#include "live/server.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "live/gzip.h"
#include "support/http_client.h"
#include "support/literal_story.h"

namespace memlog::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LiveServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.database = directory_ / "memlog.db";
    run_id_ = record_story(options_.database);
    options_.port = 0;
    options_.refresh_ms = 50;
  }
  void TearDown() override { stop(); }
  void start() {
    Result<LiveListener> listener = listen_live(options_);
    ASSERT_TRUE(listener) << listener.error().reason;
    listener_ = *std::move(listener);
    server_ = std::make_unique<LiveServer>(options_, listener_);
    thread_ = std::thread([this] { server_->run(); });
  }
  void stop() {
    if (server_ == nullptr) return;
    server_->stop();
    thread_.join();
    server_.reset();
  }
  HttpAnswer get(const std::string& target, const std::string& more_headers = "") const {
    return http_get(listener_.port, target, more_headers);
  }
  json get_json(const std::string& target) const {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static bool store(RunWriter& writer, const std::vector<Record>& records) {
    return writer.write(records).ok();
  }
  // How many connections of this process wait to be closed by it.
  static int count_sockets(const std::string& state, int port) {
    std::ifstream table("/proc/net/tcp");
    char local[16];
    snprintf(local, sizeof local, ":%04X", static_cast<unsigned>(port));
    int count = 0;
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::string number;
      std::string here;
      std::string there;
      std::string found;
      fields >> number >> here >> there >> found;
      if (here.ends_with(local) && found == state) ++count;
    }
    return count;
  }

  TemporaryDirectory directory_;
  LiveOptions options_;
  int64_t run_id_ = 0;
  LiveListener listener_;
  std::unique_ptr<LiveServer> server_;
  std::thread thread_;
};

TEST_F(LiveServerTest, ThePageHasItsFactsInItAndOnlyRelativeAddresses) {
  start();
  const HttpAnswer page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, StartsWith("<!doctype html>"));
  EXPECT_THAT(page.body, HasSubstr("\"oom_killed\""));
  const std::regex address("(?:src|href|action|data-plotly)=\"([^\"]*)\"");
  int count = 0;
  for (std::sregex_iterator found(page.body.begin(), page.body.end(), address), end; found != end;
       ++found, ++count)
    EXPECT_FALSE((*found)[1].str().starts_with("/") || (*found)[1].str().starts_with("http")) << (*found)[1];
  EXPECT_GE(count, 3);
}

TEST_F(LiveServerTest, ScriptsAreNamedByTheirContentAndKeptForever) {
  start();
  const HttpAnswer page = get("/");
  std::smatch name;
  ASSERT_TRUE(std::regex_search(page.body, name, std::regex("src=\"(assets/live-[0-9a-f]{16}\\.js)\"")));
  const std::string target = "/" + name[1].str();
  const HttpAnswer script = get(target, "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(script.headers.at("Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(script.headers.at("Content-Encoding"), "gzip");
  EXPECT_EQ(gunzip(script.body, 1 << 20), get(target).body);
  EXPECT_THAT(get(target).body, Not(HasSubstr("fetch(\"/")));
  EXPECT_EQ(get(target, "If-None-Match: " + script.headers.at("ETag") + "\r\n").status, 304);
  EXPECT_EQ(get("/assets/live-0.js").status, 404);
}

TEST_F(LiveServerTest, HostNamesThatAreNotTheLoopbackAreMisdirected) {
  start();
  for (const char* target :
       {"/", "/api/v1/runs", "/api/v1/runs/1/stream", "/api/meta", "/assets/x.js", "/nothing"})
    EXPECT_EQ(http_get(listener_.port, target, "", "evil.example").status, 421) << target;
  EXPECT_EQ(http_get(listener_.port, "/", "", "localhost:9999").status, 200);
  EXPECT_EQ(get("/", "Origin: http://evil.example\r\n").status, 403);
}

TEST_F(LiveServerTest, EveryAnswerSaysWhatABrowserMayDoWithIt) {
  start();
  for (const char* target : {"/", "/api/v1/runs", "/nothing"}) {
    const HttpAnswer answer = get(target);
    EXPECT_THAT(answer.headers.at("Content-Security-Policy"),
                HasSubstr("default-src 'none'; script-src 'self'"))
        << target;
    EXPECT_THAT(answer.headers.at("Content-Security-Policy"), Not(HasSubstr("unsafe-eval")));
    EXPECT_EQ(answer.headers.at("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.headers.at("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(answer.headers.at("Cache-Control"), "no-store");
  }
}

TEST_F(LiveServerTest, TheRunIsToldByIdLabelAndLast) {
  start();
  EXPECT_EQ(get_json("/api/v1/runs")["runs"][0]["id"], run_id_);
  for (const char* name : {"1", "nightly", "last"}) {
    const json run = get_json(std::string("/api/v1/runs/") + name);
    EXPECT_EQ(run["run"]["label"], "nightly");
    EXPECT_EQ(run["run"]["state"], "ended");
    EXPECT_EQ(run["processes"].size(), 5U);
    EXPECT_TRUE(run.contains("verdict"));
  }
  EXPECT_EQ(get("/api/v1/runs/77").status, 404);
  EXPECT_EQ(get("/api/v1/runs/no%20such%20label").status, 404);
}

TEST_F(LiveServerTest, ATimelineIsColumnsForAWindowInThePointsAskedFor) {
  start();
  const json whole = get_json("/api/v1/runs/1/timeline?points=2000");
  EXPECT_EQ(whole["processes"].size(), 5U);
  const std::string from = std::to_string(kStart / kNsPerMs + 2000);
  const json part =
      get_json("/api/v1/runs/1/timeline?since_ms=" + from + "&until_ms=" + from + ".5&metrics=rss_bytes");
  EXPECT_EQ(part["sample_count"], 1);
  EXPECT_EQ(part["processes"][0]["series"].size(), 1U);
  for (const char* query : {"points=0", "points=1e9", "since_ms=x", "since_ms=nan", "until_ms=-1",
                            "metrics=no_such", "processes=99999"})
    EXPECT_EQ(get(std::string("/api/v1/runs/1/timeline?") + query).status, 400) << query;
}

TEST_F(LiveServerTest, EventsAreInOrderWithTheKillAmongThem) {
  start();
  const json events = get_json("/api/v1/runs/1/events")["events"];
  std::vector<double> times;
  bool has_kill = false;
  for (const json& event : events) {
    times.push_back(event["ms"]);
    has_kill = has_kill || event["kind"] == "oom_kill";
  }
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_TRUE(has_kill);
}

TEST_F(LiveServerTest, TheOldAddressesAnswerInTheOldColumns) {
  start();
  EXPECT_EQ(get_json("/api/meta")["process_name"], "train.py");
  const json samples = get_json("/api/samples")["samples"];
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0]["timestamp_utc"], "2026-06-05T12:34:56+00:00");
  EXPECT_EQ(samples[0]["rss_mib"], 100.0);
  EXPECT_EQ(get_json("/api/samples?since=2026-06-05T12:34:56+00:00")["samples"].size(), 2U);
  EXPECT_EQ(get_json("/api/samples?since=2026-06-05T12:34:57%2B00:00")["samples"].size(), 1U);
  EXPECT_EQ(get("/api/samples?since=yesterday").status, 400);
}

TEST_F(LiveServerTest, DownloadsAreWholeFiles) {
  start();
  const HttpAnswer png = get("/api/v1/runs/1/picture.png?theme=dark");
  EXPECT_THAT(png.body, StartsWith("\x89PNG"));
  EXPECT_THAT(png.headers.at("Content-Disposition"), HasSubstr("memlog-run-1.png"));
  EXPECT_THAT(get("/api/v1/runs/1/report.html").body, StartsWith("<!doctype html>"));
  HttpClient client(listener_.port);
  const HttpAnswer head = client.get("/api/v1/runs/1/samples.csv");
  EXPECT_EQ(head.status, 200);
  std::string body = client.rest();
  while (body.find("0\r\n\r\n") == std::string::npos) {
    const std::string piece = client.receive();
    ASSERT_FALSE(piece.empty());
    body += piece;
  }
  EXPECT_THAT(body, HasSubstr("2026-06-05T12:34:56+00:00,1001,train.py,104857600,100.0,0,0.0,600\r\n"));
}

TEST_F(LiveServerTest, AStreamTellsWhatIsNewAndGoesOnFromAnId) {
  Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(options_.database, literal_run("live"));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(store(**writer, {literal_process(1), literal_sample(1, 0, kMib)}));
  start();
  const std::string cursor = get_json("/api/v1/runs/live")["cursor"];
  HttpClient client(listener_.port);
  const HttpAnswer head = client.get("/api/v1/runs/live/stream?since=" + cursor);
  EXPECT_EQ(head.headers.at("Content-Type"), "text/event-stream");
  std::string heard = client.rest();
  ASSERT_TRUE(store(**writer, {literal_sample(1, 1, 7 * kMib)}));
  while (heard.find(",7340032,") == std::string::npos) {
    const std::string piece = client.receive();
    ASSERT_FALSE(piece.empty()) << heard;
    heard += piece;
  }
  client.close();
  ASSERT_TRUE(store(**writer, {literal_sample(1, 2, 9 * kMib)}));
  HttpClient again(listener_.port);
  const size_t id = heard.rfind("id: ") + 4;
  again.get("/api/v1/runs/live/stream",
            "Last-Event-ID: " + heard.substr(id, heard.find('\n', id) - id) + "\r\n");
  std::string missed = again.rest();
  while (missed.find(",9437184,") == std::string::npos) {
    const std::string piece = again.receive();
    ASSERT_FALSE(piece.empty()) << missed;
    missed += piece;
  }
}

TEST_F(LiveServerTest, NoRequestLeavesATransactionBehind) {
  Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(options_.database, literal_run("live"));
  ASSERT_TRUE(writer && store(**writer, {literal_process(1)}));
  start();
  HttpClient stream(listener_.port);
  stream.get("/api/v1/runs/last/stream");
  for (const char* rest : {"", "/timeline", "/events", "/report.html", "/samples.csv"})
    EXPECT_EQ(get(std::string("/api/v1/runs/last") + rest).status, 200) << rest;
  // A reader that held its snapshot would keep the log from being emptied.
  Result<Database> database = Database::open(options_.database, Database::Mode::write);
  ASSERT_TRUE(database);
  EXPECT_EQ(rows_of(*database, "PRAGMA wal_checkpoint(TRUNCATE)").at(0).substr(0, 2), "0|");
}

TEST_F(LiveServerTest, NothingIsWrittenWhateverIsAsked) {
  start();
  const std::string before = file_bytes(options_.database);
  for (const char* target :
       {"/api/v1/runs/1'%20OR%201=1", "/api/v1/runs/1;DELETE%20FROM%20run", "/../../etc/passwd",
        "/assets/../live.js", "/api/v1/runs/1/timeline?only=';DROP%20TABLE%20run;--"})
    EXPECT_GE(get(target).status, 400) << target;
  EXPECT_EQ(HttpClient(listener_.port).send("DELETE /api/v1/runs/1 HTTP/1.1\r\nHost: localhost\r\n\r\n") > 0,
            true);
  EXPECT_EQ(file_bytes(options_.database), before);
}

TEST_F(LiveServerTest, ManyRequestsGoOverOneConnectionAlsoAllAtOnce) {
  start();
  HttpClient client(listener_.port);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get("/api/v1/runs").status, 200);
  std::string all;
  for (int i = 0; i < 20; ++i) all += "GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.read_answer().status, 200) << i;
  client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.is_closed_within(5000));
}

TEST_F(LiveServerTest, ClientsThatDieOrStopReadingLeaveNothingBehind) {
  Result<std::unique_ptr<RunWriter>> writer = RunWriter::begin(options_.database, literal_run("live"));
  ASSERT_TRUE(writer && store(**writer, {literal_process(1)}));
  start();
  {
    std::vector<std::unique_ptr<HttpClient>> dying;
    for (int i = 0; i < 6; ++i) {
      dying.push_back(std::make_unique<HttpClient>(listener_.port));
      EXPECT_EQ(dying.back()->get("/api/v1/runs/live/stream").status, 200);
    }
    ASSERT_TRUE(store(**writer, {literal_sample(1, 1, kMib)}));
  }
  HttpClient deaf(listener_.port, 4096);
  for (int i = 0; i < 200; ++i) deaf.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const int64_t begin_ns = boot_now_ns();
  EXPECT_EQ(get("/api/v1/runs").status, 200);
  EXPECT_LT(boot_now_ns() - begin_ns, 5 * kNsPerSecond);
  for (int tries = 0; tries < 100 && count_sockets("08", listener_.port) > 0; ++tries) usleep(50'000);
  EXPECT_EQ(count_sockets("08", listener_.port), 0);  // CLOSE-WAIT
}

TEST_F(LiveServerTest, AHeadThatNeverEndsIsRefusedAtItsBound) {
  start();
  HttpClient client(listener_.port);
  const std::string megabyte(size_t{1} << 20U, 'a');
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
  size_t taken = 0;
  for (int i = 0; i < 256; ++i) {
    const size_t sent = client.send(megabyte);
    taken += sent;
    if (sent < megabyte.size()) break;
  }
  EXPECT_LT(taken, size_t{16} << 20U);  // what fits in the sockets' buffers
  EXPECT_EQ(get("/api/v1/runs").status, 200);
}

TEST_F(LiveServerTest, SlowConnectionsBeyondTheTableMakeRoomForOthers) {
  start();
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 400; ++i) {
    slow.push_back(std::make_unique<HttpClient>(listener_.port));
    slow.back()->send("GET / HTTP/1.1\r\nHost: lo");
  }
  const int64_t begin_ns = boot_now_ns();
  EXPECT_EQ(get("/api/v1/runs").status, 200);
  EXPECT_LT(boot_now_ns() - begin_ns, 5 * kNsPerSecond);
  EXPECT_TRUE(slow.front()->is_closed_within(5000));  // the one that idled longest
}

TEST_F(LiveServerTest, OnlyThisMachineCanConnectUnlessATokenIsAsked) {
  options_.host = "0.0.0.0";
  const Result<LiveListener> refused = listen_live(options_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().reason, HasSubstr("token"));
  options_.token = "0123456789abcdef0123";
  options_.session = "session0123456789";
  start();
  EXPECT_EQ(get("/api/v1/runs").status, 401);
  EXPECT_EQ(get("/?token=0123456789abcdef012X").status, 401);
  const HttpAnswer first = get("/?token=0123456789abcdef0123");
  EXPECT_EQ(first.status, 303);
  EXPECT_EQ(first.headers.at("Location"), "./");
  EXPECT_EQ(first.headers.at("Set-Cookie"), "memlog_live=session0123456789; HttpOnly; SameSite=Strict");
  EXPECT_EQ(get("/api/v1/runs", "Cookie: memlog_live=session0123456789\r\n").status, 200);
}

TEST_F(LiveServerTest, APortThatIsTakenIsOneLineWithAdvice) {
  start();
  options_.port = listener_.port;
  const Result<LiveListener> second = listen_live(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().doing, "serving on 127.0.0.1:" + std::to_string(listener_.port));
  EXPECT_EQ(second.error().reason,
            "the address is in use (choose another with --live-port N, or 0 for any that is free)");
}

TEST_F(LiveServerTest, AUnixSocketIsItsOwnersAndADeadOneIsReplaced) {
  options_.socket = directory_ / "live.sock";
  start();
  struct stat status{};
  ASSERT_EQ(stat(options_.socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_FALSE(listen_live(options_));  // somebody listens
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  options_.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const OwnedFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string question = "GET /api/v1/runs HTTP/1.1\r\nHost: localhost:8765\r\n\r\n";
  ASSERT_EQ(write(client.get(), question.data(), question.size()), static_cast<ssize_t>(question.size()));
  char bytes[16] = "";
  ASSERT_GT(read(client.get(), bytes, 12), 0);
  EXPECT_STREQ(bytes, "HTTP/1.1 200");
  stop();
  listener_.fd.reset();  // a server that died leaves the file
  EXPECT_TRUE(listen_live(options_));
}

TEST_F(LiveServerTest, ADatabaseThatComesLaterIsFound) {
  options_.database = directory_ / "later.db";
  start();
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(get("/api/v1/runs/last").status, 503);
  record_story(options_.database);
  EXPECT_EQ(get("/api/v1/runs/last").status, 200);
}

}  // namespace
}  // namespace memlog::testing
