// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "store/database_file.h"
#include "store/schema.h"

namespace memlog {
namespace {

constexpr int kBusyTimeoutMs = 20'000;
constexpr size_t kHeaderBytes = 100;  // SQLite's file header
constexpr const char* kDamagedHint =
    "move it away together with its -wal and -shm files; a new one is made at the next recording";

// The reason of a failure, in the user's words, and what memlog makes of it as an errno.
Error explain(sqlite3* connection, std::string doing) {
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

uint32_t big_endian(const std::array<unsigned char, kHeaderBytes>& bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) << 24U | static_cast<uint32_t>(bytes[at + 1]) << 16U |
         static_cast<uint32_t>(bytes[at + 2]) << 8U | bytes[at + 3];
}

bool has_wal_content(const std::string& path) {
  struct stat status{};
  return stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0;
}

Error missing_error(const std::string& path) {
  return {"opening the database " + printable(path), "there is no such file",
          "record something first: memlog trace --name NAME; or name the file with --db", ENOENT};
}

Error newer_error(const std::string& path, int64_t version) {
  return {"opening the database " + printable(path),
          fmt::format("was written by a newer memlog (schema version {}; this memlog knows {})", version,
                      newest_schema_version()),
          "use that memlog, or another file with --db", 0};
}

Error foreign_error(const std::string& path) {
  return {"opening the database " + printable(path),
          "an SQLite database of another program, not a memlog database", "name another file with --db", 0};
}

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
  const Error error = explain(connection, "using the database");
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

Error Database::opening_error() const {
  return explain(connection_.get(), "opening the database " + printable(path_));
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  const Result<std::string> canonical = canonical_database_path(path);
  if (!canonical && canonical.error().code == ENOENT && mode != Mode::create) return missing_error(path);
  if (!canonical) return canonical.error();
  const Result<FilePresence> presence = look_at_database_file(*canonical);
  if (!presence) return presence.error();
  if (*presence == FilePresence::missing) {
    if (mode != Mode::create) return missing_error(*canonical);
    if (const Status made = make_database_file(*canonical); !made) return made.error();
  }
  Result<Database> database = connect(*canonical, mode);
  if (!database) return database.error();
  if (const Status status = database->check_header(mode); !status) return status.error();
  if (const Status status = database->check_version(mode); !status) return status.error();
  if (mode != Mode::read) {
    if (const Status status = database->prepare_to_write(); !status) return status.error();
  }
  return database;
}

Result<Database> Database::connect(const std::string& path, Mode mode) {
  const int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, "unix");
  if (connection == nullptr)
    return Error{"opening the database " + printable(path), "out of memory", "", ENOMEM};
  Database database(connection, path);
  if (code != SQLITE_OK) {
    Error error = database.opening_error();
    if (error.code == EACCES)
      error.hint = "the file belongs to another user: use sudo, or another file with --db";
    return error;
  }
  if (mode != Mode::read && sqlite3_db_readonly(connection, "main") == 1)
    return Error{"opening the database " + printable(path), "the file is not writable",
                 "use sudo, or another file with --db", EACCES};
  sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // Until the file is known to be ours, its WAL is left alone.
  if (has_wal_content(path)) sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return database;
}

// Looks at the file's first bytes through SQLite's own descriptor, before SQLite does anything to the file.
// What the WAL may still change is left to check_version().
Status Database::check_header(Mode mode) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (file == nullptr || file->pMethods == nullptr) return opening_error();
  struct stat status{};  // xFileSize calls a file of one byte empty
  if (stat(path_.c_str(), &status) != 0)
    return errno_error("opening the database " + printable(path_), errno);
  const int64_t size = status.st_size;
  if (size == 0) {
    if (mode == Mode::read && !has_wal_content(path_))
      return Error{"opening the database " + printable(path_),
                   "the file is empty: nothing was recorded into it", "", 0};
    return Ok{};
  }
  std::array<unsigned char, kHeaderBytes> header{};
  const int code = file->pMethods->xRead(file, header.data(), kHeaderBytes, 0);
  if (code == SQLITE_IOERR_SHORT_READ || std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return opening_error();
    return Error{"opening the database " + printable(path_), "not a memlog database",
                 "name another file with --db", 0};
  }
  if (Status status = check_size(size, big_endian(header, 28), header[16] << 8 | header[17]); !status)
    return status;
  const bool is_wal = header[18] == 2;
  const uint32_t version = big_endian(header, 60);
  const uint32_t application = big_endian(header, 68);
  const bool is_undecided = application == 0 && is_wal;  // our first migration may still be in the WAL
  if (application != kApplicationId && !is_undecided) return foreign_error(path_);
  if (application == kApplicationId && version > static_cast<uint32_t>(newest_schema_version()))
    return newer_error(path_, version);
  return Ok{};
}

