// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <system_error>

namespace memlog {

Error errno_error(std::string doing, int code) {
  return {std::move(doing), std::generic_category().message(code), "", code};
}

}  // namespace memlog
