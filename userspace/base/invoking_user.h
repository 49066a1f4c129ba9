// SPDX-License-Identifier: Apache-2.0
// The user who typed the command: under sudo not root but the one named by SUDO_UID and SUDO_GID.
//
// What memlog makes under sudo (database, pictures, CSV) belongs to that user, and the default database is
// found in that user's state directory, so that `sudo memlog trace` and a later plain `memlog runs` meet.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace memlog {

struct InvokingUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // empty where the uid has no passwd entry
  std::string home;  // empty where the uid has no passwd entry
};

// From SUDO_UID / SUDO_GID where the process is root and they are set and well-formed, else the real ids.
InvokingUser invoking_user();

// Gives the open file `fd` to the invoking user. Nothing happens where memlog does not run as root for
// another.
Status give_to_invoking_user(int fd, const std::string& path);

}  // namespace memlog
