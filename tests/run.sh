#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks, in the order in which they fail fastest: format, build, tests, lint, sanitizers. Needs root for the tests that
# load BPF and make memory cgroups; with MEMLOG_REQUIRE_BPF=1 (as in CI) they fail instead of skipping.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s\n' "$1"; }

step "format"
git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-19 --dry-run --Werror

step "build"
cmake --preset release >/dev/null
cmake --build --preset release

step "a locale with decimal commas"
mkdir -p build/locale
[ -d build/locale/de_DE.UTF-8 ] || localedef --no-archive -i de_DE -f UTF-8 build/locale/de_DE.UTF-8
export LOCPATH=$PWD/build/locale

step "tests"
ctest --preset release

step "clang-tidy"
lint() { xargs -P "$(nproc)" -n 2 \
  clang-tidy-19 --quiet -p build/release --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-deprecated-declarations --extra-arg=-Wno-ignored-gch "$@" 2>/dev/null; }
git ls-files 'userspace/*.cpp' | lint
# Without the path-sensitive analyzer, which takes a minute on a file full of matchers.
git ls-files 'tests/*.cpp' ':!tests/fuzz' | lint --checks='-clang-analyzer-*'

step "tests under AddressSanitizer and UndefinedBehaviorSanitizer"
cmake --preset asan >/dev/null
cmake --build --preset asan
# Not the browser, which is not sanitized, nor the test under strace, which the leak checker cannot run beside.
ctest --preset asan -LE web -E NoSmapsFileIsOpenedUnlessAskedFor

step "fuzzing"
tests/fuzz/run.sh "${MEMLOG_FUZZ_SECONDS:-20}"

step "all green"
