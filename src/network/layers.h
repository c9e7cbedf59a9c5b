// The layers of a model as a tree, made only from its options: each parameter has a name, a shape, a role and an offset
// in one flat buffer. Parameter list, initial weights, passes, checkpoints, imports and estimates visit it. Independent
// of the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// Number of elements of a tensor.
std::int64_t numel_of(const std::vector<std::int64_t>& shape);

enum class ParameterRole {
  embedding,  ///< one row per symbol or position: a lookup table
  matrix,     ///< linear layer: (out, in)
  kernel,     ///< convolution: (taps, C)
  gain,       ///< norm: (C)
  bias        ///< linear layer or norm: (out)
};

struct Parameter {
  std::string name;                 ///< state_dict name, "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  ///< empty: the model does not have this parameter
  ParameterRole role = ParameterRole::matrix;
  Place place = Place::embedding;  ///< the Place in options such as bias_places
  std::int64_t fan_in = 0;         ///< number of inputs of its linear layer
  bool counts_symbols = false;     ///< the first dimension has one entry per symbol
  std::int64_t stacked = 1;        ///< number of equal matrices stacked in it: queries, keys and values
  std::int64_t offset = 0;         ///< of the first value, in floats

  bool exists() const { return !shape.empty(); }
  std::int64_t numel() const { return exists() ? numel_of(shape) : 0; }
  std::int64_t rows() const { return shape[0] / stacked; }  ///< rows of each stacked matrix
  /// Pointer to its first value in such a buffer; null if the model does not have this parameter.
  template <class Float>
  Float* at(Float* buffer) const {
    return exists() ? buffer + offset : nullptr;
  }
  template <class Float>
  std::span<Float> in(Float* buffer) const {
    return {at(buffer), static_cast<std::size_t>(numel())};
  }
};

/// y (out) = W x (in) + b. `packed_forward` and `packed_backward`: offsets of W^T and W in the packed weights
/// (plan.h).
struct LinearParameters {
  Parameter weight, bias;
  long in = 0, out = 0;  ///< 0: the model does not have this layer
  std::int64_t packed_forward = 0, packed_backward = 0;
};

struct NormParameters {
  Parameter gain, bias;
};

/// `conv_1`, `conv_2`: the convolutions before attention and before the feed-forward layer.
struct BlockParameters {
  NormParameters ln_1;
  Parameter conv_1;
  LinearParameters c_attn, c_proj;
  NormParameters ln_2;
  Parameter conv_2;
  LinearParameters c_fc, c_gate, mlp_proj;
};

struct Layers {
  Parameter wte, wpe;
  std::vector<BlockParameters> blocks;
  NormParameters ln_f;
  LinearParameters head;
  bool tied = false;        ///< the head uses wte as its weight
  std::int64_t floats = 0;  ///< size of a flat buffer
};

/// Makes the layers of a model of `vocab_size` symbols; check_model_config() must accept the options. Parameters are in
/// the order in which the modules register them, each aligned to a cache line.
Layers layers_of(const ModelConfig& config, std::int64_t vocab_size);

/// Calls body(layer) for every linear layer in the order of the forward pass; the head is last.
template <class Tree, class Body>
void for_each_linear(Tree& layers, const Body& body) {
  for (auto& block : layers.blocks)
    for (auto* layer : {&block.c_attn, &block.c_proj, &block.c_fc, &block.c_gate, &block.mlp_proj})
      if (layer->out > 0) body(*layer);
  body(layers.head);
}

/// Calls body(parameter) once for every parameter, in the order in which the modules register them.
template <class Tree, class Body>
void for_each_parameter(Tree& layers, const Body& body) {
  const auto visit = [&body](auto&... all) { ((all.exists() ? body(all) : void()), ...); };
  visit(layers.wte, layers.wpe);
  for (auto& b : layers.blocks) {
    visit(b.ln_1.gain, b.ln_1.bias, b.conv_1, b.c_attn.weight, b.c_attn.bias, b.c_proj.weight, b.c_proj.bias);
    visit(b.ln_2.gain, b.ln_2.bias, b.conv_2, b.c_fc.weight, b.c_fc.bias, b.c_gate.weight, b.c_gate.bias);
    visit(b.mlp_proj.weight, b.mlp_proj.bias);
  }
  visit(layers.ln_f.gain, layers.ln_f.bias);
  if (!layers.tied) visit(layers.head.weight);
  visit(layers.head.bias);
}

/// Copies of all parameters, in the order of for_each_parameter().
std::vector<Parameter> parameter_list(const Layers& layers);
inline std::vector<Parameter> parameter_list(const ModelConfig& config, std::int64_t vocab_size) {
  return parameter_list(layers_of(config, vocab_size));
}

}  // namespace chargpt
