// SPDX-License-Identifier: Apache-2.0
// memlog sql: any question in SQL, nothing but questions.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/talk.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schema_text.h"
#include "cli/sql_output.h"
#include "store/location.h"
#include "store/repair.h"
#include "store/schema.h"

namespace memlog {
namespace {

constexpr size_t kLongestQuery = size_t{1} << 20U;

size_t text_width() {
  const size_t columns = stdout_columns();
  return columns == 0 ? 100 : std::min(columns, size_t{120});
}

Error with_hint(Error error) {
  if (error.hint.empty() && error.reason.starts_with("no such "))
    error.hint = "`memlog sql --schema` lists the tables and columns";
  return error;
}

// Answers the one statement of `query`.
Status answer(Database& database, std::string_view query, TableFormat format, Output& output) {
  Result<Database::Prepared> prepared = database.prepare_first(query);
  if (!prepared) return with_hint(prepared.error());
  if (!prepared->statement)
    return Error{"reading the query", "it is empty", "memlog sql 'SELECT * FROM memory LIMIT 5'"};
  const Result<Database::Prepared> second = database.prepare_first(prepared->rest);
  if (!second) return with_hint(second.error());
  if (second->statement)
    return Error{
        "reading the query",
        fmt::format("more than one statement, at: {}", printable(trim(prepared->rest)).substr(0, 40)),
        "ask one question at a time"};
  Status status = write_rows(prepared->statement, format, output);
  if (!status) {
    Error error = status.error();
    error.doing = "answering the query";
    return error;
  }
  return status;
}

Result<std::string> read_all_of_stdin() {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading the query from stdin", errno);
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kLongestQuery)
      return Error{"reading the query from stdin", "it is longer than 1 MiB", ""};
  }
}

// Ctrl-C at the prompt: ends the running query or drops the typed lines, not the program.
Database* g_prompt_database = nullptr;        // NOLINT(readability-identifier-naming)
volatile sig_atomic_t g_was_interrupted = 0;  // NOLINT(readability-identifier-naming)

void on_interrupt(int /*signal*/) {
  g_was_interrupted = 1;
  if (g_prompt_database != nullptr) g_prompt_database->interrupt();
}

class Prompt {
 public:
  Prompt(Database& database, TableFormat format) : database_(database), format_(format) {
    g_prompt_database = &database;
    struct sigaction action{};
    action.sa_handler = on_interrupt;  // no SA_RESTART: the read of a line ends too
    sigaction(SIGINT, &action, &before_);
  }
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;
  ~Prompt() {
    sigaction(SIGINT, &before_, nullptr);
    g_prompt_database = nullptr;
  }

  void run() {
    output_.put(
        fmt::format("memlog sql: questions to {}. End them with ';'. .schema [TABLE] explains, .quit or "
                    "Ctrl-D leaves.\n",
                    printable(database_.path())));
    while (true) {
      output_.put(query_.empty() ? "memlog> " : "   ...> ");
      if (!output_.flush()) return;
      g_was_interrupted = 0;
      const std::optional<std::string> line = read_line();
      if (g_was_interrupted != 0) {
        query_.clear();
        typed_.clear();
        output_.put("\n");
      } else if (!line) {
        output_.put("\n");
        return;
      } else if (!take(*line)) {
        return;
      }
    }
  }

 private:
  // false: leave.
  bool take(const std::string& line) {
    const std::string_view word = trim(line);
    if (query_.empty() && word.starts_with(".")) return obey(word);
    if (query_.empty() && word.empty()) return true;
    query_ += line + "\n";
    if (query_.size() > kLongestQuery) {
      complain({"reading the query", "it is longer than 1 MiB", ""});
      query_.clear();
    }
    if (!Database::is_complete(query_)) return true;
    const Status status = answer(database_, query_, format_, output_);
    const bool goes_on = output_.flush();
    if (!status) complain(status.error());
    query_.clear();
    return goes_on;
  }

  bool obey(std::string_view command) {
    if (command == ".quit" || command == ".exit" || command == ".q") return false;
    if (command == ".schema" || command.starts_with(".schema ")) {
      const std::string text = schema_text(schema_readme(), trim(command.substr(7)), text_width());
      output_.put(text.empty() ? "no such table or view\n" : text);
      return true;
    }
    output_.put(".schema [TABLE]  what every table and column means\n.quit            leaves\n");
    return true;
  }

  std::optional<std::string> read_line() {
    while (true) {
      if (const size_t end = typed_.find('\n'); end != std::string::npos) {
        std::string line = typed_.substr(0, end);
        typed_.erase(0, end + 1);
        return line;
      }
      char buffer[4096];
      const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
      if (got <= 0) return std::nullopt;
      typed_.append(buffer, static_cast<size_t>(got));
    }
  }

  Database& database_;
  TableFormat format_;
  Output output_;
  std::string query_;  // the lines of a statement that is not complete yet
  std::string typed_;  // read and not yet taken
  struct sigaction before_{};
};

TableFormat choose_format(TableFormat asked) {
  if (asked != TableFormat::automatic) return asked;
  return stdout_is_terminal() ? TableFormat::table : TableFormat::csv;
}

}  // namespace

int run_sql(const SqlOptions& options) {
  Output output;
  if (options.schema) {
    output.put(schema_text(schema_readme(), "", text_width()));
    output.flush();
    return 0;
  }
  Database database = or_die(open_for_reading(or_die(database_path(options.database))));
  database.allow_only_reading();
  const TableFormat format = choose_format(options.format);
  if (!options.query && isatty(STDIN_FILENO) == 1) {
    Prompt(database, format).run();
    return 0;
  }
  const std::string query = options.query ? *options.query : or_die(read_all_of_stdin());
  const Status status = answer(database, query, format, output);
  output.flush();
  if (!status) throw FatalError(status.error(), FatalError::kBadUsage);
  return 0;
}

}  // namespace memlog
