// SPDX-License-Identifier: Apache-2.0
// The table of subcommands: their options and what --help says. The only user of CLI11.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>

#include "base/talk.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "query/runs.h"

namespace memlog {
namespace {

constexpr int64_t kLeastIntervalNs = kNsPerMs;

// What may be said of all subcommands that read.
constexpr const char* kRunHelp =
    "The run: its id, its label (the newest run with it) or 'last' [default: last]";
constexpr const char* kDatabaseHelp = "The database [default: $MEMLOG_DB, else one in your state directory]";

constexpr const char* kTraceExamples = R"(Examples:
  sudo memlog trace --name worker                  every process called worker, until the last one ends
  sudo memlog trace --name server --children       and all that they start
  memlog trace --pid 1234 --interval 100ms         one process, ten samples a second
  memlog trace --match 'python.*train' --label night --duration 8h
  memlog trace --cgroup /jobs/42 --keep            whatever runs in a cgroup, until Ctrl-C

NAME is compared with the process's name as ps shows it; where the kernel cut that at 15 bytes, with the whole
name of its program. Ctrl-C ends the recording and keeps it. See it with `memlog show last`.)";

constexpr const char* kRunExamples = R"(Examples:
  memlog run -- make -j8
  sudo memlog run --interval 100ms --label build -- ./compile.sh --all
  memlog run --no-children -- ./server

The command and all its descendants are recorded until the command itself ends; what it left running in the background is
recorded no further, and `memlog trace --name` records a daemon. memlog passes SIGINT, SIGTERM and SIGHUP on, and exits with the
command's own exit status (128 + N where signal N killed it).)";

constexpr const char* kRunsExamples = R"(Examples:
  memlog runs
  memlog runs --limit 0 --json | jq '.[] | select(.oom_kill_count > 0)')";

constexpr const char* kShowExamples = R"(Examples:
  memlog show last
  memlog show nightly --json)";

constexpr const char* kSqlExamples = R"(Examples:
  memlog sql 'SELECT * FROM memory ORDER BY rss_mib DESC LIMIT 10'
  memlog sql --format json "SELECT name, peak_rss_bytes FROM process WHERE end_reason = 'oom_killed'"
  memlog sql < question.sql > answer.csv
  memlog sql                                       a prompt; Ctrl-D leaves it
  memlog sql --schema                              every table and column, its meaning and unit

One question at a time; nothing is ever changed. Without --format the answer is a table on a terminal, else CSV
(RFC 4180 quoting, lines end with \n, NULL is an empty field). A query that SQLite refuses exits with status 2.)";

constexpr const char* kDevicesExamples = R"(Examples:
  memlog devices
  memlog devices --json | jq '.regions[] | select(.ghost_bytes > 0) | .region'
  sudo memlog devices --device-dir /proc/4711/root/dev/shm     those of a container

Each tt-metal workload keeps its chips' memory in the files tt_device_<number>_memory. A workload that was killed leaves its
bytes behind there (a ghost): memlog says which command clears them and never removes anything itself.)";

constexpr const char* kRenderExamples = R"(Examples:
  memlog render last                               memlog-run-7.png, or -2 and so on where that is taken
  memlog render last --html report.html            one file with everything in it; opens without a network
  memlog render before after --align start --png compare.png
  memlog render 7 --since 12:30 --until 12:45 --process worker --theme dark
  memlog render --from-csv pid_memory.csv --png memory.png

--since and --until: 2026-06-05 12:30, 12:30:05, 10m (after the start) or -10m (before the end).
--metrics: rss, anon, file, shmem, swap, hugetlb, oom, dram. What was written is printed on stdout.)";

constexpr const char* kLiveExamples = R"(Examples:
  memlog live                                      the newest run, at http://localhost:8765/
  memlog live nightly --live-port 9000             another run, another port (0: any that is free)
  sudo memlog trace --name worker --live           recording and dashboard in one command
  memlog live --live-socket ~/memlog.sock          on a Unix socket, for ssh -L 8765:/home/me/memlog.sock host

