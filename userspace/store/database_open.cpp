// SPDX-License-Identifier: Apache-2.0
// Opening a database: whose file is it, may this memlog touch it, and bringing it up to date.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "store/database.h"
#include "store/database_error.h"
#include "store/database_file.h"
#include "store/schema.h"

namespace memlog {
namespace {

constexpr int kBusyTimeoutMs = 20'000;
constexpr size_t kHeaderBytes = 100;  // SQLite's file header

// Called by SQLite while another holds the lock: 0 gives up. Its own handler would sleep for a tenth of a second
// between two tries and so miss the pauses that an import makes for a recorder.
int wait_while_busy(void* /*unused*/, int tries) {
  constexpr int quick_tries = 20;
  constexpr int sleep_ms = 5;
  if (tries >= quick_tries + kBusyTimeoutMs / sleep_ms) return 0;
  usleep(tries < quick_tries ? 1000 : sleep_ms * 1000);
  return 1;
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

}  // namespace

Error Database::opening_error() const {
  return explain_sqlite_error(connection_.get(), "opening the database " + printable(path_));
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

Result<Database> Database::open_private() {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2("", &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "unix");
  if (connection == nullptr) return Error{"making a temporary database", "out of memory", "", ENOMEM};
  Database database(connection, "temporary");
  if (code != SQLITE_OK) return database.opening_error();
  Status status =
      database.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768;");
  if (status) status = database.migrate();
  if (!status) return status.error();
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
  database.watch_ = FileWatch(path);
  sqlite3_busy_handler(connection, wait_while_busy, nullptr);
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
  // One snapshot: another process may be making the very same file.
  const Result<Transaction> snapshot = Transaction::begin_reading(*this);
  if (!snapshot) return opening_error();
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
  return execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -1024;");
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

}  // namespace memlog
