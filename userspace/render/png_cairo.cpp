// SPDX-License-Identifier: Apache-2.0
#include "render/png_cairo.h"

#include <dlfcn.h>

#include <optional>

#if defined(__SANITIZE_ADDRESS__)
// Fontconfig keeps what it read until the process ends.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
#endif

namespace memlog {
namespace {

Result<const Cairo*> open_cairo() {
  static Cairo cairo;
  void* library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{"drawing the picture", "Cairo's library is not installed (libcairo.so.2)",
                 "install it (Debian: apt install libcairo2), or ask for --html, which needs nothing", 0};
  }
  bool is_whole = true;
#define MEMLOG_FIND(name)                                                                              \
  cairo.name = reinterpret_cast<decltype(cairo.name)>(dlsym(library, "cairo_" #name)); /* POSIX way */ \
  is_whole = is_whole && cairo.name != nullptr;
  MEMLOG_CAIRO_FUNCTIONS(MEMLOG_FIND)
#undef MEMLOG_FIND
  if (!is_whole)
    return Error{"drawing the picture", "this libcairo.so.2 lacks functions that memlog needs", "", 0};
  return &cairo;
}

}  // namespace

Result<const Cairo*> load_cairo() {
  static const Result<const Cairo*> loaded = open_cairo();
  return loaded;
}

}  // namespace memlog
