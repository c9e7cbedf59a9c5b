// The worked examples of layers, whole models, the loss and the update rule, on what the registry makes. Layers and
// models run in float64 and in float32; loss and update in float32, which the engine computes in.
#include "vectors.h"

#include <functional>

#include "inference/model_types.h"
#include "model/layers.h"
#include "model/registry.h"
#include "model_in_training.h"
#include "optimizer/optimizer.h"
#include "teaching_models.h"
#include "windows_of.h"

namespace chargpt::seed {
namespace {

constexpr std::int64_t tinyshakespeare_symbols = 65;

std::shared_ptr<LanguageModel> make(const Vector& v, const ModelConfig& config, std::int64_t vocab_size) {
  auto model = make_model(config, vocab_size, /*seed=*/1);
  model->to(v.dtype());
  return model;
}

/// Mean over all positions by the engine that training uses; float32 only.
double loss_of(LanguageModel& model, const torch::Tensor& x, const torch::Tensor& y) {
  const TrainConfig train = ladder("bigram").train;
  const WindowBatch windows = windows_of(torch::cat({x, y.slice(-1, -1)}, -1));
  REQUIRE(torch::equal(targets_of(windows), y));
  return losses_of(*ModelInTraining(model, "libtorch", train).engine, windows)
      .to(torch::kFloat64)
      .mean()
      .item<double>();
}

/// The same from logits in the vector's own precision.
torch::Tensor mean_cross_entropy(const torch::Tensor& logits, const torch::Tensor& y) {
  return at::cross_entropy_loss(logits.flatten(0, -2), y.flatten());
}

void check_loss(const Vector& v, LanguageModel& model, const torch::Tensor& logits) {
  const auto y = v.ids("y");
  v.check("loss", mean_cross_entropy(logits, y));
  if (v.dtype() == torch::kFloat32) v.check("loss", loss_of(model, v.ids("x"), y));
}

/// A block of the lecture: two heads with an output projection, ReLU, every bias.
ModelConfig lecture_block_config(NormPlace norm_place, bool feed_forward) {
  return {.n_head = 2,
          .n_embd = 4,
          .block_size = 3,
          .mlp_size = 8,
          .bias = true,
          .norm_place = norm_place,
          .activation = Activation::relu,
          .feed_forward = feed_forward};
}

void set_attention(torch::nn::Module& attention, const Vector& v) {
  set_parameter(attention, "c_attn.weight", v.input("in_proj_weight"));
  set_parameter(attention, "c_attn.bias", v.input("in_proj_bias"));
  set_parameter(attention, "c_proj.weight", v.input("out_proj_weight"));
  set_parameter(attention, "c_proj.bias", v.input("out_proj_bias"));
}

/// The parameters prefix + "c_fc.weight" and so on, from the inputs path + "W1" and so on.
void set_feed_forward(torch::nn::Module& module, const Vector& v, const std::string& prefix = "",
                      const std::string& path = "") {
  set_parameter(module, prefix + "c_fc.weight", v.input(path + "W1"));
  set_parameter(module, prefix + "c_fc.bias", v.input(path + "b1"));
  set_parameter(module, prefix + "c_proj.weight", v.input(path + "W2"));
  set_parameter(module, prefix + "c_proj.bias", v.input(path + "b2"));
}

void set_embedding_and_head(LanguageModel& model, const Vector& v) {
  set_parameter(model, "wte.weight", v.input("embedding"));
  set_parameter(model, "lm_head.weight", v.input("proj_weight"));
  set_parameter(model, "lm_head.bias", v.input("proj_bias"));
}

/// Three symbols whose embeddings are the rows of x, and logits that are what the head is given.
void set_rows_and_no_head(LanguageModel& model, const Vector& v) {
  set_parameter(model, "wte.weight", v.input("x"));
  set_parameter(model, "lm_head.weight", torch::eye(3));
  set_parameter(model, "lm_head.bias", torch::zeros(3));
}

template <class Layer>
torch::Tensor run(Layer& layer, const torch::Tensor& x) {
  ForwardPass pass;
  return layer->forward(x, pass);
}

/// What a causal layer (B, T, C) gives each token of x (T, C) when it comes last and so sees all: the layer without its
/// mask, since without positions the order of what is seen does not matter.
torch::Tensor each_token_last(const torch::Tensor& x, const std::function<torch::Tensor(const torch::Tensor&)>& layer) {
  std::vector<torch::Tensor> rows;
  for (std::int64_t i = 0; i < x.size(0); ++i)
    rows.push_back(layer(torch::roll(x, -1 - i, 0).unsqueeze(0))[0][-1]);  // the roll brings row i to the end
  return torch::stack(rows);
}

void set_transformer_block(torch::nn::Module& model, const std::string& prefix, const Vector& v,
                           const std::string& block) {
  const auto set = [&](const std::string& name, const torch::Tensor& value) {
    set_parameter(model, prefix + name, value);
  };
  set("attn.c_attn.weight", packed(v.input(block + "/attn_query_weight"), v.input(block + "/attn_key_weight"),
                                   v.input(block + "/attn_value_weight")));
  set("ln_1.weight", v.input(block + "/ln1_gamma"));
  set("ln_1.bias", v.input(block + "/ln1_beta"));
  set("ln_2.weight", v.input(block + "/ln2_gamma"));
  set("ln_2.bias", v.input(block + "/ln2_beta"));
  set_feed_forward(model, v, prefix + "mlp.", block + "/ffn_");
}

std::shared_ptr<LanguageModel> toy_transformer(const Vector& v) {
  const ModelConfig config = resized("transformer", /*n_embd=*/8, /*block_size=*/4, /*n_layer=*/2);
  auto model = make(v, config, /*vocab_size=*/7);
  set_parameter(*model, "transformer.wte.weight", v.input("token_embedding"));
  set_parameter(*model, "transformer.wpe.weight", v.input("position_embedding"));
  set_transformer_block(*model, "transformer.h.0.", v, "block0");
  set_transformer_block(*model, "transformer.h.1.", v, "block1");
  set_parameter(*model, "lm_head.weight", v.input("lm_head_weight"));
  set_parameter(*model, "lm_head.bias", v.input("lm_head_bias"));
  return model;
}

}  // namespace

VECTOR_CASES(L08_layernorm, "each token over its features: biased variance, epsilon inside the root") {
  NormLayer norm(ModelConfig{.n_embd = 4, .bias = true, .norm_eps = v.value("eps").get<double>()});
  norm->to(v.dtype());
  set_parameter(*norm, "weight", v.input("gamma"));
  set_parameter(*norm, "bias", v.input("beta"));
  const auto x = v.input("x");
  v.check("y", norm(x));
  v.check("mean", x.mean(-1));
  v.check("var", x.var(-1, /*unbiased=*/false));
}

VECTOR_CASES(L09_ffn_relu_gelu, "widen, bend, narrow, with ReLU and both forms of GELU") {
  const std::pair<Activation, std::string> forms[] = {
      {Activation::relu, "relu"}, {Activation::gelu, "gelu_erf"}, {Activation::gelu_tanh, "gelu_tanh"}};
  for (const auto& [activation, name] : forms) {
    MLP mlp(ModelConfig{.n_embd = 4, .mlp_size = 3, .bias = true, .activation = activation});
    mlp->to(v.dtype());
    set_feed_forward(*mlp, v);
    v.check(name, run(mlp, v.input("x")));
  }
}

VECTOR_CASES(L10_block_post_vs_pre_ln, "one block in both orders of norm and residual sum, from the same parameters") {
  for (const auto& [place, name] : {std::pair{NormPlace::post, "post_ln"}, std::pair{NormPlace::pre, "pre_ln"}})
    for (const bool feed_forward : {false, true}) {
      Block block(lecture_block_config(place, feed_forward));
      block->to(v.dtype());
      set_attention(*block->attn, v);
      if (feed_forward) set_feed_forward(*block->mlp, v);
      const auto output = each_token_last(v.input("X"), [&](const torch::Tensor& x) { return run(block, x); });
      v.check(name + std::string(feed_forward ? "_out" : "_mid"), output);
    }
}

TEST_CASE("L04_mha_torch_two_heads: the attention layer gives a last token the library's output", "[vector]") {
  for (const auto& v : in_both_precisions("L04_mha_torch_two_heads")) {
    CausalSelfAttention attention(lecture_block_config(NormPlace::pre, false));
    attention->to(v.dtype());
    set_attention(*attention, v);
    v.check("output", each_token_last(v.input("X"), [&](const torch::Tensor& x) { return run(attention, x); }));
  }
}

VECTOR_CASES(B04_softmaxlm_untrained_loss, "the untrained bigram model's logits and loss on the first batch") {
  auto model = make(v, ladder("bigram").model, tinyshakespeare_symbols);
  set_embedding_and_head(*model, v);
  const auto logits = model->forward(v.ids("x"));
  REQUIRE(logits.sizes() == torch::IntArrayRef{4, 8, 65});
  v.check("logits_row0", logits.flatten(0, 1)[0]);
  v.check("logits_row31", logits.flatten(0, 1)[31]);
  check_loss(v, *model, logits);
}

VECTOR_CASE(B06_cross_entropy_single, "a right symbol of probability 0.03 costs 3.507 nats") {
  const double p = v.value("p").get<double>();
  auto model = make(v, resized("bigram", 1, 1), 2);
  set_parameter(*model, "lm_head.weight", torch::zeros({2, 1}));
  set_parameter(*model, "lm_head.bias", torch::tensor({std::log(p), std::log(1 - p)}, torch::kFloat32));
  v.check("loss", loss_of(*model, torch::tensor({{1}}), torch::tensor({{0}})));
}

VECTOR_CASES(B07_column_mean_repeat, "the averaging model gives every position the mean of the window") {
  auto model = make(v, resized("average", 3, 3), 3);
  set_rows_and_no_head(*model, v);
  v.check("out", model->forward(torch::tensor({{0, 1, 2}}))[0]);
}

TEST_CASE("B09_tril_running_average: the causal averaging model gives each position the mean so far", "[vector]") {
  for (const auto& v : in_both_precisions("B09_tril_running_average")) {
    auto config = resized("average", 3, 3);
    config.causal = true;
    auto model = make(v, config, 3);
    set_rows_and_no_head(*model, v);
    AttentionMaps maps;
    v.check("out", model->forward(torch::tensor({{0, 1, 2}}), {.attention = &maps})[0]);
    v.check("w", maps.at(0)[0][0]);
    CHECK_FALSE(leaks(model->config()));
  }
}

VECTOR_CASES(B12_averaging_lm_forward, "the averaging model's logits and loss, and that it is known to leak") {
  auto model = make(v, resized("average", 4, 3), 5);
  set_embedding_and_head(*model, v);
  const auto logits = model->forward(v.ids("x"));
  v.check("logits", logits);
  check_loss(v, *model, logits);
  CHECK(leaks(model->config()));
}

VECTOR_CASES(B13_masked_dot_lm_forward, "the masked dot-product model's weights, logits and loss") {
  auto model = make(v, resized("masked", 4, 3), 5);
  set_embedding_and_head(*model, v);
  set_parameter(*model, "wpe.weight", v.input("position"));
  AttentionMaps maps;
  const auto logits = model->forward(v.ids("x"), {.attention = &maps});
  v.check("weights", maps.at(0).squeeze(1));
  v.check("logits", logits);
  check_loss(v, *model, logits);
}

VECTOR_CASES(B14_small_transformer_forward, "the notebook's transformer: maps, each block's output, logits and loss") {
  auto model = toy_transformer(v);
  AttentionMaps maps;
  model->forward(v.ids("x"), {.attention = &maps});
  v.check("block0_attention", maps.at(0).squeeze(1));
  v.check("block1_attention", maps.at(1).squeeze(1));

  const auto parts = model->named_modules();
  const auto first = std::dynamic_pointer_cast<BlockImpl>(parts["transformer.h.0"]);
  const auto second = std::dynamic_pointer_cast<BlockImpl>(parts["transformer.h.1"]);
  const auto h = v.input("token_embedding").index({v.ids("x")}) + v.input("position_embedding");
  const auto block0 = run(first, h);
  v.check("block0_output", block0);
  v.check("block1_output", run(second, block0));

  const auto logits = model->forward(v.ids("x"));
  v.check("logits", logits);
  check_loss(v, *model, logits);
}

VECTOR_CASE(B15_adamw_three_steps, "three updates with the library's defaults, decay on everything") {
  TrainConfig train = ladder("bigram").train;
  train.learning_rate = v.value("lr").get<double>();
  train.weight_decay = v.value("weight_decay").get<double>();
  ParameterArena arena({{.name = "w", .shape = {2, 2}}}, Decay::all, train);
  const ParameterGroup& group = arena.groups()[0];
  slot_of(group.values, group.slots[0]).copy_(v.input("w0"));
  std::vector<torch::Tensor> after;
  for (const auto& gradient : v.input("grads").unbind()) {
    slot_of(group.gradients, group.slots[0]).copy_(gradient);
    update(arena, {.beta1 = v.value("beta1").get<double>(),
                   .beta2 = v.value("beta2").get<double>(),
                   .eps = v.value("eps").get<double>()});
    after.push_back(slot_of(group.values, group.slots[0]).clone());
  }
  v.check("w_after_each_step", torch::stack(after));
}

VECTOR_CASE(B16_parameter_counts, "parameters of the four models; the masked one without the layer never used") {
  const auto count = [&](const ModelConfig& config) {
    CHECK(count_parameters(config, 65) == make_model(config, 65, 1)->parameter_count());
    return count_parameters(config, 65);
  };
  const std::int64_t unused_layer = 64 * 8 + 8;
  CHECK(count(ladder("bigram").model) == v.expected("softmax_bigram").get<std::int64_t>());
  CHECK(count(ladder("average").model) == v.expected("averaging").get<std::int64_t>());
  CHECK(count(ladder("masked").model) == v.expected("masked_dot_used_in_forward").get<std::int64_t>());
  CHECK(count(ladder("masked").model) + unused_layer == v.expected("masked_dot_with_positions").get<std::int64_t>());
  CHECK(count(ladder("transformer").model) == v.expected("transformer").get<std::int64_t>());
  CHECK(count(ladder("transformer").model) - count(resized("transformer", 64, 8, 2)) ==
        v.expected("transformer_per_block").get<std::int64_t>());
}

VECTOR_CASES(B18_numpy_embedding_projection, "one embedding row times the projection is the logits of 28 symbols") {
  const auto letter = static_cast<std::int64_t>(v.value("alphabet").get<std::string>().find('p'));
  CHECK(letter == 15);
  auto table = torch::zeros({28, 512}, v.dtype());
  table[letter] = v.input("embedding_of_last_char");
  auto model = make(v, resized("bigram", 512, 1), 28);
  set_parameter(*model, "wte.weight", table);
  set_parameter(*model, "lm_head.weight", v.input("out_proj").t());  // (in, out) -> (out, in)
  set_parameter(*model, "lm_head.bias", torch::zeros(28));
  v.check("logits", model->forward(torch::tensor({{letter}}))[0][0]);
}

TEST_CASE("a later symbol changes earlier logits in the averaging model that looks ahead alone", "[vector]") {
  const auto x = torch::tensor({{1, 2, 3, 4, 5, 6, 7, 8}}), y = torch::tensor({{1, 2, 3, 4, 5, 6, 7, 9}});
  for (const auto& config :
       {ladder("bigram").model, ladder("average").model, ladder("masked").model, ladder("transformer").model}) {
    INFO(config.type);
    auto model = make_model(config, 65, 1);
    const auto moved = largest_difference(model->forward(x).narrow(1, 0, 7), model->forward(y).narrow(1, 0, 7));
    CHECK((moved > 1e-3) == (config.type == "average"));
    CHECK((moved == 0) == (config.type != "average"));
  }
}

}  // namespace chargpt::seed