From your own machine:      ssh -L 8765:localhost:8765 user@host     then open http://localhost:8765/
Through a jump host:        ssh -J user@jump -L 8765:localhost:8765 user@host
Another local port is fine: ssh -L 9999:localhost:8765 user@host

Only this machine can connect. To let others in: --live-host 0.0.0.0 --live-token [FILE]. The pages' data are
at api/v1/ as JSON; README.md shows each address by example. Nothing is ever changed. Ctrl-C ends it.)";

constexpr const char* kMainExamples = R"(Examples:
  sudo memlog trace --name worker                  record, until the last worker ends
  memlog show last                                 what happened
  memlog live                                      watch it in a browser
  memlog sql 'SELECT * FROM memory LIMIT 10'       any question

`memlog COMMAND --help` tells more. Exit status: 0, 2 for bad usage, 1 where something fails; `trace` and
`run` exit 125 where memlog itself fails, and `run` else with the command's own. `memlog licenses` tells what is in memlog.)";

constexpr const char* kExportExamples = R"(Examples:
  memlog export last --csv memory.csv              the columns of memory_logger.py, byte for byte its format
  memlog export nightly --wide --csv nightly.csv   everything that is stored of it; `memlog import` takes it back
  memlog export last | head                        without --csv to stdout)";

constexpr const char* kImportExamples = R"(Examples:
  memlog import pid_memory.csv --label before      a file of memory_logger.py, of any age
  memlog import night1.csv night2.csv              one run a file; if one cannot be read, nothing is stored
  memlog import --lenient damaged.csv              the rows that are whole; the others are reported)";

// --licenses stands alone, as --version does.
struct LicencesWanted {};

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    const bool is_main = app->get_parent() == nullptr;
    if (is_main) return "Usage: memlog COMMAND [OPTIONS]\n";
    std::string arguments;
    if (app->get_name() == "live") arguments = " [RUN]";
    if (app->get_name() == "show") arguments = " [RUN]";
    if (app->get_name() == "render") arguments = " [RUN...]";
    if (app->get_name() == "sql") arguments = " [QUERY]";
    if (app->get_name() == "export") arguments = " [RUN]";
    if (app->get_name() == "import") arguments = " FILE...";
    if (app->get_name() == "run") arguments = " -- COMMAND [ARGUMENT...]";
    return fmt::format("Usage: memlog {} [OPTIONS]{}\n", app->get_name(), arguments);
  }
  std::string make_footer(const CLI::App* app) const override { return app->get_footer() + "\n"; }
};

// A word of a command line as a shell would need it.
std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  return quoted_for_shell(word);
}

std::string whole_command_line(int argc, char** argv) {
  std::string line = "memlog";
  for (int i = 1; i < argc; ++i) line += " " + shell_word(argv[i]);
  return line;
}

int64_t duration_or_die(std::string_view option, std::string_view text) {
  Result<int64_t> duration = parse_duration(text);
  if (duration) return *duration;
  Error error = duration.error();
  error.doing = fmt::format("reading {} '{}'", option, printable(text));
  throw FatalError(error, FatalError::kBadUsage);
}

// Options as CLI11 fills them, before they mean something.
struct Texts {
  std::string interval = "1s";
  std::string duration;
  bool children = false;
  bool no_children = false;
  std::string format;
  std::string align;
  std::vector<std::string> unexpected;  // run: words before --
};

struct Parsed {
  RecordOptions record;
  Texts texts;
  RunsOptions runs;
  ShowOptions show;
  SqlOptions sql;
  RenderOptions render;
  ExportOptions export_run;
  ImportOptions import_files;
  DevicesOptions devices;
  LiveCommandOptions live;
  std::function<int()> recipe;
};

// An option whose value may be left out: empty then.
void add_optional_file(CLI::App& command, const char* name, const char* help,
                       std::optional<std::string>& path) {
  command
      .add_option(
          name,
          [&path](const CLI::results_t& words) {
            path = words.empty() ? std::string() : words.front();
            return true;
          },
          help)
      ->type_name("[FILE]")
      ->expected(0, 1);
}

