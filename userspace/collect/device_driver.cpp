// SPDX-License-Identifier: Apache-2.0
#include "collect/device_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr size_t kMostPidsBytes = size_t{1} << 20U;
constexpr size_t kAttributeBytes = 256;

std::optional<std::string> attribute(const std::string& directory, const char* name) {
  const Result<std::string> text = read_small_file(directory + "/" + name, kAttributeBytes);
  if (!text) return std::nullopt;
  const std::string_view value = trim(*text);
  if (value.empty()) return std::nullopt;
  return valid_utf8(value);
}

}  // namespace

Result<std::vector<pid_t>> read_device_users(const std::string& proc, int number) {
  const std::string path = fmt::format("{}/driver/tenstorrent/{}/pids", proc, number);
  const Result<std::string> text = read_small_file(path, kMostPidsBytes);
  if (!text) {
    Error error = text.error();
    if (error.code == ENOENT)
      error.hint = "is the Tenstorrent driver loaded, and is there a card of this number?";
    return error;
  }
  std::vector<pid_t> pids;
  for_each_line(*text, [&](std::string_view line) {
    const std::optional<int64_t> pid = parse_int(trim(line));
    if (pid && *pid > 0 && *pid <= INT_MAX) pids.push_back(static_cast<pid_t>(*pid));
  });
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::vector<int> list_driver_devices(const std::string& proc) {
  std::vector<int> numbers;
  std::error_code error;
  std::filesystem::directory_iterator entry(proc + "/driver/tenstorrent", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<int64_t> number = parse_int(entry->path().filename().string());
    if (number && *number >= 0 && *number <= INT_MAX) numbers.push_back(static_cast<int>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<CardIdentity> read_card_identity(const std::string& sys, int number) {
  const std::string directory = fmt::format("{}/class/tenstorrent/tenstorrent!{}", sys, number);
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return std::nullopt;
  return CardIdentity{attribute(directory, "tt_card_type"), attribute(directory, "tt_serial"),
                      attribute(directory, "tt_asic_id"), attribute(directory, "tt_fw_bundle_ver")};
}

}  // namespace memlog
