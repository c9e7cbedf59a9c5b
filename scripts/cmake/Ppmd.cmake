# libarchive, whose 7-Zip writer has PPMd, as LibArchive::LibArchive. Its static library, where there is one, adds 0.2 MB to a program; the
# shared one loads those of every format (XML, Unicode: 40 MB) each time a program starts.
find_path(LibArchive_INCLUDE_DIR archive.h)
find_library(LIBARCHIVE_STATIC libarchive.a)
find_library(BZIP2_STATIC libbz2.a)
if(LibArchive_INCLUDE_DIR AND LIBARCHIVE_STATIC AND BZIP2_STATIC)
  add_library(LibArchive::LibArchive INTERFACE IMPORTED)
  target_include_directories(LibArchive::LibArchive INTERFACE ${LibArchive_INCLUDE_DIR})
  target_link_libraries(LibArchive::LibArchive INTERFACE ${LIBARCHIVE_STATIC} ${BZIP2_STATIC} LibLZMA::LibLZMA ZLIB::ZLIB)
else()
  find_package(LibArchive REQUIRED)
endif()