void add_pictures(CLI::App& command, std::optional<std::string>& png, std::optional<std::string>& html) {
  add_optional_file(command, "--png", "Write a picture [default name: memlog-run-N.png]", png);
  add_optional_file(command, "--html",
                    "Write a report that opens in a browser [default name: memlog-run-N.html]", html);
}

void add_live_flags(CLI::App& command, LiveFlags& flags) {
  command.add_option("--live-host", flags.host, "The address to serve on [default: 127.0.0.1]")
      ->type_name("ADDRESS");
  command.add_option("--live-port", flags.port, "The port, 0 for any that is free [default: 8765]")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  command.add_option("--live-socket", flags.socket, "Serve on a Unix socket instead")->type_name("PATH");
  command.add_option("--live-refresh-ms", flags.refresh_ms, "Least time between updates [default: 1000]")
      ->type_name("N")
      ->check(CLI::Range(50, 3'600'000));
  command
      .add_option("--live-allow-host", flags.allowed_hosts, "Also answer to this host name; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  add_optional_file(command, "--live-token",
                    "Ask for a token: the one in FILE, or a new one [needed beyond this machine]",
                    flags.token_file);
}

void add_record_options(CLI::App& command, Parsed& parsed) {
  RecordOptions& options = parsed.record;
  Texts& texts = parsed.texts;
  command.add_option("--name,-n", options.names, "Processes of this name; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command.add_option("--pid,-p", options.pids, "The process with this id; may be repeated")
      ->type_name("PID")
      ->expected(1)
      ->take_all();
  command
      .add_option("--match,-m", options.match, "Processes whose command line matches this regular expression")
      ->type_name("REGEX");
  command.add_option("--cgroup", options.cgroup, "Processes in this cgroup and those below it")
      ->type_name("PATH");
  command
      .add_option("--device", options.devices,
                  "Processes that have this Tenstorrent card open; may be repeated")
      ->type_name("N")
      ->expected(1)
      ->take_all();
  command.add_option("--interval,-i", texts.interval, "Time between samples: 1ms or more [default: 1s]")
      ->type_name("TIME");
  command.add_option("--duration,-d", texts.duration, "End the recording after this time")->type_name("TIME");
  command.add_option("--label,-l", options.label, "A name for the run, for show and the like")
      ->type_name("TEXT");
  command.add_flag("--pss", options.pss,
                   "Also measure PSS, which may hold the process up: within 1 % of the time");
  add_pictures(command, options.png, options.html);
  add_optional_file(command, "--csv", "Write the samples as CSV [default name: memlog-run-N.csv]",
                    options.csv);
  command.add_flag("--live", options.live.is_wanted, "Serve a dashboard while it records, and after");
  command.add_flag("--live-exit", options.live.exits, "Serve only as long as it records");
  add_live_flags(command, options.live);
  command.add_flag("--device-dram", options.device_dram, "Also sample the memory of accelerator chips");
  command.add_option("--device-dir", options.device_dir, "Where their regions are [default: /dev/shm]")
      ->type_name("DIR");
  command.add_flag("--no-bpf", options.no_bpf, "Do without kernel events: look through /proc instead");
  command.add_flag("--quiet,-q", options.quiet, "Say only what went wrong");
  command.add_option("--db", options.database, kDatabaseHelp)->type_name("FILE");
}

// --png [FILE] and --html [FILE]; without FILE a default name.
void add_trace(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("trace", "Record processes by name, id, command line or cgroup");
  add_record_options(*command, parsed);
  command->add_flag("--children,-c", parsed.texts.children, "Also all descendants of those processes");
  command->add_flag("--keep,-k", parsed.record.keep, "Go on waiting after the last process has ended");
  command->footer(kTraceExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_trace(parsed.record); }; });
}

