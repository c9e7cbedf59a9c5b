# Finds LibTorch (see LibTorchSearch.cmake for where) and makes the imported target LibTorch::LibTorch, for CPU and CUDA builds alike.
# torch's own TorchConfig.cmake is not used: that of a CUDA build stops without a CUDA toolkit, of which nothing here is needed.
# Sets LibTorch_FOUND, LibTorch_FOLDER, LibTorch_VERSION, LibTorch_ORIGIN, LibTorch_CUDA (TRUE for a CUDA build) and LibTorch_LIBRARY_DIRS
# (for CMAKE_BUILD_RPATH).
include(${CMAKE_CURRENT_LIST_DIR}/LibTorchSearch.cmake)
libtorch_search()
foreach(line ${libtorch_passed_over})
  message(STATUS "Passed over: ${line}")
endforeach()
string(REGEX MATCH "^[0-9.]*[0-9]" LibTorch_VERSION "${LibTorch_FULL_VERSION}")  # 2.13.0 of 2.13.0+cpu, 2.11.0 of 2.11.0a0+git…

include(FindPackageHandleStandardArgs)
string(REPLACE ";" " | " libtorch_passed_over "${libtorch_passed_over}")  # that function cannot forward a semicolon
if(libtorch_passed_over)
  set(libtorch_passed_over " (passed over: ${libtorch_passed_over})")
endif()
find_package_handle_standard_args(
  LibTorch REQUIRED_VARS LibTorch_FOLDER VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "none of ${LIBTORCH_MINIMUM} or newer in CMAKE_PREFIX_PATH, LIBTORCH, python3 or .libtorch${libtorch_passed_over}: scripts/build.sh fetches one")
if(NOT LibTorch_FOUND)
  return()
endif()

set(LibTorch_CUDA FALSE)
if(EXISTS ${LibTorch_FOLDER}/lib/libtorch_cuda.so)
  set(LibTorch_CUDA TRUE)
endif()
message(STATUS "LibTorch ${LibTorch_FULL_VERSION} in ${LibTorch_FOLDER} (${LibTorch_ORIGIN}), CUDA ${LibTorch_CUDA}")
file(GLOB libtorch_cuda_libraries ${LibTorch_FOLDER}/../nvidia/*/lib)
set(LibTorch_LIBRARY_DIRS ${LibTorch_FOLDER}/lib ${libtorch_cuda_libraries})
if(TARGET LibTorch::LibTorch)
  return()
endif()

# _GLIBCXX_USE_CXX11_ABI as the library itself was compiled.
set(libtorch_abi 1)
if(EXISTS ${LibTorch_FOLDER}/share/cmake/Torch/TorchConfig.cmake)
  file(STRINGS ${LibTorch_FOLDER}/share/cmake/Torch/TorchConfig.cmake line REGEX "_GLIBCXX_USE_CXX11_ABI=[01]" LIMIT_COUNT 1)
  if(line MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(libtorch_abi 0)
  endif()
endif()

set(libtorch_components torch torch_cpu c10)
if(LibTorch_CUDA)
  list(APPEND libtorch_components torch_cuda c10_cuda)
endif()
add_library(LibTorch::LibTorch INTERFACE IMPORTED)
foreach(component ${libtorch_components})
  add_library(LibTorch::${component} SHARED IMPORTED)
  set_target_properties(LibTorch::${component} PROPERTIES IMPORTED_LOCATION ${LibTorch_FOLDER}/lib/lib${component}.so)
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::${component})
endforeach()
target_include_directories(
  LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_FOLDER}/include ${LibTorch_FOLDER}/include/torch/csrc/api/include)
target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=${libtorch_abi})

# LibTorch's libraries export copies of functions of the C++ library, and std::filesystem::remove_all of the 2.11 CUDA wheel jumps to address
# zero. A program takes a symbol from the first library that has it: link options come before all libraries, so this one is asked first.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_link_options(LibTorch::LibTorch INTERFACE LINKER:--push-state,--no-as-needed -lstdc++ LINKER:--pop-state)
endif()

if(LibTorch_CUDA)
  # Nothing of ours names a symbol of libtorch_cuda, which registers itself when loaded: the linker must keep it. The CUDA libraries come
  # as wheels beside torch (nvidia/cu13/lib, or nvidia/cublas/lib, …), with headers and the runtime; those of CUDA 13 lack crt/, which comes
  # with a toolkit or with triton. Without it no work is recorded as a CUDA graph.
  file(GLOB libtorch_cuda_headers ${LibTorch_FOLDER}/../nvidia/*/include)
  target_link_options(LibTorch::LibTorch INTERFACE LINKER:--no-as-needed LINKER:--allow-shlib-undefined)
  find_path(LibTorch_CRT crt/host_config.h NO_CACHE NO_DEFAULT_PATH
            PATHS ${libtorch_cuda_headers} /usr/local/cuda/include ${LibTorch_FOLDER}/../triton/backends/nvidia/include)
  if(LibTorch_CRT)
    list(APPEND libtorch_cuda_headers ${LibTorch_CRT})
  else()
    message(STATUS "No CUDA headers with crt/host_config.h: steps on a GPU are not recorded, and slower")
  endif()
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${libtorch_cuda_headers})
  file(GLOB libtorch_cudart ${LibTorch_FOLDER}/../nvidia/*/lib/libcudart.so*)
  if(libtorch_cudart)
    list(GET libtorch_cudart 0 libtorch_cudart)
    target_link_libraries(LibTorch::LibTorch INTERFACE ${libtorch_cudart})
  endif()
endif()
