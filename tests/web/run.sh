#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Opens memlog's pages in Chromium: run.sh BUILD_FOLDER report GALLERY, which draws the tests' scenes first, or
# run.sh BUILD_FOLDER live MEMLOG WORKLOAD, beside real recordings. Exits 77 (skipped) where there is no browser or no
# npm; fails instead with MEMLOG_REQUIRE_BROWSER=1.
set -euo pipefail
build=$1 what=$2 source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

lacking() {
  echo "$1 is missing: the pages were not opened in a browser"
  [ "${MEMLOG_REQUIRE_BROWSER:-0}" = 1 ] && exit 1
  exit 77
}
MEMLOG_CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$MEMLOG_CHROMIUM" ] || lacking chromium
command -v node >/dev/null || lacking node
command -v npm >/dev/null || lacking npm

mkdir -p "$build"
cp "$source"/package.json "$source"/package-lock.json "$source"/.npmrc "$source"/*.mjs "$build"
cd "$build"
[ -d node_modules/playwright-core ] && [ node_modules -nt package-lock.json ] ||
  npm ci --ignore-scripts --no-audit --no-fund --silent || lacking playwright-core
export MEMLOG_CHROMIUM
case $what in
  report)
    rm -rf gallery && mkdir gallery
    "$3" gallery >/dev/null
    "$3" gallery 1600 0 1 dark start >/dev/null
    export MEMLOG_GALLERY=$build/gallery
    ;;
  live)
    [ "$(id -u)" = 0 ] || lacking root
    export MEMLOG_BINARY=$3 MEMLOG_WORKLOAD=$4
    ;;
esac
node --test --test-reporter=spec "${what}_test.mjs"
