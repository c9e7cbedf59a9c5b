#include "report/color.h"

namespace chargpt {

bool choose_color(std::string_view flag, const char* no_color, bool is_terminal) {
  if (flag == "always") return true;
  if (flag == "never") return false;
  const bool refused = no_color != nullptr && *no_color != '\0';
  return is_terminal && !refused;
}

}  // namespace chargpt
