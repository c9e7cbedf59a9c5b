// See attention_steps.h. Written to be read: none of this runs in training.
#include "model/attention_steps.h"

#include <cmath>
#include <vector>

namespace chargpt {

torch::Tensor embed_by_one_hot(const torch::Tensor& ids, const torch::Tensor& table) {
  const auto one_hot = torch::one_hot(ids, table.size(0)).to(table.dtype());  // (T, V)
  return torch::matmul(one_hot, table);                                       // (T, V) x (V, C) -> (T, C)
}

torch::Tensor dot_similarity(const torch::Tensor& query, const torch::Tensor& tokens) {
  return torch::mv(tokens, query);  // (n, d) x (d) -> (n)
}

torch::Tensor normalise_by_sum(const torch::Tensor& scores) {
  return scores / scores.sum(-1, /*keepdim=*/true);
}

torch::Tensor naive_softmax(const torch::Tensor& scores) {
  return normalise_by_sum(scores.exp());
}

torch::Tensor softmax_jacobian(const torch::Tensor& probabilities) {
  return torch::diag(probabilities) - torch::outer(probabilities, probabilities);
}

torch::Tensor single_query_context(const torch::Tensor& query, const torch::Tensor& keys, const torch::Tensor& values,
                                   double scale) {
  const auto weights = stable_softmax(dot_similarity(query, keys) * scale);  // (n)
  return torch::mv(values.t(), weights);                                     // (d_v, n) x (n) -> (d_v)
}

torch::Tensor context_by_loop(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                              double scale) {
  std::vector<torch::Tensor> rows;
  for (std::int64_t i = 0; i < queries.size(0); ++i)
    rows.push_back(single_query_context(queries[i], keys, values, scale));
  return torch::stack(rows);
}

torch::Tensor averaging_matrix(std::int64_t T, bool causal, const torch::TensorOptions& options) {
  const auto seen = torch::ones({T, T}, options);
  return normalise_by_sum(causal ? seen.tril() : seen);
}

torch::Tensor kernel_regression(const torch::Tensor& x, const torch::Tensor& inputs, const torch::Tensor& outputs,
                                double bandwidth) {
  const auto squared_distance = (inputs - x).square().sum(-1);                           // (n)
  const auto weights = stable_softmax(squared_distance / (-2 * bandwidth * bandwidth));  // (n)
  return torch::mv(outputs.t(), weights);
}

namespace {

/// x W + b; an undefined bias adds nothing.
torch::Tensor project(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  const auto projected = torch::matmul(x, weight);  // (T, C) x (C, d) -> (T, d)
  return bias.defined() ? projected + bias : projected;
}

}  // namespace

SelfAttentionSteps self_attention_steps(const torch::Tensor& x, const ProjectionMatrices& projections,
                                        const torch::Tensor& mask, double scale) {
  SelfAttentionSteps steps;
  steps.queries = project(x, projections.query, projections.query_bias);
  steps.keys = project(x, projections.key, projections.key_bias);
  steps.values = project(x, projections.value, projections.value_bias);
  steps.scores = torch::matmul(steps.queries, steps.keys.t()) * scale;  // (T, d) x (d, T) -> (T, T)
  const auto [output, weights] = scaled_dot_product(steps.queries, steps.keys, steps.values, mask, scale);
  steps.weights = weights;
  steps.output = output;
  return steps;
}

SelfAttentionSteps column_attention_steps(const torch::Tensor& x, const ColumnProjections& head, double scale) {
  const ProjectionMatrices rows{head.omega_q.t(),       head.omega_k.t(),       head.omega_v.t(),
                                head.beta_q.squeeze(1), head.beta_k.squeeze(1), head.beta_v.squeeze(1)};
  auto steps = self_attention_steps(x.t(), rows, /*mask=*/{}, scale);
  steps.queries = steps.queries.t();
  steps.keys = steps.keys.t();
  steps.values = steps.values.t();
  steps.output = steps.output.t();  // (A V^T)^T = V A^T
  return steps;
}

torch::Tensor column_multi_head(const torch::Tensor& x, const std::vector<ColumnProjections>& heads,
                                const torch::Tensor& omega_c) {
  std::vector<torch::Tensor> outputs;
  for (const auto& head : heads) {
    const double scale = 1 / std::sqrt(static_cast<double>(head.omega_k.size(0)));
    outputs.push_back(column_attention_steps(x, head, scale).output);  // (d, N)
  }
  return torch::matmul(omega_c, torch::cat(outputs, 0));  // (D, nh d) x (nh d, N) -> (D, N)
}

MultiHeadSteps multi_head_steps(const torch::Tensor& x, const PackedMultiHead& parameters) {
  const auto T = x.size(0);
  const auto width = parameters.in_weight.size(0) / 3;
  const auto head_size = width / parameters.n_head;
  // (T, C) x (C, 3 nh hs) -> (T, 3, nh, hs) -> (3, nh, T, hs)
  const auto packed = project(x, parameters.in_weight.t(), parameters.in_bias)
                          .view({T, 3, parameters.n_head, head_size})
                          .permute({1, 2, 0, 3});
  const double scale = 1 / std::sqrt(static_cast<double>(head_size));
  const auto [output, weights] = scaled_dot_product(packed[0], packed[1], packed[2], /*mask=*/{}, scale);
  const auto joined = output.transpose(0, 1).reshape({T, width});  // (nh, T, hs) -> (T, nh hs)
  return {weights, joined, project(joined, parameters.out_weight.t(), parameters.out_bias)};
}

}  // namespace chargpt
