// The worked examples of attention itself, by the functions that the models' layers run. Each runs in float64 and in
// float32, and causal ones through the forward pass of inference too.
#include "vectors.h"

#include <map>
#include <numeric>

#include "inference/walk.h"
#include "model/attention.h"
#include "predict/network.h"
#include "windows_of.h"

namespace chargpt::seed {
namespace {

/// Matrices as formulas write them, (in, out) and X W: a library's linear layer stores the transpose. No biases:
/// undefined.
struct Projections {
  torch::Tensor x, query, key, value;
  torch::Tensor query_bias{}, key_bias{}, value_bias{};
};

/// Queries, keys and values, tokens in rows.
struct Head {
  torch::Tensor q, k, v;
};

torch::Tensor projected(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  return torch::linear(x, weight.t(), bias);
}

Head head_of(const Projections& p) {
  return {projected(p.x, p.query, p.query_bias), projected(p.x, p.key, p.key_bias),
          projected(p.x, p.value, p.value_bias)};
}

Projections lecture(const Vector& v) {
  return {v.input("X"), v.input("W_Q"), v.input("W_K"), v.input("W_V")};
}

Projections biased(const Vector& v) {
  return {v.input("inp"), v.input("W_q").t(), v.input("W_k").t(), v.input("W_v").t(),
          v.input("b_q"), v.input("b_k"),     v.input("b_v")};
}

Projections linear_layers(const Vector& v) {
  return {v.input("inputs"), v.input("W_query_linear").t(), v.input("W_key_linear").t(), v.input("W_value_linear").t()};
}

Projections explicit_matrices(const Vector& v) {
  return {v.input("inputs"), v.input("W_query"), v.input("W_key"), v.input("W_value")};
}

/// Tokens are columns: Omega x + beta, with Omega (d, D) and beta (d, 1).
Projections columns(const Vector& v, const std::string& number = "") {
  const auto omega = [&](const char* name) { return v.input(name + number).t(); };
  const auto beta = [&](const char* name) { return v.input(name + number).squeeze(1); };
  return {v.input("X").t(), omega("omega_q"), omega("omega_k"), omega("omega_v"),
          beta("beta_q"),   beta("beta_k"),   beta("beta_v")};
}

Projections one_column_head(const Vector& v) {
  return columns(v);
}

/// Queries, keys and values themselves are given.
Head given(const Vector& v) {
  return {v.input("Q"), v.input("K"), v.input("V")};
}

Head inputs_alone(const Vector& v) {
  const auto x = v.input("inputs");
  return {x, x, x};
}

template <Projections (*projections)(const Vector&)>
Head head_of(const Vector& v) {
  return head_of(projections(v));
}

torch::Tensor scores_of(const Head& head, double scale) {
  return torch::matmul(head.q, head.k.t()) * scale;  // (n, d) x (d, m) -> (n, m)
}

torch::Tensor causal_mask_for(const Vector& v, std::int64_t T) {
  return causal_mask(T, T, v.dtype());
}

Attended attended(const Head& head, double scale, const torch::Tensor& mask = {}) {
  return scaled_dot_product(head.q, head.k, head.v, mask, scale);
}

struct Example {
  const char* id;
  Head (*head)(const Vector&);
  double scale;
  bool causal = false, columns = false;
};

const std::vector<Example> examples{
    {"L02_sdpa_manual", head_of<lecture>, 1 / std::sqrt(4.0)},
    {"L03_sdpa_builtin", given, 1 / std::sqrt(4.0)},
    {"L11_cross_attention", given, 1 / std::sqrt(2.0)},
    {"N01_single_head_loop", head_of<one_column_head>, 1, /*causal=*/false, /*columns=*/true},
    {"N02_single_head_matrix", head_of<one_column_head>, 1, /*causal=*/false, /*columns=*/true},
    {"N03_single_head_scaled", head_of<one_column_head>, 1 / std::sqrt(4.0), /*causal=*/false, /*columns=*/true},
    {"B10_qkv_causal_4x2", head_of<biased>, 1, /*causal=*/true},
    {"B11_by_hand_causal_2x2", head_of<lecture>, 1, /*causal=*/true},
    {"C05_all_scores", inputs_alone, 1},
    {"C06_all_weights_and_contexts", inputs_alone, 1},
    {"C09_qkv_parameters_seed_123", head_of<explicit_matrices>, 1 / std::sqrt(2.0)},
    {"C10_qkv_linear_seed_789", head_of<linear_layers>, 1 / std::sqrt(2.0)},
};
[[maybe_unused]] const bool listed = [] {
  for (const Example& example : examples) covered_ids().insert(example.id);
  return true;
}();

/// Everything that the example expects, whatever it is called there.
void check_all(const Vector& v, const Example& example) {
  const Head head = example.head(v);
  const auto mask = example.causal ? causal_mask_for(v, head.q.size(0)) : torch::Tensor();
  const auto [output, weights] = attended(head, example.scale, mask);
  const auto token = [&](const torch::Tensor& rows) { return example.columns ? rows.t() : rows; };
  const std::map<std::string, torch::Tensor> found{
      {"Q", token(head.q)}, {"K", token(head.k)},   {"V", token(head.v)},
      {"queries", head.q},  {"keys", head.k},       {"values", head.v},
      {"weights", weights}, {"attention", weights}, {"X_prime", token(output)},
      {"output", output},   {"contexts", output},   {"scores", scores_of(head, example.scale)},
  };
  for (const auto& [name, expected] : v.json()["expected"].items()) {
    INFO(example.id << ": " << name);
    REQUIRE(found.contains(name));
    v.check(name, found.at(name));
  }
}

/// The same by the program's forward pass: a model that is this one head alone, whose token i is row i of x. What it
/// gives lies in the first columns of its logits.
Attended by_forward_pass(const Projections& p, AttentionScale scale) {
  const std::int64_t T = p.x.size(0), C = p.x.size(1), hs = p.query.size(1);
  ModelConfig config;
  config.type = "attention";
  config.block_size = T;
  config.n_embd = C;
  config.n_head = 1;
  config.head_size = hs;
  config.position = Position::none;
  config.attention_scale = scale;
  config.bias = p.query_bias.defined();
  config.bias_places = {Place::attention};
  std::map<std::string, torch::Tensor> weights{{"wte.weight", p.x},
                                               {"attn.c_attn.weight", torch::cat({p.query, p.key, p.value}, 1).t()},
                                               {"attn.c_proj.weight", torch::eye(C, hs)},
                                               {"lm_head.weight", torch::eye(T, C)},
                                               {"lm_head.bias", torch::zeros(T)}};
  if (config.bias) weights["attn.c_attn.bias"] = torch::cat({p.query_bias, p.key_bias, p.value_bias});
  for (auto& [name, weight] : weights) weight = weight.to(torch::kFloat32).contiguous();
  const InferenceModel model(config, T, [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    INFO(name);
    REQUIRE(weights.at(name).sizes() == shape);
    return weights.at(name).const_data_ptr<float>();
  });
  std::vector<std::int64_t> ids(static_cast<std::size_t>(T));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> logits(static_cast<std::size_t>(T * T));
  NetworkPredictor(model, 1).logits(windows_of(torch::arange(T + 1).remainder(T).view({1, T + 1})), logits);
  return {torch::tensor(logits).view({T, T}).slice(1, 0, hs),
          torch::tensor(attention_weights(model, ids).values).view({T, T})};
}

torch::Tensor by_sum(const torch::Tensor& scores) {
  return scores / scores.sum(-1, /*keepdim=*/true);
}

/// The second token's likeness to all, (1, 6).
Head second_token(const Vector& v) {
  const auto x = v.input("inputs"), query = x[v.value("query_index").get<std::int64_t>()];
  return {query.unsqueeze(0), x, x};
}

/// (T, 3 nh hs) -> queries, keys and values (nh, T, hs).
Head heads_of(const torch::Tensor& packed, std::int64_t n_head) {
  const auto parts = packed.view({packed.size(0), 3, n_head, -1}).permute({1, 2, 0, 3});
  return {parts[0], parts[1], parts[2]};
}

torch::Tensor side_by_side(const torch::Tensor& heads) {
  return heads.transpose(0, 1).flatten(1);  // (nh, T, hs) -> (T, nh hs)
}

/// (in, nh, hs) -> (in, nh hs)
torch::Tensor packed_rows(const Vector& v, const std::string& part) {
  return torch::cat({v.input("query_" + part), v.input("key_" + part), v.input("value_" + part)}, -2).flatten(-2);
}

}  // namespace

TEST_CASE("attention has the worked examples' queries, keys, values, scores, weights and outputs", "[vector]") {
  for (const Example& example : examples)
    for (const auto& v : in_both_precisions(example.id)) check_all(v, example);
}

TEST_CASE("the forward pass has the causal examples' weights and outputs", "[vector]") {
  const struct {
    const char *id, *weights;
    Projections (*projections)(const Vector&);
    AttentionScale scale;
  } causal[]{{"B10_qkv_causal_4x2", "weights", biased, AttentionScale::none},
             {"B11_by_hand_causal_2x2", "weights", lecture, AttentionScale::none},
             {"C12_causal_attention_seed_789", "weights_mask_then_softmax", linear_layers, AttentionScale::head}};
  for (const auto& example : causal) {
    const auto v = vector(example.id);
    const auto [output, weights] = by_forward_pass(example.projections(v), example.scale);
    v.check(example.weights, weights);
    v.check("output", output);
  }
}

TEST_CASE("the exercise done by hand gives 1 + 3/(1 + 1/e) = 3.1932, not the 3.912 of its solution", "[vector]") {
  const auto v = vector("B11_by_hand_causal_2x2", torch::kFloat64);
  CHECK(attended(head_of(lecture(v)), 1, causal_mask_for(v, 2)).output[1][1].item<double>() ==
        Approx(1 + 3 / (1 + std::exp(-1.0))));
}

// Lecture: transformers and attention.

VECTOR_CASES(L01_onehot_embedding, "one-hot rows times the table are a row look-up") {
  const auto table = v.input("W_E"), one_hot = torch::one_hot(v.ids("token_ids"), table.size(0)).to(v.dtype());
  CHECK(torch::equal(one_hot, v.input("one_hot")));
  v.check("X", torch::matmul(one_hot, table));
  v.check("X_lookup", torch::embedding(table, v.ids("token_ids")));
}

VECTOR_CASES(L04_mha_torch_two_heads, "two heads from a library's packed weights, divided by the root of their width") {
  const auto packed = torch::linear(v.input("X"), v.input("in_proj_weight"), v.input("in_proj_bias"));
  const auto [output, weights] = attended(heads_of(packed, 2), 1 / std::sqrt(2.0));
  v.check("weights_per_head", weights);
  v.check("weights_avg", weights.mean(0));
  v.check("concat", side_by_side(output));
  v.check("output", torch::linear(side_by_side(output), v.input("out_proj_weight"), v.input("out_proj_bias")));
}

VECTOR_CASES(L05_mha_nnx_two_heads, "kernels of another library, (in, heads, head size), give its printed output") {
  const auto packed = projected(v.input("X"), packed_rows(v, "kernel"), packed_rows(v, "bias"));
  const auto [output, weights] = attended(heads_of(packed, 2), 1 / std::sqrt(2.0));
  v.check("weights_per_head", weights);
  v.check("output", projected(side_by_side(output), v.input("out_kernel").flatten(0, 1), v.input("out_bias")));
}

VECTOR_CASE(L06_quadratic_cost, "four times the context is sixteen times the weights") {
  std::vector<std::int64_t> entries;
  for (const std::int64_t n : v.value("n")) {
    const auto x = torch::zeros({n, 4});
    entries.push_back(attended({x, x, x}, 1).weights.numel());
  }
  CHECK(entries == v.expected("entries").get<std::vector<std::int64_t>>());
  for (std::size_t i = 1; i < entries.size(); ++i)
    CHECK(entries[i] == v.expected("ratio_when_n_is_quadrupled").get<std::int64_t>() * entries[i - 1]);
}

VECTOR_CASES(L07_causal_mask_additive, "an added mask of -inf leaves exact zeros, and the first token its own value") {
  const auto mask = causal_mask_for(v, 3);
  const auto weights = stable_softmax(v.input("scores") + mask);
  const auto output = torch::matmul(weights, v.input("V"));
  v.check("mask", mask);
  v.check("weights", weights);
  v.check("output", output);
  CHECK(torch::equal(output[0], v.input("V")[0]));
}

VECTOR_CASES(L12_permutation_equivariance, "without mask and positions permuted tokens permute the output alone") {
  const auto permutation = v.ids("permutation");
  const auto output = [&](bool permuted, const torch::Tensor& mask) {
    Projections p = lecture(v);
    if (permuted) p.x = p.x.index_select(0, permutation);
    return attended(head_of(p), 0.5, mask).output;
  };
  v.check("output_permuted", output(true, {}));
  CHECK(largest_difference(output(true, {}), output(false, {}).index_select(0, permutation)) <= v.tolerance());
  const auto mask = causal_mask_for(v, 3);
  CHECK(largest_difference(output(true, mask), output(false, mask).index_select(0, permutation)) > 0.1);
}

VECTOR_CASE(L13_sinusoidal_positions, "sines and cosines interleaved, base 10000") {
  v.check("PE", sinusoidal_table(5, 8, 10000));
}

// Notebook in column convention.

VECTOR_CASES(N04_two_head_correct, "two heads in columns: V A^T each, stacked, then mixed") {
  const auto first = attended(head_of(columns(v, "1")), 0.5), second = attended(head_of(columns(v, "2")), 0.5);
  const auto stacked = torch::cat({first.output.t(), second.output.t()});
  v.check("attention1", first.weights);
  v.check("attention2", second.weights);
  v.check("concat", stacked);
  v.check("X_prime", torch::matmul(v.input("omega_c"), stacked));
}

VECTOR_CASE(N05_two_head_seed_bug, "untransposed weights give the notebook's wrong answer, and ours is not that") {
  const auto wrong = vector("N05_two_head_seed_bug", torch::kFloat64);
  const auto right = vector(wrong.value("same_inputs_as").get<std::string>(), torch::kFloat64);
  std::vector<torch::Tensor> untransposed;
  for (const char* number : {"1", "2"}) {
    const Head head = head_of(columns(right, number));
    untransposed.push_back(torch::matmul(head.v.t(), attended(head, 0.5).weights));
  }
  wrong.check("X_prime", torch::matmul(right.input("omega_c"), torch::cat(untransposed)));
  CHECK(largest_difference(to_tensor(right.expected("X_prime")), to_tensor(wrong.expected("X_prime"))) > 1);
}

// Self attention notes: averaging.

VECTOR_CASES(B08_uniform_matmul_average, "equal weights in a matrix average all rows") {
  const auto alike = torch::zeros({3, 3}, v.dtype());
  const auto [output, weights] = attended({alike, alike, v.input("x")}, 1);
  v.check("w", weights);
  v.check("out", output);
}

VECTOR_CASES(B09_tril_running_average, "a lower triangle averages as causal attention with equal scores does") {
  const auto alike = torch::zeros({3, 3}, v.dtype());
  const auto [output, weights] = attended({alike, alike, v.input("x")}, 1, causal_mask_for(v, 3));
  v.check("w", by_sum(torch::ones({3, 3}, v.dtype()).tril()));
  v.check("w_via_masked_softmax", weights);
  v.check("out", output);
}

// Coding attention mechanisms: "Your journey starts with one step".

VECTOR_CASES(C01_dot_scores_query_2, "the second token's likeness to all six is a dot product each") {
  v.check("scores", scores_of(second_token(v), 1)[0]);
}

VECTOR_CASES(C02_sum_normalisation, "scores over their sum are weights, unless signs are mixed") {
  const auto weights = by_sum(scores_of(second_token(v), 1)[0]);
  v.check("weights", weights);
  v.check("sum", weights.sum());
}

VECTOR_CASES(C03_softmax_naive_and_stable, "both forms of softmax agree on small scores") {
  const auto scores = scores_of(second_token(v), 1)[0];
  v.check("naive", by_sum(scores.exp()));
  v.check("stable", stable_softmax(scores));
  v.check("sum", stable_softmax(scores).sum());
}

VECTOR_CASES(C04_context_vector_query_2, "the second token's context is the weighted sum of the inputs") {
  v.check("context", attended(second_token(v), 1).output[0]);
}

VECTOR_CASES(C07_softmax_overflow, "where the naive form gives NaN the stable one does not; masked scores are zeros") {
  const auto& cases = v.value("cases");
  const std::string naive = v.dtype() == torch::kFloat64 ? "naive_float64" : "naive_float32";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i]["name"] << " in " << torch::toString(v.dtype()));
    const auto x = to_tensor(cases[i]["x"]).to(v.dtype());
    CHECK(largest_difference(stable_softmax(x), to_tensor(v.expected("stable")[i])) <= v.tolerance());
    CHECK(largest_difference(by_sum(x.exp()), to_tensor(v.expected(naive)[i])) <= v.tolerance());
  }
}

