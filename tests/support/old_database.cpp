// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "store/schema.h"
#include "support/run_fixture.h"

namespace memlog::testing {

void make_database_of_version(const std::string& path, int version) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  for (const Migration& migration : migrations()) {
    if (migration.version > version) break;
    const std::string sql = std::string(migration.sql) +
                            "; PRAGMA application_id = " + std::to_string(Database::kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(migration.version);
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << migration.name;
  }
  sqlite3_close(connection);
}

}  // namespace memlog::testing
