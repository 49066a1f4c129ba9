// SPDX-License-Identifier: Apache-2.0
// Cells of the database as what they mean in memlog: what every query of processes needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/records.h"
#include "store/database.h"

namespace memlog {

// nullopt for NULL.
std::optional<std::string> optional_text(const Statement& row, int column);

EndReason end_reason_from(std::string_view stored);               // an unknown word: unseen
PeakSource peak_source_from(std::string_view stored);             // empty (NULL): none
DeviceUserState device_user_state_from(std::string_view stored);  // an unknown word: unknown

}  // namespace memlog
