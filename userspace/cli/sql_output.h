// SPDX-License-Identifier: Apache-2.0
// The rows of a query as a table, CSV or JSON, written as they come.
//
// CSV: RFC 4180 quoting with '\n' line ends; NULL is an empty field, an empty text is "". JSON: an array of
// objects, one a line; columns of the same name get "_2", "_3"; blobs are hexadecimal. A table is aligned by
// its first 1000 rows; longer cells that come later stick out. Memory is bounded in every format.
#pragma once

#include "base/result.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "store/database.h"

namespace memlog {

// Steps `statement` to its end. An error of the query is the result; rows written before it stay written.
Status write_rows(Statement& statement, TableFormat format, Output& output);

}  // namespace memlog
