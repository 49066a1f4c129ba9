// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "store/database_error.h"

namespace memlog {
namespace {

// PRAGMAs that only tell. Those of the second list tell without an argument and set with one.
constexpr std::array<std::string_view, 16> kTellingPragmas = {
    "table_info",     "table_xinfo",     "table_list",       "index_list",
    "index_info",     "index_xinfo",     "foreign_key_list", "database_list",
    "collation_list", "function_list",   "compile_options",  "page_count",
    "freelist_count", "integrity_check", "quick_check",      "pragma_list"};
constexpr std::array<std::string_view, 6> kPragmasToldUnset = {
    "user_version", "application_id", "page_size", "encoding", "journal_mode", "schema_version"};

bool pragma_only_reads(std::string_view name, const char* argument) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (std::find(kTellingPragmas.begin(), kTellingPragmas.end(), lower) != kTellingPragmas.end()) return true;
  return argument == nullptr &&
         std::find(kPragmasToldUnset.begin(), kPragmasToldUnset.end(), lower) != kPragmasToldUnset.end();
}

std::vector<std::string> table_valued_functions() {
  std::vector<std::string> names = {"json_each('[]')", "json_tree('[]')", "dbstat"};
  for (const std::string_view pragma : kTellingPragmas) names.push_back("pragma_" + std::string(pragma));
  for (const std::string_view pragma : kPragmasToldUnset) names.push_back("pragma_" + std::string(pragma));
  return names;
}

Error only_questions_error() {
  return {"reading the query", "only questions are allowed: memlog sql never changes a database", "", 0};
}

int authorize_reading(void* /*unused*/, int action, const char* first, const char* second,
                      const char* /*schema*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return first != nullptr && pragma_only_reads(first, second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

Error explain_sqlite_error(sqlite3* connection, std::string doing) {
  const int code = sqlite3_extended_errcode(connection);
  const int system_code = sqlite3_system_errno(connection);
  const std::string message = sqlite3_errmsg(connection);
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return {std::move(doing), "the disk is full", "free some space on the file's disk", ENOSPC};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {std::move(doing), "another process holds the file locked", "", EBUSY};
    case SQLITE_CORRUPT:
      return {std::move(doing), "the file is damaged (" + message + ")", kDamagedHint, EIO};
    case SQLITE_NOTADB:
      return {std::move(doing), "not a memlog database", "", 0};
    case SQLITE_IOERR:
      if (system_code == ENOSPC || system_code == EDQUOT)
        return {std::move(doing), std::strerror(system_code), "free some space on the file's disk",
                system_code};
      return {std::move(doing), system_code != 0 ? std::strerror(system_code) : message.c_str(), "",
              system_code != 0 ? system_code : EIO};
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {std::move(doing), system_code != 0 ? std::strerror(system_code) : message.c_str(), "", EACCES};
    default:
      return {std::move(doing), message, "", 0};
  }
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::bind(int index, Nullable value) {
  const int code = value.has_value() ? sqlite3_bind_int64(statement_.get(), index, value.value())
                                     : sqlite3_bind_null(statement_.get(), index);
  if (code != SQLITE_OK && bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int index, std::string_view text) {
  const char* bytes = text.data() == nullptr ? "" : text.data();
  const int code =
      sqlite3_bind_text64(statement_.get(), index, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK && bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int index, const std::optional<std::string>& text) {
  if (text) {
    bind(index, std::string_view(*text));
  } else {
    bind(index, Nullable());
  }
}

void Statement::bind_value(int index, const SqlValue& value) {
  std::visit([&](const auto& held) { bind(index, held); }, value);
}

Result<bool> Statement::step() {
  sqlite3* connection = sqlite3_db_handle(statement_.get());
  if (bind_error_ != SQLITE_OK) {
    const Error error{"asking the database", sqlite3_errstr(bind_error_), "", 0};
    bind_error_ = SQLITE_OK;
    return error;
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  const Error error = explain_sqlite_error(connection, "using the database");
  reset();
  return error;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

Status Statement::finish() {
  while (true) {
    const Result<bool> row = step();
    if (!row) return row.error();
    if (!*row) return Ok{};
  }
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name == nullptr ? "" : name;
}

ColumnKind Statement::kind(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return ColumnKind::integer;
    case SQLITE_FLOAT:
      return ColumnKind::real;
    case SQLITE_TEXT:
      return ColumnKind::text;
    case SQLITE_BLOB:
      return ColumnKind::blob;
    default:
      return ColumnKind::null;
  }
}

Nullable Statement::integer(int column) const {
  if (kind(column) == ColumnKind::null) return {};
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::optional<std::string_view> Statement::text(int column) const {
  if (kind(column) == ColumnKind::null) return std::nullopt;
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const auto length = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return std::string_view(bytes == nullptr ? "" : static_cast<const char*>(bytes), length);
}

std::string Statement::text_or(int column, std::string_view other) const {
  return std::string(text(column).value_or(other));
}

bool Statement::is_read_only() const { return sqlite3_stmt_readonly(statement_.get()) != 0; }

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    return explain_sqlite_error(connection_.get(), "using the database " + printable(path_));
  return Ok{};
}

Result<Database::Prepared> Database::prepare_first(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()), 0, &statement, &rest);
  if (code == SQLITE_OK) {
    Prepared prepared{Statement(statement), sql.substr(static_cast<size_t>(rest - sql.data()))};
    // VACUUM asks the authorizer only when it runs.
    if (only_reads_ && prepared.statement && !prepared.statement.is_read_only())
      return only_questions_error();
    return prepared;
  }
  Error error = explain_sqlite_error(connection_.get(), "reading the query");
  if (code == SQLITE_AUTH) {
    return only_questions_error();
  } else if (const int offset = sqlite3_error_offset(connection_.get());
             offset >= 0 && static_cast<size_t>(offset) < sql.size()) {
    std::string_view part = sql.substr(static_cast<size_t>(offset));
    part = part.substr(0, std::min(part.find('\n'), size_t{40}));
    error.reason += fmt::format(", at: {}", printable(part));
  }
  return error;
}

Result<Statement> Database::prepare(std::string_view sql) {
  Result<Prepared> prepared = prepare_first(sql);
  if (!prepared) return prepared.error();
  return std::move(prepared->statement);
}

Status Database::each(std::string_view sql, const std::vector<SqlValue>& values,
                      const std::function<void(const Statement&)>& row) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  int index = 0;
  for (const SqlValue& value : values) statement->bind_value(++index, value);
  while (true) {
    const Result<bool> has_row = statement->step();
    if (!has_row) return has_row.error();
    if (!*has_row) return Ok{};
    row(*statement);
  }
}

Result<Nullable> Database::integer(std::string_view sql, const std::vector<SqlValue>& values) {
  Nullable value;
  const Status status = each(sql, values, [&](const Statement& row) { value = row.integer(0); });
  if (!status) return status.error();
  return value;
}

int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(connection_.get()); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }
void Database::interrupt() { sqlite3_interrupt(connection_.get()); }

Status Database::copy_to(const std::string& path) {
  const std::string doing = "copying the database to " + printable(path);
  const Result<std::string> canonical = canonical_database_path(path);
  if (!canonical)
    return Error{doing, canonical.error().reason, canonical.error().hint, canonical.error().code};
  const Result<FilePresence> presence = look_at_database_file(*canonical);
  if (!presence) return Error{doing, presence.error().reason, presence.error().hint, presence.error().code};
  if (*presence == FilePresence::regular) return Error{doing, "there is such a file already", "", EEXIST};
  if (const Status made = make_database_file(*canonical); !made) return made;
  Result<Statement> vacuum = prepare("VACUUM INTO ?");
  const Status copied = vacuum ? vacuum->run(*canonical) : Status(vacuum.error());
  if (copied) return Ok{};
  unlink(canonical->c_str());
  return Error{doing, copied.error().reason, copied.error().hint, copied.error().code};
}

void Database::checkpoint() {
  sqlite3_wal_checkpoint_v2(connection_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void Database::allow_only_reading() {
  // A table-valued function declares its table at its first use, which the authorizer would take for a
  // change.
  for (const std::string& function : table_valued_functions())
    sqlite3_exec(connection_.get(), ("SELECT 1 FROM " + function + " LIMIT 0").c_str(), nullptr, nullptr,
                 nullptr);
  sqlite3_exec(connection_.get(), "PRAGMA query_only = ON", nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(connection_.get(), authorize_reading, nullptr);
  only_reads_ = true;
}

bool Database::is_complete(const std::string& sql) { return sqlite3_complete(sql.c_str()) == 1; }

Result<Transaction> Transaction::begin(Database& database) {
  if (const Status status = database.execute("BEGIN IMMEDIATE"); !status) return status.error();
  return Transaction(database);
}

Result<Transaction> Transaction::begin_reading(Database& database) {
  if (const Status status = database.execute("BEGIN"); !status) return status.error();
  return Transaction(database);
}

Transaction::~Transaction() {
  // After a full disk or an I/O error SQLite has rolled back by itself.
  if (database_ != nullptr && database_->in_transaction()) static_cast<void>(database_->execute("ROLLBACK"));
}

Status Transaction::commit() {
  Status status = database_->execute("COMMIT");
  if (status) database_ = nullptr;
  return status;
}

}  // namespace memlog
