// SPDX-License-Identifier: Apache-2.0
// live_bench [MILLIONS]: what the dashboard costs. Stores MILLIONS (10) of samples of one process, serves them, and
// prints the bytes of a first load and of an update, the time of a timeline with eight clients at once, and the
// processor time that a client which only listens takes. Asserts nothing.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "base/text.h"
#include "bench/store_samples.h"
#include "live/server.h"
#include "store/run_writer.h"
#include "support/http_client.h"

namespace {

using namespace memlog;  // NOLINT(google-build-using-namespace)
using memlog::testing::http_get;
using memlog::testing::HttpAnswer;
using memlog::testing::HttpClient;

constexpr const char* kGzip = "Accept-Encoding: gzip\r\n";
constexpr int kClients = 8;
constexpr int kRequests = 100;  // of each client
constexpr int kIdleSeconds = 10;

size_t wire_bytes(const HttpAnswer& answer) {
  size_t bytes = answer.body.size() + 17;
  for (const auto& [name, value] : answer.headers) bytes += name.size() + value.size() + 4;
  return bytes;
}

void bench_first_load(int port, const char* run) {
  const HttpAnswer page = http_get(port, fmt::format("/?run={}", run), kGzip);
  const std::string plain = http_get(port, "/").body;
  size_t table = wire_bytes(page);
  size_t charts = wire_bytes(http_get(port, fmt::format("/api/v1/runs/{}/timeline?points=240", run), kGzip));
  const std::regex asset("assets/(live|plotly)-[0-9a-f]+\\.js");
  for (std::sregex_iterator found(plain.begin(), plain.end(), asset), end; found != end; ++found) {
    const size_t bytes = wire_bytes(http_get(port, "/" + found->str(), kGzip));
    ((*found)[1] == "live" ? table : charts) += bytes;
  }
  fmt::print("first load of run {}: {} bytes to the table, {} with the charts\n", run, table, table + charts);
}

void bench_timeline(int port, const char* what, const std::function<std::string(int, int)>& target) {
  std::vector<double> all;
  std::mutex mutex;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      HttpClient connection(port);
      std::vector<double> own;
      own.reserve(kRequests);
      for (int request = 0; request < kRequests; ++request) {
        const int64_t begin_ns = boot_now_ns();
        const HttpAnswer answer = connection.get(target(client, request), kGzip);
        own.push_back(static_cast<double>(boot_now_ns() - begin_ns) / 1e6);
        if (answer.status != 200) fmt::print("status {}\n", answer.status);
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), own.begin(), own.end());
    });
  }
  for (std::thread& client : clients) client.join();
  std::sort(all.begin(), all.end());
  fmt::print("timeline, {} clients, {}: p50 {:.1f} ms, p99 {:.1f} ms\n", kClients, what, all[all.size() / 2],
             all[all.size() * 99 / 100]);
}

double cpu_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::vector<std::string_view> fields = split(std::string_view(text).substr(text.rfind(')') + 2), ' ');
  return static_cast<double>(parse_int(fields[11]).value_or(0) + parse_int(fields[12]).value_or(0)) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// A run of `processes` that goes on, one sample a second, while `clients` listen.
void bench_listening(const std::string& path, int port, pid_t server, int processes, int clients) {
  RunStart run;
  run.interval_ns = kNsPerSecond;
  run.started_ns = wall_now_ns();
  run.label = "now";
  run.event_source = "scan";
  run.recorder_pid = getpid();
  auto writer = or_die(RunWriter::begin(path, run));
  std::vector<Record> records;
  records.reserve(static_cast<size_t>(processes));
  for (int key = 1; key <= processes; ++key) {
    ProcessStart process;
    process.key = key;
    process.pid = key;
    process.comm = process.name = "worker";
    process.first_seen_ns = wall_now_ns();
    records.emplace_back(process);
  }
  or_die(writer->write(records));
  std::vector<std::unique_ptr<HttpClient>> listening;
  listening.reserve(static_cast<size_t>(clients));
  for (int client = 0; client < clients; ++client) {
    listening.push_back(std::make_unique<HttpClient>(port));
    listening.back()->get("/api/v1/runs/now/stream", kGzip);
  }
  const double before = cpu_seconds(server);
  size_t bytes = 0;
  int64_t longest_ns = 0;  // from a commit to the first client's update
  for (int tick = 0; tick < kIdleSeconds; ++tick) {
    records.clear();
    for (int key = 1; key <= processes; ++key) {
      ProcessSample sample;
      sample.key = key;
      sample.time_ns = wall_now_ns();
      sample.rss_bytes = (int64_t{1} << 28U) + int64_t{tick} * key * 40'960;
      sample.swap_bytes = 0;
      sample.oom_score = 667;
      records.emplace_back(sample);
    }
    or_die(writer->write(records));
    const int64_t stored_ns = boot_now_ns();
    const int64_t end_ns = stored_ns + kNsPerSecond;
    for (const auto& client : listening) {
      bytes += client->receive(900).size();
      if (client == listening.front()) longest_ns = std::max(longest_ns, boot_now_ns() - stored_ns);
    }
    while (boot_now_ns() < end_ns) usleep(10'000);
  }
  fmt::print(
      "{} processes, {} clients: {} bytes an update, {:.2f} % of a core, {} ms from a commit to the client "
      "at most\n",
      processes, clients, bytes / kIdleSeconds / static_cast<size_t>(clients),
      (cpu_seconds(server) - before) * 100 / kIdleSeconds, longest_ns / kNsPerMs);
}

int bench(const std::string& directory, int64_t count) {
  LiveOptions options;
  options.database = directory + "/bench.db";
  options.port = 0;
  store_samples(options.database, count);
  const LiveListener listener = or_die(listen_live(options));
  const pid_t server = fork();
  if (server == 0) {
    LiveServer(options, listener).run();
    _exit(0);
  }
  bench_first_load(listener.port, "1");
  const int64_t length_ms = count;
  bench_timeline(listener.port, "the same whole run",
                 [](int, int) { return "/api/v1/runs/1/timeline?points=600"; });
  bench_timeline(listener.port, "each its own windows", [&](int client, int request) {
    const int64_t begin_ms = kBenchStart / kNsPerMs + (client * kRequests + request) * length_ms / 2000;
    return fmt::format("/api/v1/runs/1/timeline?points=600&since_ms={}&until_ms={}", begin_ms,
                       begin_ms + length_ms / 2);
  });
  bench_listening(options.database, listener.port, server, 8, 1);
  bench_listening(options.database, listener.port, server, 200, 1);
  bench_listening(options.database, listener.port, server, 8, 50);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t millions = argc > 1 ? parse_int(argv[1]).value_or(10) : 10;
  std::string pattern = (std::filesystem::temp_directory_path() / "memlog-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  int status = 1;
  try {
    status = bench(pattern, millions * 1'000'000);
  } catch (const FatalError& failure) {
    fmt::print(stderr, "{}\n", failure.what());
  }
  std::filesystem::remove_all(pattern);
  return status;
}