// SQLite reads what is missing of a last page as zeros. With content in the WAL the file may lag behind.
Status Database::check_size(int64_t size, int64_t pages, int64_t page_size) const {
  if (page_size == 1) page_size = 65536;  // as the format writes it
  if (has_wal_content(path_) || page_size < 512) return Ok{};
  if (size % page_size == 0 && size >= pages * page_size) return Ok{};
  return Error{"opening the database " + printable(path_), "the file is damaged (it was cut short)",
               kDamagedHint, EIO};
}

Status Database::check_version(Mode mode) {
  const Result<Nullable> version = integer("PRAGMA user_version");
  const Result<Nullable> application = version ? integer("PRAGMA application_id") : version;
  const Result<Nullable> tables = application ? integer("SELECT count(*) FROM sqlite_schema") : application;
  if (!tables) {
    Error error = opening_error();
    if (error.code == EACCES)
      error.hint =
          "reading a live recording needs write access to its directory: use sudo, or copy the file together "
          "with its -wal file";
    return error;
  }
  const bool is_blank =
      application->value_or(0) == 0 && version->value_or(0) == 0 && tables->value_or(0) == 0;
  if (!is_blank && *application != Nullable(kApplicationId)) return foreign_error(path_);
  if (version->value_or(0) > newest_schema_version()) return newer_error(path_, version->value());
  if (mode == Mode::read) {
    if (is_blank)
      return Error{"opening the database " + printable(path_),
                   "the file is empty: nothing was recorded into it", "", 0};
    if (version->value_or(0) < newest_schema_version())
      return Error{"opening the database " + printable(path_),
                   fmt::format("was written by an older memlog (schema version {}; this memlog reads {})",
                               version->value_or(0), newest_schema_version()),
                   "open it once as a user who may write it: it is then brought up to date", kOlderSchema};
  }
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, mode == Mode::read ? 1 : 0, nullptr);
  return execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -2048;");
}

Status Database::prepare_to_write() {
  if (Status status = use_wal(); !status) return status;
  if (Status status = execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                              "PRAGMA journal_size_limit = 8388608; PRAGMA wal_autocheckpoint = 1000;");
      !status)
    return status;
  return migrate();
}

Status Database::use_wal() {
  // Leaving the rollback journal needs the file for itself, and SQLite does not wait for that: another maker
  // of the same new file may be at it.
  for (int tries = 0;; ++tries) {
    std::string mode;
    const Status status =
        each("PRAGMA journal_mode = WAL", {}, [&](const Statement& row) { mode = row.text_or(0); });
    if (status && mode == "wal") return Ok{};
    if (status)
      return Error{"opening the database " + printable(path_),
                   "its file system cannot do write-ahead logging", "name a file on a local disk with --db",
                   0};
    if (status.error().code != EBUSY || tries == kBusyTimeoutMs / 10) {
      Error error = opening_error();
      if (error.code == EACCES) {
        error.reason = "its directory is not writable";
        error.hint = "use sudo, or another file with --db";
      }
      return error;
    }
    usleep(10'000);
  }
}

Status Database::migrate() {
  for (const Migration& migration : migrations()) {
    const auto failed = [&](const Error& error) {
      return Error{"bringing the database " + printable(path_) + " up to " + std::string(migration.name),
                   error.reason, error.hint, error.code};
    };
    const Result<Nullable> current = integer("PRAGMA user_version");
    if (!current) return failed(current.error());
    if (current->value_or(0) >= migration.version) continue;
    Result<Transaction> transaction = Transaction::begin(*this);
    if (!transaction) return failed(transaction.error());
    const Result<Nullable> again = integer("PRAGMA user_version");  // another process may have been faster
    if (!again) return failed(again.error());
    if (again->value_or(0) >= migration.version) continue;
    Status status = execute(std::string(migration.sql));
    if (status)
      status = execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId,
                                   migration.version));
    if (status) status = transaction->commit();
    if (!status) return failed(status.error());
  }
  return Ok{};
}

Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return explain(connection_.get(), "using the database " + printable(path_));
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
  Error error = explain(connection_.get(), "reading the query");
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
