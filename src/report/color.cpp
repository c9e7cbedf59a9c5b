#include "report/color.h"

#include <cctype>
#include <string>

namespace chargpt {

bool choose_color(std::string_view flag, const char* no_color, bool is_terminal) {
  if (flag == "always") return true;
  if (flag == "never") return false;
  const bool refused = no_color != nullptr && *no_color != '\0';
  return is_terminal && !refused;
}

bool is_dumb(const char* term) {
  return term != nullptr && std::string_view(term) == "dumb";
}

bool names_utf8(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* value : {lc_all, lc_ctype, lang}) {
    if (value == nullptr || *value == '\0') continue;
    std::string name;
    for (const char c : std::string_view(value))
      if (c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace chargpt
