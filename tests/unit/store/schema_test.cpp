// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

#include <gmock/gmock.h>

#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

std::vector<std::string> migration_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MEMLOG_SOURCE "/schema")) {
    if (entry.path().extension() == ".sql") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Schema, EveryFileIsAMigrationAndItsNumberIsTheVersionItLeadsTo) {
  std::vector<std::string> built_in;
  for (const Migration& migration : migrations()) {
    built_in.emplace_back(migration.name);
    EXPECT_GE(migration.version, static_cast<int>(built_in.size()));
    EXPECT_EQ(std::stoi(built_in.back().substr(0, 4)), migration.version);
    EXPECT_EQ(migration.sql, file_bytes(MEMLOG_SOURCE "/schema/" + built_in.back()));
  }
  EXPECT_EQ(built_in, migration_files());
}

TEST(Schema, ANewDatabaseIsAtTheNewestVersion) {
  const TemporaryDirectory directory;
  Result<Database> database = Database::open(directory / "new.db", Database::Mode::create);
  ASSERT_TRUE(database);
  EXPECT_EQ(database->integer("PRAGMA user_version")->value(), newest_schema_version());
  EXPECT_EQ(database->integer("PRAGMA application_id")->value(), Database::kApplicationId);
}

TEST(Schema, EveryTableIsStrictSoThatUnitsCannotTurnIntoText) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(Database::open(directory / "new.db", Database::Mode::create));
  EXPECT_EQ(
      rows_of(directory / "new.db",
              "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict "
              "AND name NOT LIKE 'sqlite_%'"),
      std::vector<std::string>{});
}

}  // namespace
}  // namespace memlog::testing
