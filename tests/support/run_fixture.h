// SPDX-License-Identifier: Apache-2.0
// A directory that goes away again, and literal runs to put into a database in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/records.h"
#include "store/database.h"
#include "store/repair.h"
#include "store/run_writer.h"

namespace memlog::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "memlog-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string path_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

constexpr int64_t kStart = 1'780'662'896 * kNsPerSecond;  // 2026-06-05 12:34:56 UTC

// A run recorded by this very process.
inline RunStart literal_run(const std::string& label = "nightly") {
  const RecorderIdentity self = *this_process_identity();
  RunStart run;
  run.label = label;
  run.host = "build7";
  run.boot_id = self.boot_id;
  run.kernel = "6.1.0";
  run.command = "memlog trace --name worker";
  run.target = "name worker";
  run.interval_ns = kNsPerSecond;
  run.started_ns = kStart;
  run.event_source = "bpf";
  run.uid = 1000;
  run.page_size_bytes = 4096;
  run.cpu_count = 2;
  run.recorder_pid = self.pid;
  run.recorder_start_ticks = self.start_ticks;
  run.recorder_pid_ns = self.pid_namespace;
  return run;
}

inline ProcessStart literal_process(ProcessKey key, const std::string& name = "worker") {
  ProcessStart start;
  start.key = key;
  start.pid = 1000 + key;
  start.comm = name.substr(0, 15);
  start.name = name;
  start.first_seen_ns = kStart;
  start.first_seen_by = SeenBy::exec;
  return start;
}

inline ProcessSample literal_sample(ProcessKey key, int64_t tick, Nullable rss_bytes) {
  ProcessSample sample;
  sample.key = key;
  sample.time_ns = kStart + tick * kNsPerSecond;
  sample.rss_bytes = rss_bytes;
  return sample;
}

// The rows of `sql`, columns joined by '|', NULL as "NULL".
inline std::vector<std::string> rows_of(Database& database, const std::string& sql) {
  std::vector<std::string> rows;
  const Status status = database.each(sql, {}, [&](const Statement& row) {
    std::string line;
    for (int i = 0; i < row.column_count(); ++i) line += (i ? "|" : "") + row.text_or(i, "NULL");
    rows.push_back(line);
  });
  if (!status) ADD_FAILURE() << sql << ": " << status.error().reason;
  return rows;
}

inline std::vector<std::string> rows_of(const std::string& path, const std::string& sql) {
  Result<Database> database = Database::open(path, Database::Mode::read);
  if (!database) {
    ADD_FAILURE() << database.error().doing << ": " << database.error().reason;
    return {};
  }
  return rows_of(*database, sql);
}

// A database as the memlog of schema `version` left it, without any run.
void make_database_of_version(const std::string& path, int version);

}  // namespace memlog::testing