void add_run(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("run", "Launch a command, record it, return its exit status");
  add_record_options(*command, parsed);
  command->add_flag("--no-children", parsed.texts.no_children,
                    "Only the command itself, not its descendants");
  command->add_option("command", parsed.texts.unexpected)->group("");
  command->footer(kRunExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_run(parsed.record); }; });
}

void add_runs(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("runs", "List the recorded runs, newest first");
  command->add_option("--limit", parsed.runs.limit, "At most so many, 0 for all [default: 20]")
      ->type_name("N");
  command->add_flag("--json", parsed.runs.json, "As JSON");
  command->add_option("--db", parsed.runs.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kRunsExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_runs(parsed.runs); }; });
}

void add_show(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("show", "Show one run: its processes, kills, limits and gaps");
  command->add_option("RUN", parsed.show.run, kRunHelp)->type_name("");
  command->add_flag("--all", parsed.show.all, "Every process, not only the largest");
  command->add_flag("--json", parsed.show.json, "As JSON");
  command->add_option("--db", parsed.show.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kShowExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_show(parsed.show); }; });
}

void add_sql(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("sql", "Ask the database anything, in SQL");
  command->add_option("QUERY", parsed.sql.query, "The question [default: stdin, or a prompt on a terminal]")
      ->type_name("");
  command->add_option("--format,-f", parsed.texts.format, "table, csv or json")->type_name("FORMAT");
  command->add_flag("--schema", parsed.sql.schema, "Print every table and column with its meaning and unit");
  command->add_option("--db", parsed.sql.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kSqlExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_sql(parsed.sql); }; });
}

void add_export(CLI::App& app, Parsed& parsed) {
  ExportOptions& options = parsed.export_run;
  CLI::App* command = app.add_subcommand("export", "Write the samples of a run as CSV");
  command->add_option("RUN", options.run, kRunHelp)->type_name("");
  command->add_option("--csv", options.csv, "Where to: a file, or - for stdout [default: -]")
      ->type_name("FILE");
  command->add_flag("--wide", options.wide, "Everything that is stored, without loss, for memlog import");
  command->add_flag("--spreadsheet-safe", options.spreadsheet_safe,
                    "Put ' before text that a spreadsheet would take for a formula");
  command->add_option("--db", options.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kExportExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_export(parsed.export_run); }; });
}

void add_import(CLI::App& app, Parsed& parsed) {
  ImportOptions& options = parsed.import_files;
  CLI::App* command = app.add_subcommand("import", "Store CSV files of memory_logger.py or memlog as runs");
  command->add_option("FILE", options.files, "The files; - is stdin")->type_name("")->required();
  command->add_option("--label,-l", options.label, "A name for the runs, for show and the like")
      ->type_name("TEXT");
  command->add_flag("--lenient", options.lenient, "Take the rows that are whole and report the others");
  command->add_option("--db", options.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kImportExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_import(parsed.import_files); }; });
}

void add_licenses(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("licenses", "Print the licences of what is in memlog");
  command->callback([&parsed] { parsed.recipe = [] { return run_licenses(); }; });
}

void add_devices(CLI::App& app, Parsed& parsed) {
  CLI::App* command =
      app.add_subcommand("devices", "List accelerator chips: their memory, who uses it, what is stale");
  command->add_option("--device-dir", parsed.devices.device_dir, "Where the regions are [default: /dev/shm]")
      ->type_name("DIRECTORY");
  command->add_flag("--json", parsed.devices.json, "As JSON");
  command->footer(kDevicesExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_devices(parsed.devices); }; });
}

void add_live(CLI::App& app, Parsed& parsed) {
  CLI::App* command = app.add_subcommand("live", "Serve a dashboard of any running or finished run");
  command->add_option("RUN", parsed.live.run, kRunHelp)->type_name("");
  add_live_flags(*command, parsed.live.flags);
  command->add_option("--db", parsed.live.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kLiveExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_live(parsed.live); }; });
}

