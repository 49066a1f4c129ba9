// SPDX-License-Identifier: Apache-2.0
#include "live/routes.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "live/facts.h"
#include "live/gzip.h"
#include "live/question.h"
#include "query/runs.h"
#include "render/timeline_json.h"

namespace memlog {
namespace {

constexpr size_t kWorthPacking = 800;
constexpr int64_t kDefaultPoints = 400;
constexpr int64_t kDefaultProcesses = 200;
constexpr size_t kSeriesAShare = 45;  // how many full series the points of an answer may make

constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr const char* kJson = "application/json; charset=utf-8";

void set_common_headers(httplib::Response& response) {
  response.set_header("Content-Security-Policy", kContentPolicy);
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("X-Frame-Options", "DENY");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Opener-Policy", "same-origin");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
}

Visitor visitor_of(const httplib::Request& request) {
  return {request.get_header_value("Host"),
          request.get_header_value("Origin"),
          request.get_header_value("Sec-Fetch-Site"),
          request.get_header_value("Sec-Fetch-Mode"),
          request.get_header_value("Cookie"),
          request.get_header_value("Authorization"),
          request.get_param_value("token")};
}

void refuse(httplib::Response& response, int status, const char* text) {
  response.status = status;
  response.set_header("Cache-Control", "no-store");
  response.set_content(text, "text/plain; charset=utf-8");
}

}  // namespace

Routes::Routes(RouteOptions options, size_t workers) : options_(std::move(options)) {
  for (size_t worker = 0; worker < workers; ++worker) readers_.emplace_back(options_.database);
}

void Routes::answer(const httplib::Request& request, httplib::Response& response, Exchange& exchange) {
  set_common_headers(response);
  Question question{request, response, exchange, readers_.at(exchange.worker), "", nullptr, 0};
  if (is_admitted(question)) dispatch(question);
}

bool Routes::is_admitted(Question& question) const {
  httplib::Response& response = question.response;
  switch (admit(options_.guard, visitor_of(question.request))) {
    case Admission::granted:
      return true;
    case Admission::granted_by_token:
      response.set_header("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict", kSessionCookie,
                                                    options_.guard.session));
      if (question.request.path != "/") return true;
      response.status = 303;  // the address bar loses the token
      response.set_header("Location", "./");
      response.set_header("Cache-Control", "no-store");
      return false;
    case Admission::wrong_host:
      refuse(response, 421, "memlog does not answer to this host name; --live-allow-host adds one\n");
      return false;
    case Admission::cross_site:
      refuse(response, 403, "memlog does not answer to other sites\n");
      return false;
    case Admission::no_token:
      response.set_header("WWW-Authenticate", "Bearer");
      refuse(response, 401, "a token is needed: open the address that memlog printed\n");
      return false;
  }
  return false;
}

void Routes::dispatch(Question& question) {
  constexpr std::array<std::pair<const char*, Answer>, 4> places = {
      {{"/", &Routes::send_page},
       {"/api/v1/runs", &Routes::send_runs},
       {"/api/meta", &Routes::send_legacy_meta},
       {"/api/samples", &Routes::send_legacy_samples}}};
  constexpr std::array<std::pair<const char*, Answer>, 7> of_a_run = {
      {{"", &Routes::send_run},
       {"/timeline", &Routes::send_timeline},
       {"/events", &Routes::send_events},
       {"/stream", &Routes::send_stream},
       {"/picture.png", &Routes::send_picture},
       {"/report.html", &Routes::send_report},
       {"/samples.csv", &Routes::send_csv}}};
  const std::string& path = question.request.path;
  for (const auto& [place, answer] : places) {
    if (path == place) return (this->*answer)(question);
  }
  if (path.starts_with("/assets/")) return send_asset(question);
  constexpr std::string_view runs = "/api/v1/runs/";
  if (path.starts_with(runs)) {
    const size_t slash = path.find('/', runs.size());
    question.run = path.substr(runs.size(), slash == std::string::npos ? slash : slash - runs.size());
    const std::string rest = slash == std::string::npos ? "" : path.substr(slash);
    for (const auto& [place, answer] : of_a_run) {
      if (rest == place) return (this->*answer)(question);
    }
  }
  send_error(question, 404, {"answering", "there is nothing of this name", "", 0});
}

// ---- what all answers share ----

void Routes::send_body(Question& question, const std::string& body, const char* type) {
  const std::string packed =
      question.exchange.accepts_gzip && body.size() >= kWorthPacking ? gzip(body) : std::string();
  send_bytes(question, packed.empty() ? body : packed, !packed.empty(), type);
}

void Routes::send_bytes(Question& question, const std::string& bytes, bool is_packed, const char* type) {
  httplib::Response& response = question.response;
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  response.set_header("Vary", "Accept-Encoding");
  if (is_packed) response.set_header("Content-Encoding", "gzip");
  response.set_content(bytes, type);
}

void Routes::send_json(Question& question, const std::string& json) { send_body(question, json, kJson); }

void Routes::send_error(Question& question, int status, const Error& error) {
  question.response.status = status;
  send_json(question, fmt::format(R"({{"error":{},"hint":{}}})",
                                  json_string(error.doing + ": " + error.reason), json_string(error.hint)));
}

Result<int64_t> Routes::default_run(Database& database) const {
  if (options_.recorder_pid == 0) return find_run(database, options_.default_run);
  const Result<Nullable> run =
      database.integer("SELECT max(id) FROM run WHERE recorder_pid = ? AND state = 'running'",
                       {Nullable(options_.recorder_pid)});
  if (run && run->has_value()) return run->value();
  const Result<Nullable> ended =
      database.integer("SELECT max(id) FROM run WHERE recorder_pid = ?", {Nullable(options_.recorder_pid)});
  if (!ended) return ended.error();
  if (ended->has_value()) return ended->value();
  return Error{"finding the run", "the recording has not begun yet", "", 0};
}

