// Random draws of tests, others each time; CHARGPT_SEED, which a failure prints, draws the same again.
#pragma once

#include <cstdlib>
#include <random>

namespace chargpt {

inline unsigned seed_of_this_time() {
  const char* const given = std::getenv("CHARGPT_SEED");
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
}

}  // namespace chargpt
