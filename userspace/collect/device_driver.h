// SPDX-License-Identifier: Apache-2.0
// The Tenstorrent kernel driver, where there is one: which processes have a card open, and which card it is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memlog {

// Pids that have /dev/tenstorrent/<number> open, ascending, from <proc>/driver/tenstorrent/<number>/pids. The
// driver writes one line an open file: a pid comes once here, and 0 (a process that this pid namespace does
// not show) not at all. The error's code is ENOENT where the driver or the card is not there.
Result<std::vector<pid_t>> read_device_users(const std::string& proc, int number);

// The numbers of the cards that the driver knows, ascending; empty where there is no driver.
std::vector<int> list_driver_devices(const std::string& proc);

// What the driver says of a card, as it words it; nullopt where it does not say.
struct CardIdentity {
  std::optional<std::string> card_type;  // "n300"
  std::optional<std::string> serial;
  std::optional<std::string> asic_id;
  std::optional<std::string> firmware;
};
// From <sys>/class/tenstorrent/tenstorrent!<number>/; nullopt where there is no such card.
std::optional<CardIdentity> read_card_identity(const std::string& sys, int number);

}  // namespace memlog
