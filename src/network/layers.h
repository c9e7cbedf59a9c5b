// The layers of a model as a tree, from its options alone: each parameter has a name, a shape, a role and an offset in
// one flat buffer. Parameter list, initial weights, passes, checkpoints, imports and estimates visit this tree.
// Independent of the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// Values of a tensor.
std::int64_t numel_of(const std::vector<std::int64_t>& shape);

enum class ParameterRole {
  embedding,  ///< a row for each symbol or position: looked up
  matrix,     ///< of a linear layer: (out, in)
  kernel,     ///< of a convolution: (taps, C)
  gain,       ///< of a norm: (C)
  bias        ///< of a linear layer or a norm: (out)
};

struct Parameter {
  std::string name;                 ///< state_dict name, "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  ///< empty: the model has no such parameter
  ParameterRole role = ParameterRole::matrix;
  Place place = Place::embedding;  ///< that options speak of: bias_places for a bias
  std::int64_t fan_in = 0;         ///< inputs of its linear layer
  bool counts_symbols = false;     ///< the first dimension is one entry for each symbol
  std::int64_t stacked = 1;        ///< equal matrices one above the other: queries, keys and values
  std::int64_t offset = 0;         ///< of its first value in a flat buffer

  bool exists() const { return !shape.empty(); }
  std::int64_t numel() const { return exists() ? numel_of(shape) : 0; }
  std::int64_t rows() const { return shape[0] / stacked; }  ///< of each matrix
  /// Its first value in such a buffer; null if the model has no such parameter.
  template <class Float>
  Float* at(Float* buffer) const {
    return exists() ? buffer + offset : nullptr;
  }
  template <class Float>
  std::span<Float> in(Float* buffer) const {
    return {at(buffer), static_cast<std::size_t>(numel())};
  }
};

/// y (out) = W x (in) + b. `packed_forward` and `packed_backward` are where W^T and W lie in the packed weights
/// (plan.h).
struct LinearParameters {
  Parameter weight, bias;
  long in = 0, out = 0;  ///< 0: the model has no such layer
  std::int64_t packed_forward = 0, packed_backward = 0;
};

struct NormParameters {
  Parameter gain, bias;
};

/// `conv_1`, `conv_2`: the convolutions of what attention and the feed-forward layer read.
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
  bool tied = false;        ///< the head's weight is wte
  std::int64_t floats = 0;  ///< of a flat buffer
};

/// The layers of a model of `vocab_size` symbols, whose options check_model_config() accepts. Parameters lie in the
/// order in which the modules register them, each from a cache line on.
Layers layers_of(const ModelConfig& config, std::int64_t vocab_size);

/// body(layer) for every linear layer in the order of the forward pass, which ends with the head.
template <class Tree, class Body>
void for_each_linear(Tree& layers, const Body& body) {
  for (auto& block : layers.blocks)
    for (auto* layer : {&block.c_attn, &block.c_proj, &block.c_fc, &block.c_gate, &block.mlp_proj})
      if (layer->out > 0) body(*layer);
  body(layers.head);
}

/// body(parameter) for every parameter, each once, in the order in which the modules register them.
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

/// Copies of all parameters, as for_each_parameter() visits them.
std::vector<Parameter> parameter_list(const Layers& layers);
inline std::vector<Parameter> parameter_list(const ModelConfig& config, std::int64_t vocab_size) {
  return parameter_list(layers_of(config, vocab_size));
}

}  // namespace chargpt
