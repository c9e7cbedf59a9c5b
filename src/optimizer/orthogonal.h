// The update of Muon for one matrix on plain arrays, by the kernels' matmuls. Knows no tensor and no thread.
#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace chargpt::cpu {

/// values (rows, columns) += factor O(u), O being five Newton-Schulz iterations as optimizer/muon.h has them. Works on
/// the smaller side n: with x = u / |u|, g = x x' and p = a + b g + c g g, an iteration makes x -> p x and g -> p g p,
/// so that only the first g and the last x cost more than n^3. `u` and `values` row-major; up to Kernels::slack floats
/// behind u are read. `scratch` grows as needed. A `u` of zeros changes nothing.
void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch);

}  // namespace chargpt::cpu
