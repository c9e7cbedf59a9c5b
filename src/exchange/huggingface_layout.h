// Which tensors transformers has of a model; see formats.h. With code of ours (transformers/modeling_chargpt.py)
// they are those of a checkpoint. What transformers computes by itself is in its files
// models/{gpt2,llama,qwen3}/modeling_*.py: its Conv1D has weights (in, out), its rotary pairs are halves as ours are,
// and Qwen3 normalises queries and keys before it turns them, as we do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "exchange/architecture.h"
#include "exchange/layout.h"

namespace chargpt {

/// How GPT-2's config.json spells an activation; the first name is written, all are read.
struct Gpt2Activation {
  Activation ours;
  std::string_view theirs;
};
inline constexpr Gpt2Activation gpt2_activations[] = {{Activation::gelu, "gelu"},
                                                      {Activation::gelu_tanh, "gelu_new"},
                                                      {Activation::gelu_tanh, "gelu_pytorch_tanh"},
                                                      {Activation::relu, "relu"},
                                                      {Activation::relu2, "relu2"}};

/// Our model with all the gains and biases that theirs has.
ModelConfig in_transformers(const ModelConfig& options, Architecture architecture);

/// Their tensors of such a model.
std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture, std::int64_t symbols);

}  // namespace chargpt
