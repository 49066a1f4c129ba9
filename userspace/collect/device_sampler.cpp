// SPDX-License-Identifier: Apache-2.0
#include "collect/device_sampler.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/small_file.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr int kMostReads = 4;
constexpr size_t kLastUpdateAt = 8;
constexpr int64_t kSettlingNs = 200 * kNsPerMs;
constexpr int64_t kListIntervalNs = kNsPerSecond;
constexpr int64_t kTimestampGrainNs = 50 * kNsPerMs;  // file timestamps move in steps below this

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

FileIdentity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

Nullable saturating_rest(Nullable total, Nullable part) {
  if (!total.has_value() || !part.has_value()) return {};
  return std::max<int64_t>(0, total.value() - part.value());
}

}  // namespace

Status DeviceSampler::sample(int64_t now_ns, int64_t wall_minus_boot_ns, const Sink& sink) {
  now_ns_ = now_ns;
  users_.begin_tick(now_ns, wall_minus_boot_ns);
  // Opened anew each time: the directory of a container may be another one by now.
  const int fd = open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const OwnedFd directory(fd);
  Status listed =
      fd < 0 ? Status(errno_error("listing " + printable(options_.directory), errno)) : list(fd, now_ns);
  if (fd < 0) {
    for (auto& [number, known] : known_) known.is_listed = false;
  }
  for (auto item = known_.begin(); item != known_.end();) {
    reading_.number = item->first;
    look(item->second, fd, reading_);
    sink(reading_);
    if (reading_.is_gone) {
      close_region(item->second);
      item = known_.erase(item);
    } else {
      ++item;
    }
  }
  return listed;
}

// Lists only where the directory has changed since, or may have within one step of its timestamp; and once a
// second.
Status DeviceSampler::list(int directory, int64_t now_ns) {
  struct stat status{};
  if (fstat(directory, &status) != 0) return errno_error("listing " + printable(options_.directory), errno);
  const int64_t mtime_ns = status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec;
  if (mtime_ns == listed_mtime_ns_ && now_ns - listed_ns_ < kListIntervalNs) return Ok{};
  const int copy = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, CloseDirectory> entries(copy < 0 ? nullptr : fdopendir(copy));
  if (!entries) {
    if (copy >= 0) ::close(copy);
    return errno_error("listing " + printable(options_.directory), errno);
  }
  const bool is_settled = std::abs(wall_now_ns() - mtime_ns) > kTimestampGrainNs;
  listed_mtime_ns_ = is_settled ? mtime_ns : -1;
  listed_ns_ = now_ns;
  note_names(directory, *entries);
  return Ok{};
}

void DeviceSampler::note_names(int directory, DIR& entries) {
  for (auto& [number, known] : known_) known.is_listed = false;
  left_out_count_ = 0;
  while (const dirent* entry = readdir(&entries)) {
    const std::optional<uint64_t> number = parse_region_name(entry->d_name);
    if (!number) continue;
    if (!known_.contains(*number) && known_.size() >= options_.most_regions) {
      ++left_out_count_;
      continue;
    }
    Known& known = known_[*number];
    known.name = entry->d_name;
    known.is_listed = true;
    struct stat status{};
    const bool is_there = fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (known.fd && (!is_there || identity_of(status) != known.file)) close_region(known);
  }
}

void DeviceSampler::close_region(Known& known) {
  if (known.fd) --kept_files_;
  known.fd.reset();
}

void DeviceSampler::look(Known& known, int directory, DeviceReading& reading) {
  reading.name = known.name;
  reading.is_gone = false;
  reading.is_made_anew = false;
  reading.is_settling = false;
  reading.error_code = 0;
  reading.reason.clear();
  reading.region = nullptr;
  reading.users.clear();
  reading.live_bytes = reading.ghost_bytes = reading.unknown_bytes = {};
  if (!known.is_listed) {
    reading.is_gone = true;
    reading.reason = "it is gone";
    return;
  }
  Status status = open_region(known, directory, reading);
  if (status) status = read_settled(known, reading);
  if (known.fd && kept_files_ > options_.kept_file_limit) close_region(known);
  if (!status) {
    reading.error_code = status.error().code;
    reading.is_gone = status.error().code == ENOENT;
    reading.reason = reading.is_gone ? "it is gone" : status.error().reason;
    known.settled_bytes = known.settling_bytes = known.settling_since_ns = 0;
  }
}

