#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demonstration: `memlog trace` waits for a process called "worker"; one starts, grows, forks helpers, and one of them
# runs into the limit of a small memory cgroup, where the kernel kills it. Then memlog says what happened.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
[ "$(id -u)" = 0 ] || exec sudo -E "$0" "$@"

memlog=$build/memlog
scratch=$(mktemp -d /tmp/memlog-demo-XXXXXX)
export MEMLOG_DB=$scratch/memlog.db
worker=$scratch/worker
cp "$build/tests/workload" "$worker"
[ -n "${SUDO_UID:-}" ] && chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$scratch"

# A memory cgroup of the demonstration's own, v1 or v2.
if [ -f /sys/fs/cgroup/memory/cgroup.procs ]; then
  cgroup=/sys/fs/cgroup/memory/memlog-demo-$$ limit_file=memory.limit_in_bytes
else
  cgroup=/sys/fs/cgroup/memlog-demo-$$ limit_file=memory.max
fi
trap 'rmdir "$cgroup" 2>/dev/null || true' EXIT
mkdir "$cgroup"
echo 96M >"$cgroup/$limit_file"

echo '$ sudo memlog trace --name worker --interval 100ms --label demo'
"$memlog" trace --name worker --interval 100ms --label demo &
trace=$!
sleep 1
"$worker" fork=1 cgroup="$cgroup" sleep=1s rate=5M:100ms:40 end \
  rate=4M:100ms:10 fork=2 rate=6M:150ms:12 sleep=500ms end rate=8M:200ms:10 free free free sleep=1s wait &
wait $! || true
wait $trace

for command in "runs" "show demo" "sql 'SELECT time_utc, pid, rss_mib FROM memory ORDER BY rss_mib DESC LIMIT 3'"; do
  printf '\n$ memlog %s\n' "$command"
  eval "\"$memlog\" $command"
done
printf '\nThe recording is in %s: try  MEMLOG_DB=%s %s sql\n' "$MEMLOG_DB" "$MEMLOG_DB" "$memlog"
