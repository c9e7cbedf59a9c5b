#include "inference/positions.h"

#include <cmath>

namespace chargpt {
namespace {

/// 1 / base^(2i/width) for i < count: the angles of position 1.
std::vector<double> position_frequencies(std::int64_t count, std::int64_t width, double base) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < count; ++i)
    frequencies.push_back(std::pow(base, static_cast<double>(i) * (-2.0 / static_cast<double>(width))));
  return frequencies;
}

}  // namespace

std::vector<float> sinusoids(std::int64_t positions, std::int64_t width, double base) {
  const std::vector<double> frequencies = position_frequencies((width + 1) / 2, width, base);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(positions * width));
  for (std::int64_t position = 0; position < positions; ++position)
    for (std::int64_t column = 0; column < width; ++column) {
      const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(column / 2)];
      values.push_back(static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return values;
}

RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base) {
  RopeAngles all;
  all.frequencies = position_frequencies(head_size / 2, head_size, base);
  for (std::int64_t position = 0; position < positions; ++position)
    for (const double frequency : all.frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      all.cosines.push_back(static_cast<float>(std::cos(angle)));
      all.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  return all;
}

}  // namespace chargpt
