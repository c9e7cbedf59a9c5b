// Attention as free functions on tensors, used by the layers and by the teaching examples. Tokens are rows. Independent
// of parameters, layers and models.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace chargpt {

/// Result of attention: `output` (..., n, d_v), and `weights` (..., n, m), whose rows sum to 1.
struct Attended {
  torch::Tensor output, weights;
};

/// Additive mask (T, T): 0 for keys at or before the query, else -inf.
torch::Tensor causal_mask(std::int64_t T, const torch::TensorOptions& options = {});

/// For ids (B, T), the position (B, T) where the document of each token begins: the last position, at or before the
/// token, with the id `document`; 0 if there is none.
torch::Tensor begins_of_documents(const torch::Tensor& ids, std::int64_t document);

/// Additive mask (B, T, T): 0 for keys of the query's document at or before the query, else -inf.
torch::Tensor document_mask(const torch::Tensor& begins, const torch::TensorOptions& options = {});

/// Computes the weights softmax(q k^T * scale + mask) of q (..., n, d) and k (..., m, d), and the means of the values v
/// (..., m, d_v) with these weights. Source: Vaswani et al., "Attention is all you need" (2017), section 3.2.1, where
/// scale is 1/sqrt(d).
Attended scaled_dot_product(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const torch::Tensor& mask, double scale);

/// Table (positions, width): column 2i contains sin(p / base^(2i/width)), column 2i+1 the cosine of the same angle.
/// Source: Vaswani et al. (2017), section 3.5.
torch::Tensor sinusoidal_table(std::int64_t positions, std::int64_t width, double base = 10000.0);

/// Rotates x (..., T, hs) by angles with these cosines and sines, (T, hs/2); column i is paired with column i + hs/2,
/// and q . k then depends only on relative positions. Source: Su et al., "RoFormer" (2021).
torch::Tensor rotate_halves(const torch::Tensor& x, const torch::Tensor& cosines, const torch::Tensor& sines);

/// Angles p / base^(2i/hs) for 0 <= p < positions and i < hs/2: (positions, hs/2).
torch::Tensor rotary_angles(std::int64_t positions, std::int64_t head_size, double base = 10000.0);

}  // namespace chargpt
