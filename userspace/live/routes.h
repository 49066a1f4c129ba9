// SPDX-License-Identifier: Apache-2.0
// Routes: every address that the dashboard answers, and the rules that hold for all of them.
//
// Nothing is ever written, and no client's text becomes SQL. Each answer reads in one short transaction that is
// over before the first byte is sent.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "live/assets.h"
#include "live/engine.h"
#include "live/guard.h"
#include "live/reader.h"

namespace memlog {

struct RouteOptions {
  std::string database;
  std::string default_run = "last";  // id, label or "last"
  int64_t recorder_pid = 0;          // not 0: the newest run of that recorder instead
  int64_t refresh_ms = 1000;
  GuardRules guard;
};

class Routes {
 public:
  // `workers`: how many threads answer.
  Routes(RouteOptions options, size_t workers);
  void answer(const httplib::Request& request, httplib::Response& response, Exchange& exchange);

 private:
  struct Question;
  using Answer = void (Routes::*)(Question&);

  bool is_admitted(Question& question) const;
  void dispatch(Question& question);
  void send_page(Question& question);
  void send_asset(Question& question);
  void send_runs(Question& question);
  void send_run(Question& question);
  void send_timeline(Question& question);
  void send_events(Question& question);
  void send_stream(Question& question);
  void send_picture(Question& question);
  void send_report(Question& question);
  void send_csv(Question& question);
  void send_legacy_meta(Question& question);
  void send_legacy_samples(Question& question);

  Result<int64_t> default_run(Database& database) const;
  static void send_json(Question& question, const std::string& json);
  static void send_body(Question& question, const std::string& body, const char* type);
  static void send_bytes(Question& question, const std::string& bytes, bool is_packed, const char* type);
  static void send_error(Question& question, int status, const Error& error);
  // The database and the run that the address names; false: an error was sent.
  bool find(Question& question);

  RouteOptions options_;
  LiveAssets assets_;
  std::vector<Reader> readers_;  // one a worker
  std::atomic<int> download_count_{0};
};

}  // namespace memlog
