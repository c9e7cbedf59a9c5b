// Muon: momentum, then the nearest orthogonal matrix as the step, so that all directions of a matrix learn at the same
// rate. Source: Jordan et al. (2024), "Muon: an optimizer for hidden layers in neural networks".
#pragma once

#include <vector>

#include "engine/optimizer.h"
#include "kernels/kernels.h"

namespace chargpt {

/// One update of every matrix of the group; stacked matrices are updated separately:
/// b = m b + (1 - m) g; u = (1 - m) g + m b; w -= rate * weight_decay * w + rate * sqrt(max(1, rows / cols)) * O(u),
/// with the group's momentum m and the O of add_orthogonalised(). Each thread updates whole matrices, so the result is
/// bit-identical for any number of threads.
///
/// The rule muon_rows scales each row of O(u) to the root mean square of the lengths of its rows: rows that the five
/// iterations leave short learn like the others. Source: Li et al. (2025), "NorMuon", without its average over steps.
void muon(ParameterArena& arena, const ParameterGroup& group, const UpdateContext& context);

/// Factor of the learning rate for the parameter's matrices: sqrt(max(1, rows / cols)).
double rate_of_shape(const Parameter& parameter);

namespace cpu {

/// values (rows, columns) += factor O(u), where O moves the singular values of u close to 1 (between about 0.7 and 1.2)
/// by five Newton-Schulz iterations, x -> a x + b (x x') x + c (x x')^2 x, from x = u / |u|. Works on the smaller side
/// n: with g = x x' and p = a + b g + c g g, an iteration is x -> p x and g -> p g p, so only the first g and the last
/// x cost more than n^3. `u` and `values` are row-major; reads up to Kernels::slack floats past the end of u. Resizes
/// `scratch` as needed. If `u` is 0, does nothing.
void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch);

}  // namespace cpu
}  // namespace chargpt