void add_render(CLI::App& app, Parsed& parsed) {
  RenderOptions& options = parsed.render;
  CLI::App* command = app.add_subcommand("render", "Draw runs or CSV files as a PNG or an HTML report");
  command->add_option("RUN", options.runs, kRunHelp)->type_name("");
  add_pictures(*command, options.png, options.html);
  command->add_option("--from-csv", options.files, "Draw this CSV file; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command->add_option("--width", options.width, "In pixels [default: 1600]")->type_name("N");
  command->add_option("--height", options.height, "In pixels [default: 1000, more for several runs]")
      ->type_name("N");
  command->add_option("--scale", options.scale, "Real pixels a pixel, 2 for dense screens [default: 1]")
      ->type_name("N");
  command->add_option("--theme", options.theme, "light or dark")->type_name("THEME");
  command->add_option("--since", options.since, "Only from this time on")->type_name("TIME");
  command->add_option("--until", options.until, "Only up to this time")->type_name("TIME");
  command->add_option("--process", options.processes, "Only processes of this name or id; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command->add_option("--metrics", options.metrics, "What to draw, by commas")
      ->type_name("LIST")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  command
      ->add_option("--align", parsed.texts.align,
                   "Several runs: on the clock, or each at its start [default: clock]")
      ->type_name("clock|start");
  command->add_flag("--local", options.is_local, "Times in the local zone");
  command->add_flag("--utc{false}", options.is_local, "Times in UTC, as without either");
  command->add_option("--db", options.database, kDatabaseHelp)->type_name("FILE");
  command->footer(kRenderExamples);
  command->callback([&parsed] { parsed.recipe = [&parsed] { return run_render(parsed.render); }; });
}

// From what was typed to what it means.
void finish_record_options(Parsed& parsed) {
  RecordOptions& options = parsed.record;
  const Texts& texts = parsed.texts;
  if (!texts.unexpected.empty())
    throw FatalError(
        {fmt::format("reading the command line at '{}'", printable(texts.unexpected.front())),
         "the command to launch comes after --", "memlog run -- " + printable(texts.unexpected.front())},
        FatalError::kBadUsage);
  options.interval_ns = duration_or_die("--interval", texts.interval);
  if (options.interval_ns < kLeastIntervalNs)
    throw FatalError(
        {fmt::format("reading --interval '{}'", printable(texts.interval)), "the least is 1ms", ""},
        FatalError::kBadUsage);
  if (!texts.duration.empty()) options.duration_ns = duration_or_die("--duration", texts.duration);
  if (options.duration_ns == 0)
    throw FatalError(
        {fmt::format("reading --duration '{}'", printable(texts.duration)), "it must be more than 0", ""},
        FatalError::kBadUsage);
  for (const std::optional<std::string>& label : {options.label, parsed.import_files.label}) {
    if (label) or_die(check_label(*label), FatalError::kBadUsage);
  }
  if (texts.children) options.children = true;
  if (texts.no_children) options.children = false;
}

void finish_reading_options(Parsed& parsed) {
  if (parsed.runs.limit < 0)
    throw FatalError({fmt::format("reading --limit '{}'", parsed.runs.limit), "it must be 0 or more", ""},
                     FatalError::kBadUsage);
  if (parsed.show.run.empty()) parsed.show.run = "last";
  if (parsed.live.run.empty()) parsed.live.run = "last";
  const std::string& align = parsed.texts.align;
  if (!align.empty() && align != "clock" && align != "start")
    throw FatalError({fmt::format("reading --align '{}'", printable(align)), "there are clock and start", ""},
                     FatalError::kBadUsage);
  parsed.render.align_start = align == "start";
  if (parsed.export_run.run.empty()) parsed.export_run.run = "last";
  const std::string& format = parsed.texts.format;
  if (format.empty()) return;
  for (const auto& [word, value] :
       {std::pair{"table", TableFormat::table}, std::pair{"csv", TableFormat::csv},
        std::pair{"json", TableFormat::json}}) {
    if (format == word) parsed.sql.format = value;
  }
  if (parsed.sql.format == TableFormat::automatic)
    throw FatalError(
        {fmt::format("reading --format '{}'", printable(format)), "there are table, csv and json", ""},
        FatalError::kBadUsage);
}

// What CLI11 says, in words that fit behind "reading the command line:".
std::string plain_reason(const std::string& text) {
  for (const auto& [before, words] :
       {std::pair{"Could not convert: ", "'{1}' is no value for {0}"},
        std::pair{"The following argument was not expected: ", "there is no '{0}' here"},
        std::pair{"The following arguments were not expected: ", "there is no '{0}' here"}}) {
    if (!text.starts_with(before)) continue;
    const std::string rest = printable(text.substr(std::string_view(before).size()));
    const size_t split = std::min(rest.find(" = "), rest.size());
    return fmt::format(fmt::runtime(words), rest.substr(0, split),
                       split < rest.size() ? rest.substr(split + 3) : "");
  }
  if (const size_t at = text.find(": 1 required "); at != std::string::npos)
    return printable(text.substr(0, at)) + " needs a value";
  return printable(text);
}

// CLI11 reports on several lines and without saying where help is.
FatalError usage_error(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  std::string help = "memlog";
  for (const CLI::App* command : app.get_subcommands()) help += " " + command->get_name();
  std::string reason = plain_reason(error.what());
  if (app.get_subcommands().empty())
    reason = first_word == nullptr ? "a command is missing"
                                   : fmt::format("there is no command or option '{}'", printable(first_word));
  return FatalError({"reading the command line", reason, help + " --help tells what is possible"},
                    FatalError::kBadUsage);
}

// Parses all words before `--`; what follows it is the command that `run` launches.
void parse(CLI::App& app, Parsed& parsed, int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv + std::min(argc, 1), end,
                                     [](const char* word) { return std::string_view(word) == "--"; });
  const bool is_run = argc > 1 && std::string_view(argv[1]) == "run";
  const int own = is_run ? static_cast<int>(dashes - argv) : argc;
  if (is_run && dashes != end) parsed.record.command.assign(dashes + 1, end);
  app.parse(own, argv);
}

// Only where a command's own status is handed on must memlog's failures stand apart.
int run_recipe(const std::function<int()>& recipe, bool is_recording) {
  try {
    return recipe();
  } catch (const FatalError& failure) {
    if (is_recording || failure.exit_status() != FatalError::kOwnFailure) throw;
    throw FatalError(failure.error(), FatalError::kFailure);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("memlog: a memory flight recorder for Linux workloads");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version,-V", "memlog " MEMLOG_VERSION, "Print the version");
  app.set_help_flag("--help,-h", "Print this help");
  app.add_flag_callback(
      "--licenses", [] { throw LicencesWanted(); }, "Print the licences of what is in memlog");
  app.require_subcommand(1);
  app.footer(kMainExamples);
  Parsed parsed;
  for (const auto add : {add_trace, add_run, add_runs, add_show, add_sql, add_render, add_live, add_export,
                         add_import, add_devices, add_licenses})
    add(app, parsed);
  try {
    parse(app, parsed, argc, argv);
  } catch (const LicencesWanted&) {
    return run_licenses();
  } catch (const CLI::CallForHelp&) {
    Output output;
    const CLI::App* topic = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    output.put(topic->help());
    output.flush();
    return 0;
  } catch (const CLI::CallForVersion& version) {
    Output output;
    output.put(std::string(version.what()) + "\n");
    output.flush();
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error, argc > 1 ? argv[1] : nullptr);
  }
  finish_record_options(parsed);
  finish_reading_options(parsed);
  const bool is_recording = app.got_subcommand("trace") || app.got_subcommand("run");
  parsed.record.command_line = whole_command_line(argc, argv);
  parsed.import_files.command_line = parsed.record.command_line;
  return run_recipe(parsed.recipe, is_recording);
}

}  // namespace memlog
