# Compiles a text file into the program.
# Included, it gives chargpt_embed_text(TARGET FILE FUNCTION HEADER); run with -P at build time, it writes the source.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(embed_text_script ${CMAKE_CURRENT_LIST_FILE})

  # chargpt_embed_text(TARGET FILE FUNCTION HEADER): FUNCTION, which HEADER declares, returns what FILE holds, byte for byte.
  function(chargpt_embed_text target file function header)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DFUNCTION=${function} -DHEADER=${header} -DOUTPUT=${output} -P ${embed_text_script}
      DEPENDS ${file} ${embed_text_script}
      COMMENT "Embedding ${file}"
      VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

file(READ ${FILE} text)
file(WRITE ${OUTPUT} "// Written by EmbedText.cmake.
#include \"${HEADER}\"

namespace chargpt {

std::string_view ${FUNCTION}() { return R\"embedded(${text})embedded\"; }

}  // namespace chargpt
")
