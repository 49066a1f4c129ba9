// SPDX-License-Identifier: Apache-2.0
#include "cli/schema_text.h"

#include <gmock/gmock.h>

#include <map>

#include "store/schema.h"
#include "support/run_fixture.h"

namespace memlog::testing {
namespace {

TEST(SchemaReadme, DescribesEveryTableViewAndColumnAndNoOther) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(Database::open(directory / "new.db", Database::Mode::create));
  std::map<std::string, std::vector<std::string>> schema;
  for (const std::string& row : rows_of(directory / "new.db",
                                        "SELECT tables.name, columns.name FROM pragma_table_list AS tables "
                                        "JOIN pragma_table_info(tables.name) AS columns "
                                        "WHERE tables.schema = 'main' AND tables.name NOT LIKE 'sqlite_%' "
                                        "ORDER BY tables.name, columns.cid")) {
    const size_t bar = row.find('|');
    schema[row.substr(0, bar)].push_back(row.substr(bar + 1));
  }
  std::map<std::string, std::vector<std::string>> described;
  for (const TableMeaning& table : parse_schema_readme(schema_readme())) {
    EXPECT_FALSE(table.meaning.empty()) << table.name;
    for (const ColumnMeaning& column : table.columns) {
      described[table.name].push_back(column.name);
      EXPECT_FALSE(column.unit.empty()) << table.name << '.' << column.name;
      EXPECT_FALSE(column.meaning.empty()) << table.name << '.' << column.name;
    }
  }
  EXPECT_EQ(described, schema);
}

TEST(SchemaReadme, IsTheFileInTheTree) {
  EXPECT_EQ(schema_readme(), file_bytes(MEMLOG_SOURCE "/schema/README.md"));
}

TEST(SchemaText, ShowsOneTableWithItsUnits) {
  const std::string text = schema_text(
      "# All\nprose\n## `a`\nIts text.\n\n| column | unit | meaning |\n|---|---|---|\n"
      "| `x_bytes` | bytes | the size |\n## `b`\nOther.\n",
      "a", 80);
  EXPECT_EQ(text, "a\n  Its text.\n  x_bytes  bytes  the size\n");
}

TEST(SchemaText, OfAnUnknownTableIsEmpty) { EXPECT_EQ(schema_text(schema_readme(), "nosuch", 80), ""); }

}  // namespace
}  // namespace memlog::testing