VECTOR_CASES(C08_linear_layout, "a linear layer from 3 to 2 stores (2, 3) and multiplies by the transpose") {
  v.check("weight", v.input("weight"));
  v.check("y", torch::linear(v.input("x"), v.input("weight")));
}

VECTOR_CASES(C11_weight_transfer, "weights move from linear layers to explicit matrices transposed") {
  const Projections p = linear_layers(v);
  v.check("W_query", p.query);
  v.check("W_key", p.key);
  v.check("W_value", p.value);
  v.check("output", attended(head_of(p), 1 / std::sqrt(2.0)).output);
}

VECTOR_CASES(C12_causal_attention_seed_789, "masking scores equals zeroing weights and dividing rows by their sums") {
  const Head head = head_of(linear_layers(v));
  const auto unmasked = attended(head, 1 / std::sqrt(2.0)),
             masked = attended(head, 1 / std::sqrt(2.0), causal_mask_for(v, 6));
  v.check("unmasked_weights", unmasked.weights);
  v.check("weights_mask_then_softmax", masked.weights);
  v.check("weights_softmax_then_renormalise", by_sum(unmasked.weights.tril()));
  v.check("output", masked.output);
}

VECTOR_CASES(C13_softmax_saturation, "larger scores make softmax a step without a derivative: why they are scaled") {
  std::vector<torch::Tensor> probabilities, steepest;
  for (const double factor : v.value("factors")) {
    const auto p = stable_softmax(v.input("scores") * factor);
    probabilities.push_back(p);
    steepest.push_back((torch::diag(p) - torch::outer(p, p)).abs().max());  // the Jacobian
  }
  v.check("probabilities", torch::stack(probabilities));
  v.check("max_abs_jacobian", torch::stack(steepest));
}

}  // namespace chargpt::seed
