// The models that every property is tested on: each type, and gpt with each option in turn. Sizes are the smallest that
// leave no two dimensions alike. No torch.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "network/model_types.h"

namespace chargpt {

struct Variant {
  std::string name;
  ModelConfig config;
};

constexpr std::int64_t test_vocab = 13;

inline ModelConfig small_config(const std::string& type = "gpt") {
  return {.type = type, .n_layer = 2, .n_head = 2, .n_embd = 24, .block_size = 8};
}

template <class Change>
Variant variant(const std::string& name, const std::string& type, Change&& change) {
  Variant made{type + ", " + name, small_config(type)};
  change(made.config);
  return made;
}

inline std::vector<Variant> types() {
  std::vector<Variant> all;
  for (const std::string_view type : model_types()) all.push_back({std::string(type), small_config(std::string(type))});
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
      variant("biases of a tied head and attention's output", "gpt",
              [](auto& c) {
                c.bias = true, c.bias_places = {Place::head, Place::attention_output};
              }),
      variant("QK-norm", "gpt", [](auto& c) { c.qk_norm = true; }),
      variant("scale of the width", "gpt", [](auto& c) { c.attention_scale = AttentionScale::width; }),
      variant("no scale", "gpt", [](auto& c) { c.attention_scale = AttentionScale::none; }),
      variant("no output projection", "gpt", [](auto& c) { c.output_projection = false; }),
      variant("narrow heads", "gpt", [](auto& c) { c.head_size = 5; }),
      variant("convolutions", "gpt",
              [](auto& c) {
                c.conv_places = {Place::attention, Place::mlp}, c.position = Position::rope;
              }),
      variant("convolutions longer than the window, post-norm", "gpt",
              [](auto& c) {
                c.conv_places = {Place::attention, Place::mlp}, c.conv_width = 11, c.norm_place = NormPlace::post;
              }),
      variant("a convolution before attention alone", "gpt",
              [](auto& c) { c.conv_places = {Place::attention}, c.conv_width = 3, c.feed_forward = false; }),
      variant("a convolution before the feed-forward layer alone, no norm", "gpt",
              [](auto& c) {
                c.conv_places = {Place::mlp}, c.conv_width = 2, c.norm = Norm::none, c.activation = Activation::swiglu;
              }),
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
        all.push_back({"gpt product " + std::to_string(turn) + ": " + std::string(enum_name(position)) + ", " +
                           std::string(enum_name(norm)) + ", " + std::string(enum_name(activation)),
                       config});
        ++turn;
      }
  return all;
}

/// For properties.
inline std::vector<Variant> each_option() {
  std::vector<Variant> all = types();
  std::ranges::move(single_changes(), std::back_inserter(all));
  return all;
}

/// For what two implementations must agree on.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> all = each_option();
  std::ranges::move(gpt_products(), std::back_inserter(all));
  return all;
}

}  // namespace chargpt
