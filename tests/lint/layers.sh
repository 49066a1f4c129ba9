#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds every #include against the folder table of ARCHITECTURE.md ("may include"), and each library that only one place
# may use against that place. Prints each breach as file:line and exits 1.
set -euo pipefail
cd "${1:-.}"

# "folder<TAB>allowed allowed ..." from the table: | `userspace/base` | what it holds | base, model |
table=$(awk -F'|' '/^\| `(vmlinux|bpf|userspace\/[a-z]+)` *\|/ {
  folder = $2; allowed = $(NF - 1); gsub(/[` ]/, "", folder); gsub(/[`,]/, " ", allowed); print folder "\t" allowed }' ARCHITECTURE.md)
[ -n "$table" ] || { echo "ARCHITECTURE.md: no folder table found"; exit 1; }

# only <library header pattern> <the one place>
only='bpf/(libbpf|bpf|btf)\.h	^userspace/collect/bpf_
sqlite3\.h	^userspace/store/database(_open)?\.(h|cpp)$
CLI/	^userspace/cli/command_line\.cpp$
cairo	^userspace/render/png
httplib\.h	^userspace/live/'

git ls-files -co --exclude-standard 'vmlinux/*' 'bpf/*' 'userspace/*' | grep -E '\.(h|c|cpp)$' | while read -r file; do
  grep -HnE '^#include [<"]' "$file" || true
done | awk -F: -v table="$table" -v only="$only" '
BEGIN {
  n = split(table, rows, "\n")
  for (i = 1; i <= n; i++) { split(rows[i], cell, "\t"); allowed[cell[1]] = " " cell[2] " " }
  m = split(only, rules, "\n")
  for (i = 1; i <= m; i++) { split(rules[i], cell, "\t"); header[i] = cell[1]; place[i] = cell[2] }
}
{
  file = $1; line = $2; text = $0; sub(/^[^:]*:[^:]*:/, "", text)
  folder = file; if (file ~ /^userspace\/[^\/]*\//) { sub(/^userspace\//, "", folder); sub(/\/.*/, "", folder); folder = "userspace/" folder } else sub(/\/.*/, "", folder)
  if (folder ~ /^userspace\/main/ || file == "userspace/main.cpp") next
  if (!(folder in allowed)) { print file ":" line ": folder " folder " is not in the table of ARCHITECTURE.md"; bad = 1; next }
  if (match(text, /<[^>]+>/)) {
    name = substr(text, RSTART + 1, RLENGTH - 2)
    if (folder != "bpf") for (i = 1; i <= m; i++) if (name ~ "^" header[i] && file !~ place[i]) { print file ":" line ": <" name "> is not for this file"; bad = 1 }
    next
  }
  match(text, /"[^"]+"/); name = substr(text, RSTART + 1, RLENGTH - 2)
  if (name !~ /\//) next
  target = name; sub(/\/.*/, "", target)
  own = folder; sub(/.*\//, "", own)
  whole = name; sub(/\.h$/, "", whole)
  if (target == own || allowed[folder] ~ " all " || allowed[folder] ~ " " target " " || index(allowed[folder], " " whole " ")  || index(allowed[folder], " " name " ")) next
  print file ":" line ": " folder " may not include " name; bad = 1
}
END { exit bad }'
