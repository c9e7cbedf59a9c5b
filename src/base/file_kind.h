// What a file that is no plain text is, by its first bytes. Knows no path.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace chargpt {

struct FileKind {
  std::string_view name;    ///< "a ZIP archive"
  std::string_view advice;  ///< "unpack it (unzip)": how to come to a plain text
};

/// How many bytes kind_of_file looks at.
constexpr std::size_t kind_bytes = 4096;

/// None where the bytes are those of no kind known here, as those of a plain text are.
std::optional<FileKind> kind_of_file(std::string_view first_bytes);

}  // namespace chargpt
