// Attention as free functions on tensors: what the layers run and what the teaching examples show. Tokens are rows.
// Knows no parameter, no layer and no model.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace chargpt {

/// What attention gives: `output` (..., n, d_v), and `weights` (..., n, m) whose rows sum to 1.
struct Attended {
  torch::Tensor output, weights;
};

/// Additive mask (T, T): 0 where a query may look, at keys up to its own, -inf where it may not.
torch::Tensor causal_mask(std::int64_t T, const torch::TensorOptions& options = {});

/// (B, T), of ids (B, T): where the document of each begins, that is the last place up to its own with the id
/// `document`, or 0.
torch::Tensor begins_of_documents(const torch::Tensor& ids, std::int64_t document);

/// Additive mask (B, T, T): a query sees the keys of its document up to its own.
torch::Tensor document_mask(const torch::Tensor& begins, const torch::TensorOptions& options = {});

/// Weights softmax(q k^T * scale + mask) of q (..., n, d), k (..., m, d), and the mean of the values v (..., m, d_v)
/// under them. Source: Vaswani et al., "Attention is all you need" (2017), section
/// 3.2.1, where scale is 1/sqrt(d).
Attended scaled_dot_product(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const torch::Tensor& mask, double scale);

/// (positions, width): column 2i holds sin(p / base^(2i/width)), column 2i+1 the cosine of the same angle. Source:
/// Vaswani et al. (2017), section 3.5.
torch::Tensor sinusoidal_table(std::int64_t positions, std::int64_t width, double base = 10000.0);

/// Rotates x (..., T, hs) by angles whose cosines and sines are (T, hs/2); column i is paired with column i + hs/2.
/// After it q . k depends on positions only through their difference. Source: Su et al., "RoFormer" (2021).
torch::Tensor rotate_halves(const torch::Tensor& x, const torch::Tensor& cosines, const torch::Tensor& sines);

/// Angles p / base^(2i/hs) for 0 <= p < positions and i < hs/2: (positions, hs/2).
torch::Tensor rotary_angles(std::int64_t positions, std::int64_t head_size, double base = 10000.0);

}  // namespace chargpt
