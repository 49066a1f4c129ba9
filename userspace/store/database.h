// SPDX-License-Identifier: Apache-2.0
// Database: one SQLite connection to a memlog file, its statements and transactions. database.cpp and
// database_open.cpp are the only users of sqlite3.h and the only place for PRAGMAs.
//
// Every connection: waits for locks (nobody sees "locked" for a commit's length), cell_size_check,
// trusted_schema off, defensive, no extensions, no memory mapping (a truncated file is an error, not a
// SIGBUS). Writing connections: WAL, verified, since readers must not stop the recorder; synchronous=FULL,
// since a sample that was reported stored must survive power loss; foreign_keys; a WAL that shrinks after
// each checkpoint. Symbolic links are refused, a new file has mode 0600 (command lines may hold secrets) and
// belongs to the invoking user; SQLite gives its -wal and -shm files the same owner and mode.
//
// Used by one thread at a time, interrupt() excepted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/nullable.h"
#include "store/database_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace memlog {

// What a parameter can be bound to. Text must outlive the step.
using SqlValue = std::variant<Nullable, std::string_view>;

enum class ColumnKind : uint8_t { null, integer, real, text, blob };

// A prepared statement. Must not outlive its Database.
class Statement {
 public:
  Statement() = default;

  // Parameters count from 1. A failed bind is reported by the next step.
  void bind(int index, Nullable value);
  void bind(int index, int64_t value) { bind(index, Nullable(value)); }
  void bind(int index, std::string_view text);  // bound as it is: must be UTF-8
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, const std::optional<std::string>& text);
  void bind_value(int index, const SqlValue& value);

  // true: a row is there; false: the end, and the statement is reset.
  Result<bool> step();
  void reset();
  // Binds `values` to the parameters in order and steps to the end; rows are not looked at.
  template <typename... Values>
  Status run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return finish();
  }

  // Columns count from 0 and are valid until the next step.
  int column_count() const;
  std::string column_name(int column) const;
  ColumnKind kind(int column) const;
  Nullable integer(int column) const;
  double real(int column) const;
  std::optional<std::string_view> text(int column) const;  // blobs as their bytes
  std::string text_or(int column, std::string_view other = "") const;

  bool is_read_only() const;
  explicit operator bool() const { return statement_ != nullptr; }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Status finish();

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = 0;
};

class Database {
 public:
  enum class Mode : uint8_t {
    create,  // makes the file where it is missing, migrates it to the newest schema
    write,   // as create, but the file must be there
    read,    // changes nothing
  };

  // "memlog" in SQLite's application_id: 'mlog'.
  static constexpr int64_t kApplicationId = 0x6D6C6F67;
  // Error::code of opening a file for reading that a writing connection would first bring up to date.
  static constexpr int kOlderSchema = -1;

  // One clear line for a file that is missing, a directory, a link, no database, another program's, newer
  // than this memlog (both versions named; not a byte is written), damaged, unwritable or locked.
  static Result<Database> open(const std::string& path, Mode mode);

  // An empty database of the newest schema that only this connection has and that ends with it: in memory,
  // and beyond that in a nameless temporary file.
  static Result<Database> open_private();

  const std::string& path() const { return path_; }

  // Runs every statement of `sql`.
  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // The first statement of `sql` and what follows it (only blanks and comments: empty).
  struct Prepared {
    Statement statement;  // empty where `sql` holds none
    std::string_view rest;
  };
  Result<Prepared> prepare_first(std::string_view sql);
  // Calls `row` for each row. No transaction is open afterwards that was not open before.
  Status each(std::string_view sql, const std::vector<SqlValue>& values,
              const std::function<void(const Statement&)>& row);
  // The first column of the first row; NULL where there is none.
  Result<Nullable> integer(std::string_view sql, const std::vector<SqlValue>& values = {});

  int64_t last_insert_id() const;
  bool in_transaction() const;

  // From now on only questions are let through: no write, ATTACH, PRAGMA that sets, transaction, extension or
  // temporary table, whatever the statement hides it in.
  void allow_only_reading();
  // Makes the running statement end with an error. Safe in a signal handler.
  void interrupt();
  // Moves what the WAL holds into the file as far as readers allow; never waits.
  void checkpoint();
  // Whether the file is still what its path names. Two stat calls.
  FilePlace place() const { return watch_.place(path_); }
  // Writes a consistent copy, what the WAL holds included, to `path`, which must not exist. Writers go on meanwhile.
  Status copy_to(const std::string& path);

  // Whether `sql` ends with a complete statement (a semicolon outside quotes, comments and triggers).
  static bool is_complete(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(sqlite3* connection, std::string path) : connection_(connection), path_(std::move(path)) {}

  static Result<Database> connect(const std::string& path, Mode mode);
  Status check_header(Mode mode);
  Status check_size(int64_t size, int64_t pages, int64_t page_size) const;
  Status check_version(Mode mode);
  Status prepare_to_write();
  Status use_wal();
  Status migrate();
  Error opening_error() const;

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  FileWatch watch_;
  bool only_reads_ = false;
};

// One write transaction: takes the write lock at once (waiting as long as busy_timeout), rolls back unless
// committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  // A consistent snapshot for several questions; commit() or the destructor lets it go.
  static Result<Transaction> begin_reading(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace memlog
