// SPDX-License-Identifier: Apache-2.0
// Where the database is when the user does not say: $MEMLOG_DB, else memlog/memlog.db in the state directory
// of the invoking user (SUDO_UID), never on a network file system: WAL shares memory between processes, which
// two hosts cannot. Where the state directory is on one, /var/tmp/memlog-UID/memlog.db takes its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/invoking_user.h"
#include "base/result.h"

namespace memlog {

// Where to look. `given` is --db's value or empty. Nothing is made.
Result<std::string> database_path(const std::string& given);
// Where to record. A path that the user named must have its directory and not be on a network file system;
// the default place is made as far as it is missing and belongs to the invoking user. Says once where that is
// not the home.
Result<std::string> prepare_database_path(const std::string& given);

// The parts of the above that a test holds against literal worlds.

// A network file system's name ("nfs"), by statfs's magic and, where FUSE hides what it is, the mount's type
// ("fuse.sshfs").
std::optional<std::string> network_file_system(uint64_t magic, std::string_view mount_type);
// The mount type of device MAJOR:MINOR in the text of /proc/self/mountinfo; empty where it is not there.
std::string parse_mount_type(std::string_view mountinfo, unsigned int major, unsigned int minor);
// The directory for the state of programs. $XDG_STATE_HOME counts where it is absolute and the environment is
// the user's own (not sudo's). Empty: there is no home.
std::string state_directory(const InvokingUser& user, bool is_own_environment, const char* xdg_state_home);
// Makes what is missing of `directory` (mode 0700, given to the invoking user) without following a link below
// what exists.
Status make_directories(const std::string& directory);

}  // namespace memlog
