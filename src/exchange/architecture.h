// Under which architecture other programs can open a model, or what prevents that, and its tensors in transformers.
// Knows no format and no weights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "config/config.h"
#include "exchange/layout.h"

namespace chargpt {

/// gpt2: learned positions and layer norm. llama: rotary positions, RMS norm and a gated feed-forward layer. qwen3: the
/// same with normalised queries and keys. chargpt: what none of them computes, by code of ours.
CHARGPT_ENUM(Architecture, gpt2, llama, qwen3, chargpt);

/// An option that an architecture cannot express, and why: "position", "GPT-2's positions are learned, …".
struct Obstacle {
  std::string option, reason;
};

/// The one of the other programs' that can hold it, if any can.
Architecture nearest_architecture(const ModelConfig& config);
/// Where the type is not gpt: what no code of ours elsewhere computes.
std::optional<Obstacle> obstacle_to_gpt(const ModelConfig& config);
/// The first option in the way of the nearest; none where the model is just what the architecture computes.
std::optional<Obstacle> obstacle_to_architecture(const ModelConfig& config);

/// The nearest where it computes the model, else chargpt.
Architecture architecture_of(const ModelConfig& config);

/// What a format says of a model that it cannot hold; none for one that it can.
using FindObstacle = std::function<std::optional<Obstacle>(const ModelConfig& config)>;

/// Error usage, in one line with the option, its value, the reason and the presets whose models would do (with the loss
/// that they reach, where it was measured), where there is an obstacle. `into`: "--format gguf".
void refuse_obstacle(const ModelConfig& config, const FindObstacle& find, const std::string& into);

// Which tensors transformers has of a model. With code of ours (transformers/modeling_chargpt.py) they are those of a
// checkpoint. What it computes by itself is in its files models/{gpt2,llama,qwen3}/modeling_*.py: its Conv1D has
// weights (in, out), its rotary pairs are halves as ours are, and Qwen3 normalises queries and keys before it turns
// them, as we do.

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
