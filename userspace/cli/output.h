// SPDX-License-Identifier: Apache-2.0
// Output: results on stdout, buffered. A reader that went away (`| head`) is no error: put() then answers
// false and the command ends quietly.
#pragma once

#include <string>
#include <string_view>

namespace memlog {

class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // false: nobody reads any more. Throws FatalError where stdout cannot be written (a full disk).
  bool put(std::string_view text);
  bool flush();

 private:
  std::string buffer_;
  bool is_closed_ = false;
};

// Columns of the terminal on stdout; 0 where it is none: then nothing is cut.
size_t stdout_columns();

}  // namespace memlog
