// SPDX-License-Identifier: Apache-2.0
#include "query/stored_words.h"

namespace memlog {

std::optional<std::string> optional_text(const Statement& row, int column) {
  const std::optional<std::string_view> text = row.text(column);
  if (!text) return std::nullopt;
  return std::string(*text);
}

EndReason end_reason_from(std::string_view stored) {
  for (const EndReason reason :
       {EndReason::running, EndReason::exited, EndReason::signaled, EndReason::oom_killed}) {
    if (stored == word(reason)) return reason;
  }
  return EndReason::unseen;
}

PeakSource peak_source_from(std::string_view stored) {
  if (stored == word(PeakSource::kernel)) return PeakSource::kernel;
  return stored.empty() ? PeakSource::none : PeakSource::sampled;
}

DeviceUserState device_user_state_from(std::string_view stored) {
  for (const DeviceUserState state : {DeviceUserState::live, DeviceUserState::dead, DeviceUserState::left}) {
    if (stored == word(state)) return state;
  }
  return DeviceUserState::unknown;
}

}  // namespace memlog
