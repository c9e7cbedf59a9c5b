// Files of the checkout that are compiled into the program: presets, the sample text, the page's scripts.
#pragma once

#include <span>
#include <string_view>

namespace chargpt {

struct EmbeddedFile {
  std::string_view path;  ///< from the checkout: "configs/default.json"
  std::string_view text;
};

/// All of them, in the order of CMakeLists.txt. Written by scripts/cmake/Embed.cmake.
std::span<const EmbeddedFile> embedded_files();

/// The text of one. Error internal if there is no such file.
std::string_view embedded_file(std::string_view path);

}  // namespace chargpt
