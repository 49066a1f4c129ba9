#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every measurement, one after the other, and at the end one table of what they found: run.sh BUILD_FOLDER. Wants an idle
# machine, and root for the kernel's events; a bench that cannot run here is named and left out. MEMLOG_BENCH_MILLIONS: of
# samples in the long runs (10).
set -uo pipefail
build=$1 millions=${MEMLOG_BENCH_MILLIONS:-10}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
log=$(mktemp) && trap 'rm -f "$log"' EXIT

bench() {
  printf '\n== %s\n' "$1" | tee -a "$log"
  shift
  "$@" 2>&1 | tee -a "$log" || echo "= could not be measured here" | tee -a "$log"
}

bench "one sample of a process" "$build/tests/bench/bench_sample_cost"
bench "from an exec to memlog" "$build/tests/bench/bench_event_latency"
bench "32 devices, 64 processes each" "$build/tests/bench/bench_device"
bench "roll-ups, queries and CSV" "$build/tests/bench/bench_timeline" "$millions"
bench "pictures beside matplotlib" /usr/bin/python3 "$here/pictures.py" "$build" 1 "$millions"
for more in "$here"/bench_*.sh; do
  [ -x "$more" ] && bench "$(basename "$more" .sh)" "$more" "$build"
done

printf '\n\n%s, %s, %s processors, Linux %s, load %s\n' "$(hostname)" \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" "$(cut -d' ' -f1 /proc/loadavg)"
grep -E '^(== |= )' "$log" | sed -E 's/^== /\n/; s/^= /  /'
