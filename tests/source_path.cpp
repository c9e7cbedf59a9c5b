#include "source_path.h"

namespace chargpt {

std::string source_path(const std::string& file) {
  return CHARGPT_SOURCE_DIR + file;
}

}  // namespace chargpt
