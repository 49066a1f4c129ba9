// SPDX-License-Identifier: Apache-2.0
#include "cli/recording_talk.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/talk.h"
#include "base/text.h"

namespace memlog {
namespace {

constexpr size_t kLinesPerSecond = 20;

// Lets a bounded number of lines a second through and counts the rest.
class LineLimit {
 public:
  explicit LineLimit(int64_t now_ns) : second_began_ns_(now_ns) {}

  void say_all(const Progress::News& news, int64_t now_ns) {
    if (now_ns - second_began_ns_ >= kNsPerSecond) {
      say_cut();
      second_began_ns_ = now_ns;
      said_ = 0;
    }
    cut_ += news.dropped_lines;
    for (const std::string& line : news.lines) {
      if (said_++ < kLinesPerSecond) {
        say(line);
      } else {
        ++cut_;
      }
    }
  }
  void say_cut() {
    if (cut_ > 0) say(fmt::format("(and {} more such lines)", cut_));
    cut_ = 0;
  }

 private:
  int64_t second_began_ns_;
  size_t said_ = 0;
  size_t cut_ = 0;
};

}  // namespace

void RecordingTalk::say_missing(const Survival& survival) const {
  if (options_.quiet) return;
  for (const std::string& what : survival.missing) say("note: " + what);
}

void RecordingTalk::say_begin(int64_t run_id, const std::string& database) const {
  if (options_.quiet) return;
  const bool waits = options_.command.empty() && target_.pids.empty();
  say(fmt::format("run {}: {} {} every {} into {}", run_id, waits ? "waiting for" : "recording",
                  target_.in_words(), format_duration(options_.interval_ns), database));
}

void RecordingTalk::show(Progress& progress) const {
  const int64_t began_ns = boot_now_ns();
  LineLimit limit(began_ns);
  while (true) {
    const Progress::News news = progress.take(std::chrono::milliseconds(stderr_is_terminal() ? 250 : 1000));
    for (const std::string& line : news.warnings) warn(line);
    if (!options_.quiet) {
      const int64_t now_ns = boot_now_ns();
      limit.say_all(news, now_ns);
      // A launched command has the terminal for itself.
      if (!news.is_finished && options_.command.empty())
        show_status(status_line(news.numbers, now_ns - began_ns));
    }
    if (!news.is_finished) continue;
    limit.say_cut();
    return clear_status();
  }
}

void RecordingTalk::say_end(int64_t run_id, const std::string& why, const ProgressNumbers& numbers) const {
  if (options_.quiet) return;
  if (numbers.attached_count == 0) {
    say(fmt::format("run {} ended ({}): no matching process was seen", run_id, why));
    return;
  }
  say(fmt::format(
      "run {} ended ({}): {} process{}, {} samples, largest peak {}", run_id, why, numbers.attached_count,
      numbers.attached_count == 1 ? "" : "es", numbers.sample_count,
      numbers.peak_rss_bytes.has_value() ? format_bytes(numbers.peak_rss_bytes.value()) : "unknown"));
  say(fmt::format("see it with: memlog show {}", run_id));
}

std::string RecordingTalk::on_misplaced(FilePlace place, const std::string& database) {
  if (place == FilePlace::deleted)
    return fmt::format("{} was deleted: the recording goes on, and is saved anew when it ends",
                       printable(database));
  return fmt::format("{} was moved away: the recording goes on in the file that was moved",
                     printable(database));
}

std::string RecordingTalk::on_store(const std::string& reason) {
  if (reason.empty()) return "storing works again";
  return fmt::format("cannot store ({}): keeping what fits in memory and trying again", reason);
}

std::string RecordingTalk::status_line(const ProgressNumbers& numbers, int64_t elapsed_ns) const {
  if (numbers.attached_count == 0) {
    return fmt::format(" waiting for {} · {}", target_.in_words(), format_duration(elapsed_ns));
  }
  std::string line =
      fmt::format(" {} · {} of {} processes · rss {} · peak {} · {} samples", format_duration(elapsed_ns),
                  numbers.live_count, numbers.attached_count, format_bytes(numbers.rss_bytes),
                  numbers.peak_rss_bytes.has_value() ? format_bytes(numbers.peak_rss_bytes.value()) : "-",
                  numbers.sample_count);
  if (numbers.lost_event_count > 0) line += fmt::format(" · {} events lost", numbers.lost_event_count);
  if (numbers.lost_record_count > 0) line += fmt::format(" · {} records lost", numbers.lost_record_count);
  if (numbers.missed_tick_count > 0) line += fmt::format(" · {} ticks missed", numbers.missed_tick_count);
  return line;
}

}  // namespace memlog
