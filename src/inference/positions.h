// Positions as numbers: sinusoids that are added to embeddings, and rotations of queries and keys. In double until the
// end: float32 angles are wrong by whole degrees at positions in the thousands.
#pragma once

#include <cstdint>
#include <vector>

namespace chargpt {

/// (positions, width): column 2i holds sin(p / base^(2i/width)), column 2i+1 the cosine of the same angle. Source:
/// Vaswani et al., "Attention is all you need" (2017), section 3.5.
std::vector<float> sinusoids(std::int64_t positions, std::int64_t width, double base = 10000.0);

/// RopeAngles of positions 0 to positions - 1, each (positions, hs/2): of a pair of features by p / base^(2i/hs). After
/// it q . k depends on positions only through their difference. Source: Su et al., "RoFormer" (2021).
struct RopeAngles {
  std::vector<float> cosines, sines;
  std::vector<double> frequencies;  ///< (hs/2)
};
RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base);

}  // namespace chargpt
