# SPDX-License-Identifier: Apache-2.0
# Run by the build: writes to OUT the notices of what is in the program and its pages, from the packages' own files:
# nothing of others is kept in this tree. PLOTLY_LICENCE is a file; DOC the folder that packages leave theirs in.
file(WRITE ${OUT} "memlog is licensed under Apache-2.0, its BPF programs under GPL-2.0-only OR BSD-2-Clause.
What follows is in it, or opened by it, and belongs to others.\n")

function(add_notice title text)
  file(APPEND ${OUT} "\n======== ${title} ========\n\n${text}\n")
endfunction()

# title | licence in a word | packages that bring it
set(parts
  "libbpf|LGPL-2.1-only OR BSD-2-Clause|libbpf-dev libbpf1"
  "SQLite|public domain|libsqlite3-dev libsqlite3-0"
  "fmt|MIT|libfmt-dev"
  "CLI11|BSD-3-Clause|libcli11-dev"
  "JSON for Modern C++ (nlohmann)|MIT|nlohmann-json3-dev"
  "cpp-httplib|MIT|libcpp-httplib-dev"
  "zlib|Zlib|zlib1g-dev zlib1g"
  "libelf (elfutils)|LGPL-3.0-or-later OR GPL-2.0-or-later|libelf-dev libelf1"
  "Cairo, opened when a picture is drawn|LGPL-2.1-only OR MPL-1.1|libcairo2-dev libcairo2")

file(READ ${PLOTLY_LICENCE} text)
add_notice("plotly.js, in HTML reports and the dashboard (MIT)" "${text}")
foreach(part ${parts})
  string(REPLACE "|" ";" part "${part}")
  list(GET part 0 title)
  list(GET part 1 licence)
  list(GET part 2 packages)
  string(REPLACE " " ";" packages "${packages}")
  set(text "The text of this licence was not on the machine that memlog was built on.\n")
  foreach(package ${packages})
    if(EXISTS ${DOC}/${package}/copyright)
      file(READ ${DOC}/${package}/copyright text)
      break()
    endif()
  endforeach()
  add_notice("${title} (${licence})" "${text}")
endforeach()
