#include "exchange/architecture.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/load.h"
#include "inference/model_types.h"
#include "report/format.h"

namespace chargpt {
namespace {

std::optional<Obstacle> obstacle_to_gpt2(const ModelConfig& config) {
  if (config.norm != Norm::layernorm)
    return Obstacle{"norm", "learned positions are GPT-2's, which has layernorm; rope would go with rmsnorm"};
  if (config.qk_norm) return Obstacle{"qk_norm", "GPT-2, which learned positions belong to, has none"};
  if (config.activation == Activation::swiglu)
    return Obstacle{"activation", "GPT-2, which learned positions belong to, has no gates"};
  if (config.n_head * head_width(config) != config.n_embd)
    return Obstacle{"head_size", "in GPT-2 the heads together are n_embd wide"};
  return std::nullopt;
}

std::optional<Obstacle> obstacle_to_llama(const ModelConfig& config) {
  if (config.norm != Norm::rmsnorm)
    return Obstacle{"norm", "rotary positions are Llama's and Qwen3's, which have rmsnorm"};
  if (config.activation != Activation::swiglu && config.activation != Activation::relu2)
    return Obstacle{"activation",
                    "rotary positions are Llama's and Qwen3's, whose gated layers compute swiglu and relu2"};
  if (config.attention_scale != AttentionScale::head)
    return Obstacle{"attention_scale", "scores there are scaled by the head size"};
  if (config.qk_norm && has_bias(config, Place::mlp))
    return Obstacle{"bias_places", "with qk_norm it is Qwen3's, whose feed-forward layer has no biases"};
  return std::nullopt;
}

/// "nanogpt-cpu (1.900), nanogpt-gpu": with the losses that were measured.
std::string presets_without(const FindObstacle& find) {
  const auto measured = nlohmann::json::parse(expected_figures())["rows"];
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (find(load_config(preset.name).config.model)) continue;
    const auto row = measured.find(preset.name);
    const bool known = row != measured.end() && row->contains("loss");
    names.push_back(preset.name + (known ? " (" + format_fixed((*row)["loss"], 3) + ")" : ""));
  }
  if (const Override gates{"model.activation", "swiglu", "--activation"};
      !find(load_config("standard", {&gates, 1}).config.model))
    names.emplace_back("standard --activation swiglu");
  return names.empty() ? "none" : joined(names, ", ");
}

constexpr LayerNames llama_layers[] = {{"wte", {"model.embed_tokens"}},
                                       {"ln_1", {"input_layernorm"}},
                                       {"attn.c_attn", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
                                       {"attn.c_proj", {"self_attn.o_proj"}},
                                       {"ln_2", {"post_attention_layernorm"}},
                                       {"mlp.c_fc", {"mlp.up_proj"}},
                                       {"mlp.c_gate", {"mlp.gate_proj"}},
                                       {"mlp.c_proj", {"mlp.down_proj"}},
                                       {"ln_f", {"model.norm"}},
                                       {"lm_head", {"lm_head"}}};

/// Theirs is down(f(gate) up). swiglu: f is silu. relu2: with one matrix as both, relu(u) u is relu(u)^2.
void add_equal_gates(std::vector<LayoutRow>& rows) {
  const std::vector<LayoutRow> known = rows;
  for (LayoutRow row : known)
    if (const std::size_t at = row.theirs.find("up_proj"); at != std::string::npos) {
      row.theirs.replace(at, 2, "gate");
      rows.push_back(std::move(row));
    }
}

}  // namespace

std::optional<Obstacle> obstacle_to_gpt(const ModelConfig& config) {
  if (config.type == "gpt") return std::nullopt;
  return Obstacle{"type", "only type gpt has a counterpart elsewhere"};
}

Architecture nearest_architecture(const ModelConfig& config) {
  if (config.position != Position::rope) return Architecture::gpt2;
  return config.qk_norm ? Architecture::qwen3 : Architecture::llama;
}

std::optional<Obstacle> obstacle_to_architecture(const ModelConfig& config) {
  if (const auto obstacle = obstacle_to_gpt(config)) return obstacle;
  if (!config.conv_places.empty()) return Obstacle{"conv_places", "no architecture there has these convolutions"};
  if (config.norm == Norm::none) return Obstacle{"norm", "every architecture there normalises"};
  if (config.norm_place == NormPlace::post) return Obstacle{"norm_place", "those architectures normalise before"};
  if (!config.final_norm) return Obstacle{"final_norm", "those architectures normalise before the head"};
  if (!config.feed_forward) return Obstacle{"feed_forward", "every block there has a feed-forward layer"};
  if (!config.output_projection) return Obstacle{"output_projection", "attention there ends with a linear layer"};
  if (has_bias(config, Place::head)) return Obstacle{"bias_places", "the head has no bias there"};
  if (config.attention_scale == AttentionScale::width)
    return Obstacle{"attention_scale", "scores there are scaled by the head size"};
  if (config.position == Position::rope) return obstacle_to_llama(config);
  if (config.position == Position::learned) return obstacle_to_gpt2(config);
  return Obstacle{"position", "GPT-2's positions are learned, Llama's and Qwen3's rotary (rope)"};
}

Architecture architecture_of(const ModelConfig& config) {
  return obstacle_to_architecture(config) ? Architecture::chargpt : nearest_architecture(config);
}

void refuse_obstacle(const ModelConfig& config, const FindObstacle& find, const std::string& into) {
  const auto obstacle = find(config);
  if (!obstacle) return;
  Config whole;
  whole.model = config;
  throw Error(ExitCode::usage, into, " cannot hold this model: model.", obstacle->option, " = ",
              to_json(whole)["model"][obstacle->option].dump(), ", and ", obstacle->reason,
              "; presets whose models it holds, with their loss on tinyshakespeare: ", presets_without(find));
}

ModelConfig in_transformers(const ModelConfig& options, Architecture architecture) {
  if (architecture == Architecture::chargpt) return options;
  ModelConfig theirs = options;
  theirs.bias = theirs.norm_gain = true;
  if (architecture == Architecture::gpt2) {
    theirs.bias_places = ModelConfig().bias_places;
    return theirs;
  }
  theirs.bias_places = {};
  if (has_bias(options, Place::attention) || has_bias(options, Place::attention_output))
    theirs.bias_places = {Place::attention, Place::attention_output};
  if (has_bias(options, Place::mlp)) theirs.bias_places.push_back(Place::mlp);
  return theirs;
}

std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture,
                                            std::int64_t symbols) {
  if (architecture == Architecture::chargpt) return rows_of({}, theirs, symbols);
  if (architecture == Architecture::gpt2) return rows_of({.turned = true}, theirs, symbols);
  Layout layout{.block = "model.layers.", .layers = llama_layers};
  if (architecture == Architecture::qwen3) layout.head_gains = {"self_attn.q_norm", "self_attn.k_norm"};
  std::vector<LayoutRow> rows = rows_of(layout, theirs, symbols);
  if (theirs.activation == Activation::relu2) add_equal_gates(rows);
  return rows;
}

}  // namespace chargpt
