// Which architecture that other programs know a model is, and what stands in the way where it is none. Knows no format
// and no weights.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/names.h"
#include "config/config.h"

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

}  // namespace chargpt
