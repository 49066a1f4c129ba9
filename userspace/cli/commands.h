// SPDX-License-Identifier: Apache-2.0
// The subcommands: what each was asked to do, as plain values, and the function that does it.
//
// command_line.cpp (the only user of CLI11) fills the options; one file a subcommand holds the recipe. Each
// returns the exit status and may throw FatalError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace memlog {

// How the dashboard is served: the options that live, trace and run share.
struct LiveFlags {
  bool is_wanted = false;  // trace, run: --live
  bool exits = false;      // trace, run: serving ends with the recording
  std::string host = "127.0.0.1";
  int64_t port = 8765;
  std::string socket;  // a Unix socket's path, instead of host and port
  int64_t refresh_ms = 1000;
  std::vector<std::string> allowed_hosts;
  std::optional<std::string> token_file;  // empty: a token is made
};

struct RecordOptions {
  std::string database;  // empty: the default place
  std::vector<std::string> names;
  std::vector<int64_t> pids;
  std::string match;
  std::string cgroup;
  std::optional<bool> children;  // unset: the subcommand's default
  int64_t interval_ns = kNsPerSecond;
  std::optional<int64_t> duration_ns;
  std::optional<std::string> label;
  bool keep = false;
  bool pss = false;
  bool device_dram = false;
  std::string device_dir = "/dev/shm";
  std::vector<int64_t> devices;  // processes that have one of these cards open
  bool quiet = false;
  bool no_bpf = false;
  std::optional<std::string> png;  // files to make when the run has ended: unset: none; empty: a default name
  std::optional<std::string> html;
  std::optional<std::string> csv;
  LiveFlags live;
  std::vector<std::string> command;  // run: what to launch
  std::string command_line;          // memlog's own, for the record
};
int run_trace(const RecordOptions& options);
int run_run(const RecordOptions& options);

struct LiveCommandOptions {
  std::string database;
  std::string run;  // id, label or "last"
  LiveFlags flags;
};
int run_live(const LiveCommandOptions& options);

struct RunsOptions {
  std::string database;
  int64_t limit = 20;
  bool json = false;
};
int run_runs(const RunsOptions& options);

struct ShowOptions {
  std::string database;
  std::string run;   // id, label or "last"
  bool all = false;  // every process, not only the largest
  bool json = false;
};
int run_show(const ShowOptions& options);

enum class TableFormat : uint8_t { automatic, table, csv, json };
struct SqlOptions {
  std::string database;
  std::optional<std::string> query;  // unset: stdin, or a prompt on a terminal
  TableFormat format = TableFormat::automatic;
  bool schema = false;
};
int run_sql(const SqlOptions& options);

struct ExportOptions {
  std::string database;
  std::string run;        // id, label or "last"
  std::string csv = "-";  // a file, or "-" for stdout
  bool wide = false;      // every stored column, losslessly
  bool spreadsheet_safe = false;
};
int run_export(const ExportOptions& options);

struct ImportOptions {
  std::string database;
  std::vector<std::string> files;  // "-" is stdin
  std::optional<std::string> label;
  bool lenient = false;
  std::string command_line;  // memlog's own, for the record
};
int run_import(const ImportOptions& options);

struct DevicesOptions {
  std::string device_dir = "/dev/shm";
  bool json = false;
};
int run_devices(const DevicesOptions& options);

struct RenderOptions {
  std::string database;
  std::vector<std::string> runs;    // ids, labels or "last"; empty without files: the last run
  std::vector<std::string> files;   // CSV files to draw beside them
  std::optional<std::string> png;   // unset: not asked for; empty: a default name; "-" is stdout
  std::optional<std::string> html;  // the same; where neither is asked for a PNG is made
  int width = 1600;                 // logical pixels
  int height = 0;                   // 0: what suits
  double scale = 1;                 // real pixels a logical one
  std::string theme;  // "light", "dark"; empty: light, in HTML what the reader's browser prefers
  std::string since;  // a time of day, a date and time, or a span: see cli/render_window.h
  std::string until;
  std::vector<std::string> processes;  // names and pids; empty: all
  std::vector<std::string> metrics;    // columns or their short names; empty: what tells the story
  bool align_start = false;            // several runs: each at its own start instead of on the clock
  bool is_local = false;               // local time instead of UTC
};
int run_render(const RenderOptions& options);
// What --metrics may name, "rss" or "rss_bytes", as the column; nullopt: nothing that is drawn.
std::optional<std::string> metric_column(const std::string& metric);

// Prints the notices of what is in the program and its pages.
int run_licenses();

// Parses `argv` and runs the subcommand. Usage errors exit 2.
int run_command_line(int argc, char** argv);

}  // namespace memlog
