// The models that every property is tested on: each type of the registry, and gpt with each option in turn. Sizes are
// the smallest that leave no two dimensions alike.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "model/language_model.h"
#include "model/registry.h"

namespace chargpt {

/// Tensors this small are slower with two threads, and slower by far when the machine is busy.
class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = at::get_num_threads();
};

struct Variant {
  std::string name;
  ModelConfig config;
};

constexpr std::int64_t test_vocab = 13;

inline ModelConfig small_config(const std::string& type = "gpt") {
  ModelConfig config;
  config.type = type;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 24;
  config.block_size = 8;
  return config;
}

template <class Change>
Variant variant(const std::string& name, const std::string& type, Change&& change) {
  Variant made{type + ", " + name, small_config(type)};
  change(made.config);
  return made;
}

inline std::vector<Variant> types() {
  std::vector<Variant> all;
  for (const auto& type : model_types()) all.push_back({std::string(type.name), small_config(std::string(type.name))});
  return all;
}

/// Each option of gpt away from its default, one at a time, and the options of the other types.
inline std::vector<Variant> single_changes() {
  return {
      variant("looking ahead", "average", [](auto& c) { c.causal = false; }),
      variant("one head, no projection", "attention", [](auto& c) { c.n_head = 1, c.output_projection = false; }),
      variant("rope", "attention", [](auto& c) { c.position = Position::rope; }),
      variant("sinusoidal", "gpt", [](auto& c) { c.position = Position::sinusoidal; }),
      variant("rope", "gpt", [](auto& c) { c.position = Position::rope; }),
      variant("no positions", "gpt", [](auto& c) { c.position = Position::none; }),
      variant("rmsnorm", "gpt", [](auto& c) { c.norm = Norm::rmsnorm; }),
      variant("rmsnorm without gain", "gpt", [](auto& c) { c.norm = Norm::rmsnorm, c.norm_gain = false; }),
      variant("no norm", "gpt", [](auto& c) { c.norm = Norm::none; }),
      variant("no gain", "gpt", [](auto& c) { c.norm_gain = false; }),
      variant("post-norm", "gpt", [](auto& c) { c.norm_place = NormPlace::post; }),
      variant("no final norm", "gpt", [](auto& c) { c.final_norm = false; }),
      variant("gelu_tanh", "gpt", [](auto& c) { c.activation = Activation::gelu_tanh; }),
      variant("relu", "gpt", [](auto& c) { c.activation = Activation::relu; }),
      variant("relu2", "gpt", [](auto& c) { c.activation = Activation::relu2; }),
      variant("swiglu", "gpt", [](auto& c) { c.activation = Activation::swiglu; }),
      variant("no feed-forward layer", "gpt", [](auto& c) { c.feed_forward = false; }),
      variant("narrow feed-forward layer", "gpt", [](auto& c) { c.mlp_size = 7; }),
      variant("biases", "gpt", [](auto& c) { c.bias = true; }),
      variant("own head", "gpt", [](auto& c) { c.tie_weights = false; }),
      variant("tied head with a bias", "gpt", [](auto& c) { c.bias = true, c.bias_places = {Place::head}; }),
      variant("QK-norm", "gpt", [](auto& c) { c.qk_norm = true; }),
      variant("scale of the width", "gpt", [](auto& c) { c.attention_scale = AttentionScale::width; }),
      variant("no scale", "gpt", [](auto& c) { c.attention_scale = AttentionScale::none; }),
      variant("no output projection", "gpt", [](auto& c) { c.output_projection = false; }),
      variant("narrow heads", "gpt", [](auto& c) { c.head_size = 5; }),
      variant("n-gram tables, one numbered", "gpt",
              [](auto& c) {
                c.ngram_orders = {2, 3, 5}, c.ngram_rows = {182, 90, 70};
              }),
      variant("narrow n-gram tables", "gpt",
              [](auto& c) { c.ngram_orders = {3}, c.ngram_rows = {90}, c.ngram_size = 5; }),
      variant("manual attention", "gpt", [](auto& c) { c.attention = AttentionKind::manual; }),
  };
}

/// All positions x norms x activations of gpt, with the on-or-off options taking turns.
inline std::vector<Variant> gpt_products() {
  std::vector<Variant> all;
  int turn = 0;
  for (const auto position : {Position::learned, Position::sinusoidal, Position::rope, Position::none})
    for (const auto norm : {Norm::layernorm, Norm::rmsnorm, Norm::none})
      for (const auto activation :
           {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::relu2, Activation::swiglu}) {
        ModelConfig config = small_config();
        config.position = position;
        config.norm = norm;
        config.activation = activation;
        config.norm_place = turn % 2 == 0 ? NormPlace::pre : NormPlace::post;
        config.tie_weights = turn % 3 != 0;
        config.bias = turn % 4 < 2;
        config.qk_norm = turn % 5 < 2;
        config.attention = turn % 7 < 3 ? AttentionKind::manual : AttentionKind::builtin;
        all.push_back({"gpt product " + std::to_string(turn) + ": " + std::string(enum_name(position)) + ", " +
                           std::string(enum_name(norm)) + ", " + std::string(enum_name(activation)),
                       config});
        ++turn;
      }
  return all;
}

inline std::vector<Variant> all_variants() {
  std::vector<Variant> all = types();
  for (auto&& list : {single_changes(), gpt_products()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Moves every parameter, gains and biases too, away from what leaves a gradient zero or a layer idle.
inline void disturb(LanguageModel& model) {
  const torch::NoGradGuard no_grad;
  double phase = 0;
  for (torch::Tensor& parameter : model.parameters()) {
    parameter.add_(
        0.1 *
        torch::sin(torch::arange(1, parameter.numel() + 1, torch::kFloat32) * 1.7 + phase).view(parameter.sizes()));
    phase += 0.5;
  }
}

/// A model whose n-gram tables, zero at first, say something: without it they would hide what they do.
inline std::shared_ptr<LanguageModel> make_spoken_model(const ModelConfig& config, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto model = make_model(config, test_vocab, seed);
  for (auto& parameter : model->named_parameters())
    if (parameter.key().find(".ngram.") != std::string::npos)
      parameter->copy_(at::arange(parameter->numel()).reshape(parameter->sizes()).mul(0.7).sin().mul(0.1));
  return model;
}

/// (B, T) ids that follow no rule but never repeat the first column: a prefix tells its row.
inline torch::Tensor some_ids(std::int64_t B, std::int64_t T, std::int64_t shift = 0) {
  const auto position = at::arange(B * T).reshape({B, T}) + shift;
  auto ids = (position * position * 7 + position * 3 + position.div(5, "floor") * 5) % test_vocab;
  ids.select(1, 0).copy_((at::arange(B) + shift) % test_vocab);
  return ids;
}

/// logits (B, T, V), targets (B, T) -> mean nats.
inline torch::Tensor mean_loss(const torch::Tensor& logits, const torch::Tensor& targets) {
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace chargpt
