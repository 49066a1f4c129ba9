# SPDX-License-Identifier: Apache-2.0
# Run by the build: joins the report's modules into one script, packs Plotly, and notes both hashes for the page's
# content security policy. Wants SOURCE (this folder), OUT (where to write), MODULES (in the
# order of who needs whom) and PLOTLY (the minified file).
set(script "")
foreach(module ${MODULES})
  file(READ ${SOURCE}/${module} text)
  string(REGEX REPLACE "(^|\n)(import|export) {[^}]*}[^\n]*;" "" text "${text}")
  string(APPEND script "${text}")
endforeach()
file(WRITE ${OUT}/report_script.js "${script}")
file(SHA256 ${OUT}/report_script.js hash)
file(WRITE ${OUT}/report_script.sha256 "${hash}")

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