// Opens the region's file, unless the one that is open still has its name.
Status DeviceSampler::open_region(Known& known, int directory, DeviceReading& reading) {
  struct stat status{};
  if (known.fd && fstat(known.fd.get(), &status) == 0 && status.st_nlink > 0) return Ok{};
  close_region(known);
  // O_NONBLOCK: a FIFO of that name must not stop the recorder.
  Result<OwnedFd> fd = open_file(directory, known.name, O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!fd) {
    if (fd.error().code == ELOOP)
      return Error{fd.error().doing, "it is a symbolic link, which is not followed", "", ELOOP};
    return fd.error();
  }
  if (fstat(fd->get(), &status) != 0) return errno_error("reading " + known.name, errno);
  if (!S_ISREG(status.st_mode)) return Error{"reading " + known.name, "it is not a regular file", "", EINVAL};
  const FileIdentity file = identity_of(status);
  reading.is_made_anew = known.file != FileIdentity{} && known.file != file;
  known.file = file;
  known.fd = std::move(*fd);
  ++kept_files_;
  return Ok{};
}

Status DeviceSampler::read_settled(Known& known, DeviceReading& reading) {
  Shares shares;
  for (int i = 0; i < kMostReads; ++i) {
    const Result<std::string_view> bytes = read_from_start(known.fd.get(), buffer_, known.name);
    if (!bytes) return bytes.error();
    Result<DeviceRegion> region = parse_device_region(*bytes);
    if (!region) return region.error();
    region_ = std::move(*region);
    shares = judge_users(known, reading);
    std::array<char, 8> last_update{};
    const ssize_t got = pread(known.fd.get(), last_update.data(), last_update.size(), kLastUpdateAt);
    const bool has_moved =
        got != static_cast<ssize_t>(last_update.size()) ||
        std::memcmp(last_update.data(), buffer_.data() + kLastUpdateAt, last_update.size()) != 0;
    if (!has_moved && shares.rest.value_or(0) <= known.settled_bytes) break;
  }
  share_out(known, shares, reading);
  reading.region = &region_;
  reading.reason = region_.doubt;
  return Ok{};
}

DeviceSampler::Shares DeviceSampler::judge_users(const Known& known, DeviceReading& reading) {
  Shares shares;
  reading.users.clear();
  for (const DeviceSlot& slot : region_.users()) {
    const DeviceUsers::Verdict verdict = users_.judge(slot, known.file);
    reading.users.push_back({slot, verdict.state, verdict.pid});
    Nullable& sum = verdict.state == DeviceUserState::live   ? shares.live
                    : verdict.state == DeviceUserState::dead ? shares.dead
                                                             : shares.unknown;
    sum = sum + slot.memory.dram_bytes;
    if (verdict.state != DeviceUserState::dead) shares.has_writer = true;
  }
  shares.rest = saturating_rest(region_.totals.dram_bytes, shares.live + shares.unknown);
  return shares;
}

// What no living process's slot accounts for is a ghost where a dead one's does, where nobody is left to write, or where
// it has stayed for a while. Else it may be a change under way, or the bytes of one who found no free slot: unknown.
void DeviceSampler::share_out(Known& known, const Shares& shares, DeviceReading& reading) {
  reading.live_bytes = shares.live;
  reading.unknown_bytes = shares.unknown;
  reading.ghost_bytes = shares.rest;
  if (!shares.rest.has_value()) return;
  const int64_t rest = shares.rest.value();
  const int64_t settled = settle(known, rest);
  if (!region_.is_full && !shares.has_writer) return;
  if (!shares.dead.has_value()) {
    reading.ghost_bytes = reading.unknown_bytes = {};
    return;
  }
  const int64_t dead = std::min(shares.dead.value(), rest);
  reading.ghost_bytes = region_.is_full ? dead : std::max(dead, settled);
  reading.unknown_bytes = shares.unknown + (rest - reading.ghost_bytes.value());
  reading.is_settling = !region_.is_full && rest > reading.ghost_bytes.value();
}

// The least that was unaccounted for at every look during kSettlingNs.
int64_t DeviceSampler::settle(Known& known, int64_t rest) const {
  if (known.settling_since_ns == 0) {
    known.settling_since_ns = now_ns_;
    known.settling_bytes = rest;
  }
  known.settling_bytes = std::min(known.settling_bytes, rest);
  if (now_ns_ - known.settling_since_ns >= kSettlingNs) {
    known.settled_bytes = known.settling_bytes;
    known.settling_bytes = rest;
    known.settling_since_ns = now_ns_;
  }
  known.settled_bytes = std::min(known.settled_bytes, rest);
  return known.settled_bytes;
}

}  // namespace memlog
