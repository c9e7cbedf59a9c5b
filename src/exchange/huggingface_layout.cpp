#include "exchange/huggingface_layout.h"

#include "inference/dimensions.h"

namespace chargpt {
namespace {

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
