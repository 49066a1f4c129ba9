# SPDX-License-Identifier: Apache-2.0
# Run by the build: joins each page's modules into one script, packs Plotly, and notes their hashes (for the report's
# content security policy, and for the dashboard's names of files that never change). Wants SOURCE (this folder), OUT
# (where to write), REPORT_MODULES and LIVE_MODULES (in the order of who needs whom) and PLOTLY (the minified file).
function(join_modules name)
  set(script "")
  foreach(module ${ARGN})
    file(READ ${SOURCE}/${module} text)
    string(REGEX REPLACE "(^|\n)(import|export) {[^}]*}[^\n]*;" "" text "${text}")
    string(APPEND script "${text}")
  endforeach()
  file(WRITE ${OUT}/${name}.js "${script}")
  file(SHA256 ${OUT}/${name}.js hash)
  file(WRITE ${OUT}/${name}.sha256 "${hash}")
endfunction()
join_modules(report_script ${REPORT_MODULES})
join_modules(live_script ${LIVE_MODULES})

configure_file(${PLOTLY} ${OUT}/plotly.js COPYONLY)
file(SHA256 ${OUT}/plotly.js hash)
file(WRITE ${OUT}/plotly.sha256 "${hash}")
file(ARCHIVE_CREATE OUTPUT ${OUT}/plotly.js.gz PATHS ${OUT}/plotly.js FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)

get_filename_component(folder ${PLOTLY} DIRECTORY)
if(EXISTS ${folder}/LICENSE)
  configure_file(${folder}/LICENSE ${OUT}/plotly_licence.txt COPYONLY)
else()
  file(WRITE ${OUT}/plotly_licence.txt "plotly.js, Copyright Plotly, Inc., licensed under the MIT licence.\n")
endif()
