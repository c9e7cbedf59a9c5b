// The worked examples of attention itself: functions on tensors, without a layer. Each runs in float64 and in float32.
#include "vectors.h"

#include <cmath>

#include "model/attention.h"
#include "model/attention_steps.h"

namespace chargpt::seed {
namespace {

/// (out, in) as a library's linear layer stores it -> (in, out) as formulas write it.
torch::Tensor transposed(const torch::Tensor& weight) {
  return weight.t();
}

ProjectionMatrices lecture_projections(const Vector& v) {
  return {v.input("W_Q"), v.input("W_K"), v.input("W_V"), {}, {}, {}};
}

ProjectionMatrices linear_projections(const Vector& v) {
  return {transposed(v.input("W_query_linear")),
          transposed(v.input("W_key_linear")),
          transposed(v.input("W_value_linear")),
          {},
          {},
          {}};
}

torch::Tensor causal_mask_for(const Vector& v, std::int64_t T) {
  return causal_mask(T, T, v.dtype());
}

/// (in, nh, hs) -> (nh hs, in): the second library's kernels in the layout of the first.
torch::Tensor packed_rows(const torch::Tensor& kernel) {
  return kernel.flatten(1).t();
}

PackedMultiHead library_heads(const Vector& v) {
  return {v.value("num_heads").get<std::int64_t>(), v.input("in_proj_weight"), v.input("in_proj_bias"),
          v.input("out_proj_weight"), v.input("out_proj_bias")};
}

ColumnProjections column_head(const Vector& v, const std::string& number = "") {
  return {v.input("omega_q" + number), v.input("omega_k" + number), v.input("omega_v" + number),
          v.input("beta_q" + number),  v.input("beta_k" + number),  v.input("beta_v" + number)};
}

std::vector<ColumnProjections> two_column_heads(const Vector& v) {
  return {column_head(v, "1"), column_head(v, "2")};
}

torch::Tensor second_token(const Vector& v) {
  return v.input("inputs")[v.value("query_index").get<std::int64_t>()];
}

}  // namespace

// Lecture: transformers and attention.

VECTOR_CASE(L01_onehot_embedding, "one-hot rows times the table are a row look-up") {
  for (const auto& v : in_both_precisions("L01_onehot_embedding")) {
    const auto ids = v.ids("token_ids");
    const auto table = v.input("W_E");
    CHECK(torch::equal(torch::one_hot(ids, table.size(0)).to(v.dtype()), v.input("one_hot")));
    v.check("X", embed_by_one_hot(ids, table));
    v.check("X_lookup", table.index_select(0, ids));
  }
}

VECTOR_CASE(L02_sdpa_manual,
            "queries, keys, values, scores, weights and output of one head divided by the root of its width") {
  for (const auto& v : in_both_precisions("L02_sdpa_manual")) {
    const auto steps = self_attention_steps(v.input("X"), lecture_projections(v), {}, 1 / std::sqrt(4.0));
    v.check("Q", steps.queries);
    v.check("K", steps.keys);
    v.check("V", steps.values);
    v.check("scores", steps.scores);
    v.check("weights", steps.weights);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(L03_sdpa_builtin, "the library's one call, our two products and query after query give one output") {
  for (const auto& v : in_both_precisions("L03_sdpa_builtin")) {
    const auto q = v.input("Q"), k = v.input("K"), values = v.input("V");
    const double scale = 1 / std::sqrt(4.0);
    v.check("output", scaled_dot_product(q, k, values, {}, scale).output);
    v.check("output", context_by_loop(q, k, values, scale));
    v.check("output", at::scaled_dot_product_attention(q.unsqueeze(0), k.unsqueeze(0), values.unsqueeze(0)).squeeze(0));
  }
}

VECTOR_CASE(L04_mha_torch_two_heads,
            "two heads from a library's packed weights, divided by the root of the head's width") {
  for (const auto& v : in_both_precisions("L04_mha_torch_two_heads")) {
    const auto steps = multi_head_steps(v.input("X"), library_heads(v));
    v.check("weights_per_head", steps.weights);
    v.check("weights_avg", steps.weights.mean(0));
    v.check("concat", steps.joined);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(L05_mha_nnx_two_heads,
            "kernels of another library, (in, heads, head size), give its printed output once repacked") {
  for (const auto& v : in_both_precisions("L05_mha_nnx_two_heads")) {
    const auto in_weight = torch::cat({packed_rows(v.input("query_kernel")), packed_rows(v.input("key_kernel")),
                                       packed_rows(v.input("value_kernel"))});
    const auto in_bias = torch::cat({v.input("query_bias"), v.input("key_bias"), v.input("value_bias")}).flatten();
    const auto out_weight = v.input("out_kernel").flatten(0, 1).t();  // (nh, hs, out) -> (out, nh hs)
    const auto steps = multi_head_steps(v.input("X"), {2, in_weight, in_bias, out_weight, v.input("out_bias")});
    v.check("weights_per_head", steps.weights);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(L06_quadratic_cost, "four times the context is sixteen times the weights") {
  const auto v = vector("L06_quadratic_cost");
  std::vector<std::int64_t> entries;
  for (const std::int64_t n : v.value("n")) {
    const auto x = torch::zeros({n, 4});
    entries.push_back(scaled_dot_product(x, x, x, {}, 1).weights.numel());
  }
  CHECK(entries == v.expected("entries").get<std::vector<std::int64_t>>());
  for (std::size_t i = 1; i < entries.size(); ++i)
    CHECK(entries[i] == v.expected("ratio_when_n_is_quadrupled").get<std::int64_t>() * entries[i - 1]);
}

VECTOR_CASE(L07_causal_mask_additive, "an added mask of -inf leaves exact zeros, and the first token its own value") {
  for (const auto& v : in_both_precisions("L07_causal_mask_additive")) {
    const auto mask = causal_mask_for(v, 3);
    const auto weights = stable_softmax(v.input("scores") + mask);
    const auto output = torch::matmul(weights, v.input("V"));
    v.check("mask", mask);
    v.check("weights", weights);
    v.check("output", output);
    CHECK(torch::equal(output[0], v.input("V")[0]));
  }
}

VECTOR_CASE(L11_cross_attention, "queries of one sequence read keys and values of another, of another width") {
  for (const auto& v : in_both_precisions("L11_cross_attention")) {
    const auto q = v.input("Q"), k = v.input("K"), values = v.input("V");
    const double scale = 1 / std::sqrt(2.0);
    const auto attended = scaled_dot_product(q, k, values, {}, scale);
    v.check("scores", torch::matmul(q, k.t()) * scale);
    v.check("weights", attended.weights);
    v.check("output", attended.output);
    v.check("output", context_by_loop(q, k, values, scale));
  }
}

VECTOR_CASE(L12_permutation_equivariance,
            "without mask and positions permuted tokens only permute the output; a causal mask breaks it") {
  for (const auto& v : in_both_precisions("L12_permutation_equivariance")) {
    const auto permutation = v.ids("permutation");
    const auto x = v.input("X"), permuted = x.index_select(0, permutation);
    const auto attend = [&](const torch::Tensor& tokens, const torch::Tensor& mask) {
      return self_attention_steps(tokens, lecture_projections(v), mask, 0.5).output;
    };
    v.check("output_permuted", attend(permuted, {}));
    CHECK(largest_difference(attend(permuted, {}), attend(x, {}).index_select(0, permutation)) <= v.tolerance());
    const auto mask = causal_mask_for(v, 3);
    CHECK(largest_difference(attend(permuted, mask), attend(x, mask).index_select(0, permutation)) > 0.1);
  }
}

VECTOR_CASE(L13_sinusoidal_positions, "sines and cosines interleaved, base 10000") {
  const auto v = vector("L13_sinusoidal_positions");
  v.check("PE", sinusoidal_table(5, 8, 10000));
}

// Notebook in column convention.

VECTOR_CASE(N01_single_head_loop, "tokens as columns, unscaled, token by token") {
  for (const auto& v : in_both_precisions("N01_single_head_loop")) {
    const auto steps = column_attention_steps(v.input("X"), column_head(v), 1);
    v.check("Q", steps.queries);
    v.check("K", steps.keys);
    v.check("V", steps.values);
    v.check("scores", steps.scores);
    v.check("attention", steps.weights);
    v.check("X_prime", context_by_loop(steps.queries.t(), steps.keys.t(), steps.values.t(), 1).t());
  }
}

VECTOR_CASE(N02_single_head_matrix, "the matrix form equals the loop") {
  for (const auto& v : in_both_precisions("N02_single_head_matrix"))
    v.check("X_prime", column_attention_steps(v.input("X"), column_head(v), 1).output);
}

VECTOR_CASE(N03_single_head_scaled, "the same divided by the root of the width") {
  for (const auto& v : in_both_precisions("N03_single_head_scaled")) {
    const auto steps = column_attention_steps(v.input("X"), column_head(v), 1 / std::sqrt(4.0));
    v.check("scores", steps.scores);
    v.check("attention", steps.weights);
    v.check("X_prime", steps.output);
  }
}

VECTOR_CASE(N04_two_head_correct, "two heads in columns: V A^T each, stacked, then mixed") {
  for (const auto& v : in_both_precisions("N04_two_head_correct")) {
    const auto x = v.input("X");
    const auto heads = two_column_heads(v);
    const auto first = column_attention_steps(x, heads[0], 0.5), second = column_attention_steps(x, heads[1], 0.5);
    v.check("attention1", first.weights);
    v.check("attention2", second.weights);
    v.check("concat", torch::cat({first.output, second.output}));
    v.check("X_prime", column_multi_head(x, heads, v.input("omega_c")));
  }
}

VECTOR_CASE(N05_two_head_seed_bug,
            "weights that are not transposed give the notebook's wrong answer, and ours is not that") {
  const auto wrong = vector("N05_two_head_seed_bug", torch::kFloat64);
  const auto v = vector(wrong.value("same_inputs_as").get<std::string>(), torch::kFloat64);
  const auto x = v.input("X"), omega_c = v.input("omega_c");
  std::vector<torch::Tensor> untransposed;
  for (const auto& head : two_column_heads(v)) {
    const auto steps = column_attention_steps(x, head, 0.5);
    untransposed.push_back(torch::matmul(steps.values, steps.weights));
  }
  wrong.check("X_prime", torch::matmul(omega_c, torch::cat(untransposed)));
  const auto right = column_multi_head(x, two_column_heads(v), omega_c);
  CHECK(largest_difference(right, to_tensor(wrong.expected("X_prime"))) > 1);
}

// Self attention notes: averaging and small causal examples.

VECTOR_CASE(B08_uniform_matmul_average, "equal weights in a matrix average all rows") {
  for (const auto& v : in_both_precisions("B08_uniform_matmul_average")) {
    const auto w = averaging_matrix(3, /*causal=*/false, v.dtype());
    v.check("w", w);
    v.check("out", torch::matmul(w, v.input("x")));
  }
}

VECTOR_CASE(B09_tril_running_average,
            "a lower triangle averages without looking ahead, as attention with equal scores does") {
  for (const auto& v : in_both_precisions("B09_tril_running_average")) {
    const auto w = averaging_matrix(3, /*causal=*/true, v.dtype());
    const auto zeros = torch::zeros({3, 3}, v.dtype());
    v.check("w", w);
    v.check("out", torch::matmul(w, v.input("x")));
    v.check("w_via_masked_softmax", attention_weights(zeros, zeros, causal_mask_for(v, 3), 1));
  }
}

VECTOR_CASE(B10_qkv_causal_4x2, "projections with bias, unscaled, causal") {
  for (const auto& v : in_both_precisions("B10_qkv_causal_4x2")) {
    const ProjectionMatrices projections{transposed(v.input("W_q")),
                                         transposed(v.input("W_k")),
                                         transposed(v.input("W_v")),
                                         v.input("b_q"),
                                         v.input("b_k"),
                                         v.input("b_v")};
    const auto steps = self_attention_steps(v.input("inp"), projections, causal_mask_for(v, 4), 1);
    v.check("queries", steps.queries);
    v.check("keys", steps.keys);
    v.check("values", steps.values);
    v.check("scores", steps.scores);
    v.check("weights", steps.weights);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(B11_by_hand_causal_2x2,
            "the exercise done by hand gives 1 + 3/(1 + 1/e) = 3.1932, not the 3.912 of its solution") {
  for (const auto& v : in_both_precisions("B11_by_hand_causal_2x2")) {
    const auto steps = self_attention_steps(v.input("X"), lecture_projections(v), causal_mask_for(v, 2), 1);
    v.check("Q", steps.queries);
    v.check("K", steps.keys);
    v.check("V", steps.values);
    v.check("scores", steps.scores);
    v.check("weights", steps.weights);
    v.check("output", steps.output);
    CHECK(steps.output[1][1].item<double>() == Approx(1 + 3 / (1 + std::exp(-1.0))));
  }
}

// Coding attention mechanisms: "Your journey starts with one step".

VECTOR_CASE(C01_dot_scores_query_2, "the second token's likeness to all six is a dot product each") {
  for (const auto& v : in_both_precisions("C01_dot_scores_query_2"))
    v.check("scores", dot_similarity(second_token(v), v.input("inputs")));
}

VECTOR_CASE(C02_sum_normalisation, "scores over their sum are weights, unless signs are mixed") {
  for (const auto& v : in_both_precisions("C02_sum_normalisation")) {
    const auto weights = normalise_by_sum(dot_similarity(second_token(v), v.input("inputs")));
    v.check("weights", weights);
    v.check("sum", weights.sum());
  }
  const auto mixed = normalise_by_sum(torch::tensor({1.0, -1.0, 0.5}));
  CHECK(torch::equal(mixed, torch::tensor({2.0, -2.0, 1.0})));
  CHECK(normalise_by_sum(torch::tensor({1.0, -1.0})).isinf().all().item<bool>());
}

VECTOR_CASE(C03_softmax_naive_and_stable, "both forms of softmax agree on small scores") {
  for (const auto& v : in_both_precisions("C03_softmax_naive_and_stable")) {
    const auto scores = dot_similarity(second_token(v), v.input("inputs"));
    v.check("naive", naive_softmax(scores));
    v.check("stable", stable_softmax(scores));
    v.check("sum", stable_softmax(scores).sum());
  }
}

VECTOR_CASE(C04_context_vector_query_2, "the second token's context is the weighted sum of the inputs") {
  for (const auto& v : in_both_precisions("C04_context_vector_query_2"))
    v.check("context", single_query_context(second_token(v), v.input("inputs"), v.input("inputs"), 1));
}

VECTOR_CASE(C05_all_scores, "all scores, query by query and as one symmetric product") {
  for (const auto& v : in_both_precisions("C05_all_scores")) {
    const auto x = v.input("inputs");
    std::vector<torch::Tensor> rows;
    for (std::int64_t i = 0; i < x.size(0); ++i) rows.push_back(dot_similarity(x[i], x));
    const auto scores = torch::matmul(x, x.t());
    v.check("scores", torch::stack(rows));
    v.check("scores", scores);
    CHECK(largest_difference(scores, scores.t()) == 0);
  }
}

VECTOR_CASE(C06_all_weights_and_contexts,
            "all six contexts, by loop and by matrix products; the weights are not symmetric") {
  for (const auto& v : in_both_precisions("C06_all_weights_and_contexts")) {
    const auto x = v.input("inputs");
    const auto attended = scaled_dot_product(x, x, x, {}, 1);
    v.check("weights", attended.weights);
    v.check("contexts", attended.output);
    v.check("contexts", context_by_loop(x, x, x, 1));
    CHECK(largest_difference(attended.weights, attended.weights.t()) > 1e-3);
  }
}

VECTOR_CASE(C07_softmax_overflow,
            "where the naive form gives NaN the stable one does not, and a masked score is an exact zero") {
  for (const auto& v : in_both_precisions("C07_softmax_overflow")) {
    const auto& cases = v.value("cases");
    const std::string naive = v.dtype() == torch::kFloat64 ? "naive_float64" : "naive_float32";
    for (std::size_t i = 0; i < cases.size(); ++i) {
      INFO(cases[i]["name"] << " in " << torch::toString(v.dtype()));
      const auto x = to_tensor(cases[i]["x"]).to(v.dtype());
      CHECK(largest_difference(stable_softmax(x), to_tensor(v.expected("stable")[i])) <= v.tolerance());
      CHECK(largest_difference(naive_softmax(x), to_tensor(v.expected(naive)[i])) <= v.tolerance());
    }
  }
}

VECTOR_CASE(C08_linear_layout, "a linear layer from 3 to 2 stores (2, 3) and multiplies by the transpose") {
  for (const auto& v : in_both_precisions("C08_linear_layout")) {
    v.check("weight", v.input("weight"));
    v.check("y", torch::linear(v.input("x"), v.input("weight")));
    const ProjectionMatrices same{
        transposed(v.input("weight")), transposed(v.input("weight")), transposed(v.input("weight")), {}, {}, {}};
    v.check("y", self_attention_steps(v.input("x"), same, {}, 1).queries);
  }
}

VECTOR_CASE(C09_qkv_parameters_seed_123, "explicit matrices (in, out), divided by the root of the output width") {
  for (const auto& v : in_both_precisions("C09_qkv_parameters_seed_123")) {
    const ProjectionMatrices projections{v.input("W_query"), v.input("W_key"), v.input("W_value"), {}, {}, {}};
    const auto steps = self_attention_steps(v.input("inputs"), projections, {}, 1 / std::sqrt(2.0));
    v.check("scores", steps.scores);
    v.check("weights", steps.weights);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(C10_qkv_linear_seed_789, "linear layers (out, in) give the same attention of their transposes") {
  for (const auto& v : in_both_precisions("C10_qkv_linear_seed_789")) {
    const auto steps = self_attention_steps(v.input("inputs"), linear_projections(v), {}, 1 / std::sqrt(2.0));
    v.check("scores", steps.scores);
    v.check("weights", steps.weights);
    v.check("output", steps.output);
  }
}

VECTOR_CASE(C11_weight_transfer,
            "weights move from linear layers to explicit matrices transposed; untransposed they are refused") {
  for (const auto& v : in_both_precisions("C11_weight_transfer")) {
    const auto projections = linear_projections(v);
    v.check("W_query", projections.query);
    v.check("W_key", projections.key);
    v.check("W_value", projections.value);
    v.check("output", self_attention_steps(v.input("inputs"), projections, {}, 1 / std::sqrt(2.0)).output);
    const ProjectionMatrices untransposed{
        v.input("W_query_linear"), v.input("W_key_linear"), v.input("W_value_linear"), {}, {}, {}};
    CHECK_THROWS_AS(self_attention_steps(v.input("inputs"), untransposed, {}, 1), c10::Error);
  }
}

VECTOR_CASE(C12_causal_attention_seed_789, "masking scores equals zeroing weights and dividing rows by their sums") {
  for (const auto& v : in_both_precisions("C12_causal_attention_seed_789")) {
    const double scale = 1 / std::sqrt(2.0);
    const auto unmasked = self_attention_steps(v.input("inputs"), linear_projections(v), {}, scale);
    const auto masked = self_attention_steps(v.input("inputs"), linear_projections(v), causal_mask_for(v, 6), scale);
    const auto renormalised = normalise_by_sum(unmasked.weights.tril());
    v.check("unmasked_weights", unmasked.weights);
    v.check("weights_mask_then_softmax", masked.weights);
    v.check("weights_softmax_then_renormalise", renormalised);
    v.check("output", masked.output);
    v.check("output", torch::matmul(renormalised, unmasked.values));
  }
}

VECTOR_CASE(C13_softmax_saturation,
            "larger scores make softmax a step and its derivative vanish: why they are scaled") {
  for (const auto& v : in_both_precisions("C13_softmax_saturation")) {
    std::vector<torch::Tensor> probabilities, steepest;
    for (const double factor : v.value("factors")) {
      probabilities.push_back(stable_softmax(v.input("scores") * factor));
      steepest.push_back(softmax_jacobian(probabilities.back()).abs().max());
    }
    v.check("probabilities", torch::stack(probabilities));
    v.check("max_abs_jacobian", torch::stack(steepest));
  }
}

// Steps without a worked example.

TEST_CASE(
    "kernel regression half way between two inputs predicts the mean of their outputs, and at one of them with a "
    "narrow kernel its own") {
  const auto inputs = torch::tensor({{0.0}, {2.0}}), outputs = torch::tensor({{10.0, 0.0}, {20.0, 4.0}});
  CHECK(torch::equal(kernel_regression(torch::tensor({1.0}), inputs, outputs, 0.7), torch::tensor({15.0, 2.0})));
  CHECK(torch::equal(kernel_regression(torch::tensor({2.0}), inputs, outputs, 0.01), outputs[1]));
  // One bandwidth from the first input, none from the second: weights e^(-1/2) and 1.
  const double far = std::exp(-0.5);
  CHECK(kernel_regression(torch::tensor({2.0}), inputs, outputs, 2.0)[0].item<double>() ==
        Approx((10 * far + 20) / (far + 1)));
}

TEST_CASE("dot products of unit normal vectors vary by their width, and by 1 after division by its root") {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1337);
  for (const std::int64_t d : {4, 64}) {
    const auto q = torch::randn({20000, d}, generator), k = torch::randn({20000, d}, generator);
    const auto products = (q * k).sum(-1);
    CHECK(products.var().item<double>() / static_cast<double>(d) == Approx(1).epsilon(0.05));
    CHECK((products / std::sqrt(static_cast<double>(d))).var().item<double>() == Approx(1).epsilon(0.05));
  }
}

}  // namespace chargpt::seed
