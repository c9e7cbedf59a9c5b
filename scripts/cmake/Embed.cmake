# Compiles files into the program. Included, it gives chargpt_embed(TARGET FILES…), with paths from the checkout, by which base/embedded.h finds
# them; run with -P at build time, it writes the source file.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(embed_script ${CMAKE_CURRENT_LIST_FILE})
  function(chargpt_embed target)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DOUTPUT=${output} -P ${embed_script}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      DEPENDS ${ARGN} ${embed_script}
      COMMENT "Embedding files"
      VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

set(rows "")
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  string(APPEND rows "    {\"${file}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by Embed.cmake.
#include \"base/embedded.h\"

namespace chargpt {

std::span<const EmbeddedFile> embedded_files() {
  static constexpr EmbeddedFile files[] = {
${rows}  };
  return files;
}

}  // namespace chargpt
")
