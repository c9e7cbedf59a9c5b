// RUN/adapt.json, hostile until read: at which rate the run's network adapts to a text, and what that was chosen by.
// Knows no network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chargpt {

struct KeptAdaptation {
  std::uint64_t weights = 0;  ///< CRC-64 of the weights that it was chosen for
  double rate = 0, decay = 0;
  std::int64_t tokens = 0;  ///< of the end of the train split, where the rates were tried
  struct Trial {
    double rate, loss;
  };
  std::vector<Trial> trials{};
};

/// None where there is none. Error data where it is damaged or no such file, io where it cannot be read.
std::optional<KeptAdaptation> kept_adaptation(const std::filesystem::path& run);

/// Nothing where the folder is no run. Errors: io.
void keep_adaptation(const std::filesystem::path& run, const KeptAdaptation& adaptation);

}  // namespace chargpt