bool Routes::find(Question& question) {
  const Result<Database*> database = question.reader.database();
  if (!database) {
    send_error(question, 503, database.error());
    return false;
  }
  question.database = *database;
  const Result<int64_t> run = question.run.empty() || question.run == "last"
                                  ? default_run(**database)
                                  : find_run(**database, question.run);
  if (!run) {
    if (run.error().code != 0) question.reader.forget();
    send_error(question, run.error().code == 0 ? 404 : 503, run.error());
    return false;
  }
  question.run_id = *run;
  return true;
}

// ---- the page ----

void Routes::send_page(Question& question) {
  std::string facts = "null";
  std::string title = "memlog";
  question.run = question.request.get_param_value("run");
  if (const Result<Database*> database = question.reader.database(); database) {
    Result<int64_t> run = question.run.empty() ? default_run(**database) : find_run(**database, question.run);
    if (!run && !question.run.empty()) run = default_run(**database);
    if (run) {
      if (const Result<std::string> json = run_json(**database, *run); json) {
        facts = *json;
        title = fmt::format("run {} - memlog", *run);
      }
    }
  }
  const std::string boot =
      fmt::format(R"({{"refresh_ms":{},"styles":{{"light":{},"dark":{}}},"facts":{}}})", options_.refresh_ms,
                  style_json(Theme::light), style_json(Theme::dark), facts);
  send_body(question, assets_.page(boot, title), "text/html; charset=utf-8");
}

void Routes::send_asset(Question& question) {
  constexpr std::string_view folder = "/assets/";
  const std::string name = question.request.path.substr(folder.size());
  const LiveAsset* asset = assets_.find(name);
  if (asset == nullptr) return send_error(question, 404, {"answering", "there is no such file", "", 0});
  httplib::Response& response = question.response;
  const std::string tag = '"' + name + '"';
  response.set_header("Cache-Control", "public, max-age=31536000, immutable");
  response.set_header("ETag", tag);
  response.set_header("Vary", "Accept-Encoding");
  if (question.request.get_header_value("If-None-Match") == tag) {
    response.status = 304;
    return;
  }
  if (!question.exchange.accepts_gzip)
    return response.set_content(gunzip(asset->packed, asset->plain_bytes), asset->type);
  response.set_header("Content-Encoding", "gzip");
  response.set_content(asset->packed.data(), asset->packed.size(), asset->type);
}

// ---- the API ----

void Routes::send_runs(Question& question) {
  const Result<int64_t> limit = count_of(question.request, "limit", 1, 1000, 100);
  if (!limit) return send_error(question, 400, limit.error());
  const Result<Database*> database = question.reader.database();
  if (!database) return send_error(question, 503, database.error());
  const Result<std::string> json = runs_json(**database, *limit);
  if (!json) return send_error(question, 503, json.error());
  send_json(question, *json);
}

void Routes::send_run(Question& question) {
  if (!find(question)) return;
  const Result<std::string> json = run_json(*question.database, question.run_id);
  if (!json) return send_error(question, 503, json.error());
  send_json(question, *json);
}

void Routes::send_timeline(Question& question) {
  const Result<TimelineRequest> wanted =
      timeline_request(question.request, kDefaultPoints, kDefaultProcesses);
  if (!wanted) return send_error(question, 400, wanted.error());
  if (!find(question)) return;
  const bool is_packed = question.exchange.accepts_gzip;
  const std::string asked = fmt::format("{} {} {}", question.run_id, is_packed, question.request.target);
  if (const std::string* kept = question.reader.kept(asked))
    return send_bytes(question, *kept, is_packed, kJson);
  const Result<Timeline> timeline = read_timeline(*question.database, question.run_id, *wanted);
  if (!timeline) return send_error(question, 400, timeline.error());
  JsonBudget budget;
  budget.points_a_series = static_cast<size_t>(wanted->points);
  budget.points = std::min(budget.points, budget.points_a_series * kSeriesAShare);
  budget.processes = wanted->processes;
  std::string answer = timeline_json(*timeline, budget);
  if (is_packed) answer = gzip(answer);
  send_bytes(question, answer, is_packed, kJson);
  question.reader.keep(asked, std::move(answer));
}

void Routes::send_events(Question& question) {
  const Result<std::optional<int64_t>> since = time_of(question.request, "since_ms");
  const Result<std::optional<int64_t>> until = since ? time_of(question.request, "until_ms") : since;
  if (!until) return send_error(question, 400, until.error());
  if (!find(question)) return;
  const Result<std::string> json = events_json(*question.database, question.run_id, *since, *until);
  if (!json) return send_error(question, 400, json.error());
  send_json(question, *json);
}

void Routes::send_stream(Question& question) {
  if (!find(question)) return;
  httplib::Response& response = question.response;
  StreamWish wish;
  wish.run_id = question.run_id;
  wish.since = question.request.get_header_value("Last-Event-ID");
  if (wish.since.empty()) wish.since = question.request.get_param_value("since");
  wish.gzip = question.exchange.accepts_gzip;
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Accel-Buffering", "no");  // a proxy hands each update on at once
  if (wish.gzip) response.set_header("Content-Encoding", "gzip");
  response.set_content_provider("text/event-stream", [](size_t, httplib::DataSink& sink) {
    sink.done();
    return true;
  });
  if (question.request.method == "GET") question.exchange.stream = wish;
}

}  // namespace memlog
