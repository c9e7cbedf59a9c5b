// The steps of attention as courses show them, one small function each: what `explain` walks through, and what the
// teaching documents' worked examples are checked against. Tokens are rows, (T, C), unless a name says column. What the
// models run is attention.h, and is used here wherever it already does the step. Knows no layer, no model and no text.
//
// A shape that does not fit is LibTorch's c10::Error, which names both shapes.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "model/attention.h"

namespace chargpt {

/// Token embedding before it becomes a look-up: one-hot rows (T, V) times the table (V, C) -> (T, C).
torch::Tensor embed_by_one_hot(const torch::Tensor& ids, const torch::Tensor& table);

/// How alike a query (d) is to each token (n, d), by dot product -> (n).
torch::Tensor dot_similarity(const torch::Tensor& query, const torch::Tensor& tokens);

/// Scores over their sum, along the last dimension. Only a first idea of weights: scores of mixed sign give negative
/// weights, and a sum of zero gives infinity.
torch::Tensor normalise_by_sum(const torch::Tensor& scores);

/// e^x / sum e^x along the last dimension, as the formula reads: NaN from x of about 88.7 in float32 (709.8 in
/// float64), and where every term underflows. See stable_softmax.
torch::Tensor naive_softmax(const torch::Tensor& scores);

/// Derivative of softmax by its scores at probabilities p (n): diag(p) - p p^T -> (n, n). It vanishes as p nears a
/// step: why scores are divided by the root of the head size.
torch::Tensor softmax_jacobian(const torch::Tensor& probabilities);

/// One query (d) looks up values (n, d_v) by its likeness to keys (n, d) -> (d_v).
torch::Tensor single_query_context(const torch::Tensor& query, const torch::Tensor& keys, const torch::Tensor& values,
                                   double scale);

/// The same query after query: (n, d), (m, d), (m, d_v) -> (n, d_v). Slow and plain; scaled_dot_product gives the same
/// by two matrix products.
torch::Tensor context_by_loop(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                              double scale);

/// Weights that let each of T tokens average what it may see: causal, itself and earlier ones, a lower triangle whose
/// rows sum to 1; else all T alike. Attention whose scores are all zero. -> (T, T)
torch::Tensor averaging_matrix(std::int64_t T, bool causal, const torch::TensorOptions& options = {});

/// Prediction at x (d) from stored inputs (n, d) and outputs (n, d_v): their mean under a Gaussian kernel, Nadaraya &
/// Watson (1964). Attention whose similarity is fixed instead of learned. `bandwidth` is in the inputs' unit. -> (d_v)
torch::Tensor kernel_regression(const torch::Tensor& x, const torch::Tensor& inputs, const torch::Tensor& outputs,
                                double bandwidth);

/// All intermediate results of self-attention, to be shown.
struct SelfAttentionSteps {
  torch::Tensor queries, keys, values;  ///< (T, d), (T, d), (T, d_v)
  torch::Tensor scores;                 ///< (T, T), scaled, before the mask
  torch::Tensor weights;                ///< (T, T), rows sum to 1
  torch::Tensor output;                 ///< (T, d_v)
};

/// Parameter matrices as formulas write them, (in, out) and X W: a library's linear layer stores the transpose.
struct ProjectionMatrices {
  torch::Tensor query, key, value;                 ///< (C, d), (C, d), (C, d_v)
  torch::Tensor query_bias, key_bias, value_bias;  ///< (d), (d), (d_v); undefined if there is none
};

/// x (T, C) attends to itself; an undefined mask hides nothing.
SelfAttentionSteps self_attention_steps(const torch::Tensor& x, const ProjectionMatrices& projections,
                                        const torch::Tensor& mask, double scale);

/// One head where tokens are columns: Omega x + beta, with Omega (d, D) and beta (d, 1).
struct ColumnProjections {
  torch::Tensor omega_q, omega_k, omega_v, beta_q, beta_k, beta_v;
};

/// The same attention with x (D, N): queries, keys, values and output are (d, N); row n of scores and weights is still
/// query n, so that the output is V A^T, not V A.
SelfAttentionSteps column_attention_steps(const torch::Tensor& x, const ColumnProjections& head, double scale);

/// Heads stacked one below the other, then mixed: omega_c [head; …; head], omega_c (D, nh d). Scores are divided by
/// sqrt(d).
/// -> (D, N)
torch::Tensor column_multi_head(const torch::Tensor& x, const std::vector<ColumnProjections>& heads,
                                const torch::Tensor& omega_c);

/// A library's multi-head attention: linear layers store (out, in), queries, keys and values share one matrix.
struct PackedMultiHead {
  std::int64_t n_head = 1;
  torch::Tensor in_weight,
      in_bias;  ///< (3 nh hs, C), rows in the order queries, keys, values, each head after head; (3 nh hs)
  torch::Tensor out_weight, out_bias;  ///< (C, nh hs), (C)
};

struct MultiHeadSteps {
  torch::Tensor weights;  ///< (nh, T, T)
  torch::Tensor joined;   ///< (T, nh hs), heads side by side
  torch::Tensor output;   ///< (T, C)
};

/// x (T, C), every token sees every token; scores are divided by sqrt(hs).
MultiHeadSteps multi_head_steps(const torch::Tensor& x, const PackedMultiHead& parameters);

}  // namespace chargpt
