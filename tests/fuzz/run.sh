#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [SECONDS [NAME...]]: builds the fuzz targets with clang, AddressSanitizer and UndefinedBehaviorSanitizer and runs
# each for SECONDS (60) from its seeds. What is found on the way stays in build/fuzz/corpus/; a crash ends with its file's name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
shift || true
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for source in tests/fuzz/*_fuzz.cpp; do name=${source##*/}; names+=("${name%_fuzz.cpp}"); done
fi
clang=$(command -v clang++-19 || command -v clang++)
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_C_COMPILER="${clang/++/}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DMEMLOG_FUZZ=ON -DMEMLOG_SANITIZE=address,undefined >/dev/null
for name in "${names[@]}"; do
  cmake --build build/fuzz --target "fuzz_$name" -- -k 0 >/dev/null
  mkdir -p "build/fuzz/corpus/$name"
  (cd build/fuzz && "tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 \
    "corpus/$name" "../../tests/fuzz/seeds/$name" 2>&1 | tail -n 12)
done
