// SPDX-License-Identifier: Apache-2.0
#include "model/records.h"

namespace memlog {

const char* word(SeenBy value) {
  switch (value) {
    case SeenBy::exec:
      return "exec";
    case SeenBy::fork:
      return "fork";
    case SeenBy::rename:
      return "rename";
    case SeenBy::exit:
      return "exit";
    case SeenBy::scan:
      return "scan";
    case SeenBy::import:
      return "import";
  }
  return "";
}

const char* word(EndReason value) {
  switch (value) {
    case EndReason::running:
      return "running";
    case EndReason::exited:
      return "exited";
    case EndReason::signaled:
      return "signaled";
    case EndReason::oom_killed:
      return "oom_killed";
    case EndReason::unseen:
      return "unseen";
  }
  return "";
}

const char* word(PeakSource value) {
  switch (value) {
    case PeakSource::none:
      return "";
    case PeakSource::kernel:
      return "kernel";
    case PeakSource::sampled:
      return "sampled";
  }
  return "";
}

const char* word(RunState value) {
  switch (value) {
    case RunState::running:
      return "running";
    case RunState::ended:
      return "ended";
    case RunState::interrupted:
      return "interrupted";
  }
  return "";
}

const char* word(EventKind value) {
  switch (value) {
    case EventKind::attach:
      return "attach";
    case EventKind::detach:
      return "detach";
    case EventKind::exec:
      return "exec";
    case EventKind::fork:
      return "fork";
    case EventKind::rename:
      return "rename";
    case EventKind::exit:
      return "exit";
    case EventKind::oom_kill:
      return "oom_kill";
    case EventKind::clock_step:
      return "clock_step";
    case EventKind::mark:
      return "mark";
    case EventKind::note:
      return "note";
  }
  return "";
}

const char* word(GapKind value) {
  switch (value) {
    case GapKind::late_tick:
      return "late_tick";
    case GapKind::missed_ticks:
      return "missed_ticks";
    case GapKind::event_loss:
      return "event_loss";
    case GapKind::queue_overflow:
      return "queue_overflow";
    case GapKind::storage:
      return "storage";
    case GapKind::suspend:
      return "suspend";
    case GapKind::unreadable:
      return "unreadable";
  }
  return "";
}

const char* word(OomConstraint value) {
  switch (value) {
    case OomConstraint::unknown:
      return "";
    case OomConstraint::global:
      return "global";
    case OomConstraint::memcg:
      return "memcg";
    case OomConstraint::cpuset:
      return "cpuset";
    case OomConstraint::mempolicy:
      return "mempolicy";
  }
  return "";
}

const char* word(DeviceUserState value) {
  switch (value) {
    case DeviceUserState::live:
      return "live";
    case DeviceUserState::dead:
      return "dead";
    case DeviceUserState::unknown:
      return "unknown";
    case DeviceUserState::left:
      return "left";
  }
  return "";
}

}  // namespace memlog
