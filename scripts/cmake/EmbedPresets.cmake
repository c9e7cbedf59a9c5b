# Compiles presets and what to expect of them into the program: a source file that defines chargpt::presets() and
# chargpt::expected_figures(), written anew whenever one of them changes.
# Included, it gives chargpt_embed_presets(TARGET FOLDER); run with -P at build time, it writes that file.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(embed_presets_script ${CMAKE_CURRENT_LIST_FILE})

  # chargpt_embed_presets(TARGET FOLDER): every FOLDER/**.json becomes the preset of that path without .json, but for
  # FOLDER/expected.json, the figures of scripts/measure/presets.py.
  function(chargpt_embed_presets target folder)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.json)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/presets.cpp)
    # The list goes through a file: it changes when a preset comes or goes, which then renews the output.
    set(list ${CMAKE_CURRENT_BINARY_DIR}/presets.txt)
    string(REPLACE ";" "\n" lines "${files}")
    file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DLIST=${list} -DOUTPUT=${output} -P ${embed_presets_script}
      DEPENDS ${files} ${list} ${embed_presets_script}
      COMMENT "Embedding presets"
      VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

file(STRINGS ${LIST} files)
list(REMOVE_ITEM files ${FOLDER}/expected.json)
file(READ ${FOLDER}/expected.json expected)
set(rows "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${FOLDER} ${file})
  string(REGEX REPLACE "\\.json$" "" name ${name})
  file(READ ${file} text)
  string(APPEND rows "    {\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by EmbedPresets.cmake from configs/.
#include <algorithm>
#include <iterator>

#include \"config/load.h\"

namespace chargpt {
namespace {

/// In order of name, whatever order the folder was listed in.
const std::vector<Preset>& table() {
  static const std::vector<Preset> sorted = [] {
    std::vector<Preset> rows{
${rows}    };
    std::sort(rows.begin(), rows.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
    return rows;
  }();
  return sorted;
}

}  // namespace

std::span<const Preset> presets() { return table(); }

std::string_view expected_figures() { return R\"figures(${expected})figures\"; }

}  // namespace chargpt
")
