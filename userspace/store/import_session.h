// SPDX-License-Identifier: Apache-2.0
// ImportSession: stores runs that come from files, all or none, without keeping others from the database.
//
// A big import takes minutes, and the write lock held that long would make a recorder lose samples. So the rows
// go in by many short transactions, under ids of runs that have no row in `run`: nothing that memlog asks sees
// them. publish() inserts the rows of `run` in one transaction: from then on all of it is there. Until then
// `unfinished_import` names the ids and who is at it; what a killed import left behind is taken away by the next
// one. Between two transactions there is a pause where a recorder works on the same file, long enough for it to
// get its turn.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace memlog {

// A row of `run` that is yet to be inserted.
struct RunRow {
  int64_t id = 0;
  std::map<std::string, std::variant<Nullable, std::string>> values;  // by column
  Status insert(Database& database) const;
};

class ImportSession {
 public:
  // Begins a transaction. `database` outlives the session.
  static Result<ImportSession> begin(Database& database);
  ImportSession(ImportSession&& other) noexcept = default;
  ImportSession& operator=(ImportSession&&) = delete;
  ImportSession(const ImportSession&) = delete;
  ImportSession& operator=(const ImportSession&) = delete;
  ~ImportSession();  // not published: what was stored is taken away again

  // An id for a run; nobody else gets it.
  Result<int64_t> reserve_run();
  // Whether the transaction has been open long enough: the caller hands in what it holds back and then calls
  // commit_part(), which commits, lets others write and begins a new one.
  bool is_due();
  Status commit_part();
  // Commits the last part and makes all runs visible.
  Status publish(const std::vector<RunRow>& rows);

 private:
  explicit ImportSession(Database& database) : database_(&database) {}
  Status begin_part();
  Status give_way();

  Database* database_;
  std::optional<Transaction> transaction_;
  std::vector<int64_t> run_ids_;
  int64_t part_began_ns_ = 0;
  int64_t asked_ns_ = 0;
  bool has_recorder_ = false;
  bool is_published_ = false;
};

// Takes away what imports that were killed have left. Many short transactions.
Status remove_broken_imports(Database& database);

}  // namespace memlog
