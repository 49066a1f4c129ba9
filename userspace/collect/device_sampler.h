// SPDX-License-Identifier: Apache-2.0
// DeviceSampler: the device memory regions in a directory, read again and again.
//
// Regions belong to the workload and are only ever read: through a kept descriptor and pread() into one
// buffer, never through a mapping (a region that is cut short while it is mapped would kill the reader). They
// may appear, vanish, be made anew or be cut at any time. A read during which the region was updated is
// repeated a few times, as is one whose totals hold more than its processes do and did not before: totals and
// slots are not written together.
#pragma once

#include <dirent.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collect/device_region.h"
#include "collect/device_users.h"

namespace memlog {

struct DeviceUser {
  DeviceSlot slot;
  DeviceUserState state = DeviceUserState::unknown;
  pid_t pid = 0;  // here; 0 where it is not known
};

// One look at one region. Valid during the call that hands it out.
struct DeviceReading {
  uint64_t number = 0;
  std::string_view name;                 // of the file
  bool is_gone = false;                  // no longer there: nothing more will come, unless it is made again
  bool is_made_anew = false;             // another file than at the look before
  int error_code = 0;                    // 0: readable; an errno, or kRegionNotReady, kRegionUnknown
  std::string reason;                    // why it, or one of its totals, cannot be read; else empty
  const DeviceRegion* region = nullptr;  // null where it cannot be read
  std::vector<DeviceUser> users;
  // Together the region's DRAM total (but for what was written between two words of one read); each is NULL
  // where it cannot be told.
  Nullable live_bytes;   // of live processes' slots
  Nullable ghost_bytes;  // held by nobody: left behind by processes that died
  Nullable
      unknown_bytes;  // of slots whose process cannot be judged, of those who found no free slot, or of a
                      // change under way
  bool is_settling = false;  // a look some 200 ms later will tell more of the unknown bytes
};

class DeviceSampler {
 public:
  struct Options {
    std::string directory = "/dev/shm";
    size_t kept_file_limit = 64;  // descriptors kept open; regions beyond are opened at each look
    size_t most_regions = 256;    // regions beyond are not looked at
    DeviceUsers::Options users;
  };
  using Sink = std::function<void(const DeviceReading&)>;

  explicit DeviceSampler(Options options) : options_(std::move(options)), users_(options_.users) {}

  // Hands one reading a region to `sink`, by ascending number. `now_ns` is boot time. The error: the
  // directory cannot be listed; known regions are handed out as gone.
  Status sample(int64_t now_ns, int64_t wall_minus_boot_ns, const Sink& sink);
  size_t left_out_count() const { return left_out_count_; }  // regions beyond most_regions

 private:
  struct Known {
    std::string name;
    OwnedFd fd;
    FileIdentity file;
    bool is_listed = true;
    // Bytes of the total that no living process's slot accounts for.
    int64_t settled_bytes = 0;      // have been there for a while
    int64_t settling_bytes = 0;     // the least since then:
    int64_t settling_since_ns = 0;  // boot time; 0: not looked at yet
  };

  Status list(int directory, int64_t now_ns);
  void note_names(int directory, DIR& entries);
  void look(Known& known, int directory, DeviceReading& reading);
  Status open_region(Known& known, int directory, DeviceReading& reading);
  void close_region(Known& known);
  Status read_settled(Known& known, DeviceReading& reading);
  // DRAM bytes by the state of those who hold them.
  struct Shares {
    Nullable live = 0;
    Nullable dead = 0;
    Nullable unknown = 0;
    Nullable rest;            // of the total, beyond live and unknown
    bool has_writer = false;  // somebody may be changing the region
  };
  Shares judge_users(const Known& known, DeviceReading& reading);
  void share_out(Known& known, const Shares& shares, DeviceReading& reading);
  int64_t settle(Known& known, int64_t rest) const;

  Options options_;
  DeviceUsers users_;
  std::map<uint64_t, Known> known_;
  std::array<char, kMostRegionBytes + 1> buffer_{};
  DeviceRegion region_;
  DeviceReading reading_;
  int64_t now_ns_ = 0;
  int64_t listed_ns_ = INT64_MIN / 2;
  int64_t listed_mtime_ns_ = -1;
  size_t kept_files_ = 0;
  size_t left_out_count_ = 0;
};

}  // namespace memlog
