#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws the tests' scenes and opens them in Chromium: run.sh GALLERY BUILD_FOLDER. Exits 77 (skipped) where there is no
# browser or no npm; fails instead with MEMLOG_REQUIRE_BROWSER=1.
set -euo pipefail
gallery=$1 build=$2 source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

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
rm -rf gallery && mkdir gallery
"$gallery" gallery >/dev/null
"$gallery" gallery 1600 0 1 dark start >/dev/null
export MEMLOG_CHROMIUM MEMLOG_GALLERY=$build/gallery
node --test --test-reporter=spec report_test.mjs
