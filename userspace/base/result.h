// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says what was being done, to what, and why it failed.
//
// memlog has three kinds of failure and never mixes them: what can be expected (a vanished process, a bad
// file) is a Result; what ends the command is a FatalError, thrown once and caught in main; a bug is an
// assert.
#pragma once

#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace memlog {

// Printed as `memlog: <doing>: <reason>` and, where there is one, a second line `hint: <hint>`.
struct Error {
  std::string doing;   // operation and object: "reading /proc/7/status"
  std::string reason;  // "Permission denied"
  std::string hint;    // what the user can do about it, or empty
  int code = 0;        // errno, or 0 where no system call failed
};

// An Error from errno, `code`, with strerror's text as the reason.
Error errno_error(std::string doing, int code);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

struct Ok {};
using Status = Result<Ok>;

// Ends the command with `exit_status`: main prints the error. Thrown in cli/ only, or where going on is
// impossible; never used for what a caller could handle.
class FatalError : public std::runtime_error {
 public:
  static constexpr int kOwnFailure = 125;  // `trace` and `run`: apart from a command's own status
  static constexpr int kBadUsage = 2;
  static constexpr int kFailure = 1;  // what kOwnFailure becomes for every other subcommand

  explicit FatalError(Error error, int exit_status = kOwnFailure)
      : std::runtime_error(error.doing + ": " + error.reason),
        error_(std::move(error)),
        exit_status_(exit_status) {}
  const Error& error() const { return error_; }
  int exit_status() const { return exit_status_; }

 private:
  Error error_;
  int exit_status_;
};

// The value, or a FatalError.
template <typename T>
T or_die(Result<T> result, int exit_status = FatalError::kOwnFailure) {
  if (!result.ok()) throw FatalError(result.error(), exit_status);
  return std::move(result).value();
}

}  // namespace memlog
