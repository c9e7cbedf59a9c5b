// A text that a small model soon learns.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace chargpt {

/// Each letter of it is followed by one of two.
inline std::string letters(std::size_t size, std::uint64_t seed = 1) {
  RandomStream random(seed, Purpose::windows);
  std::string text = "a";
  while (text.size() < size) text += static_cast<char>('a' + (text.back() - 'a' + 1 + 3 * random.below(2)) % 8);
  return text;
}

}  // namespace chargpt
