#include "base/line_of.h"

#include <cstdio>

namespace chargpt {

std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

}  // namespace chargpt
