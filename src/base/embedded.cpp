#include "base/embedded.h"

#include <algorithm>

#include "base/error.h"

namespace chargpt {

std::string_view embedded_file(std::string_view path) {
  const auto found = std::ranges::find(embedded_files(), path, &EmbeddedFile::path);
  if (found == embedded_files().end()) throw Error(ExitCode::internal, path, " is not compiled into the program");
  return found->text;
}

}  // namespace chargpt
