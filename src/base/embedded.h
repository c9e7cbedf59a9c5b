// Files of the checkout that are compiled into the program: presets, the sample text, the page's scripts.
#pragma once

#include <span>
#include <string_view>

namespace chargpt {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the checkout: "configs/default.json"
  std::string_view text;
};

/// All embedded files, in the order of CMakeLists.txt. scripts/cmake/Embed.cmake generates it.
std::span<const EmbeddedFile> embedded_files();

/// The text of one file. Error internal if no such file is embedded.
std::string_view embedded_file(std::string_view path);

}  // namespace chargpt
