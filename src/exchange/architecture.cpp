#include "exchange/architecture.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "report/format.h"

namespace chargpt {
namespace {

// Source: transformers, models/{gpt2,llama,qwen3}/modeling_*.py. Its Conv1D has weights (in, out). As here, rotary
// pairs are halves of a head, and Qwen3 normalises queries and keys before rotating them.

const Places everywhere = ModelConfig().bias_places;
const std::vector<std::pair<Json, Json>> only_false = {{nullptr, false}};

ForeignModel gpt2() {
  return {.what = "GPT-2 of transformers",
          .class_name = "GPT2LMHeadModel",
          .prefix = "transformer.",
          .fields = {{"type", "", "gpt"},
                     {"n_layer", "n_layer", 12},
                     {"n_head", "n_head", 12},
                     {"n_embd", "n_embd", 768},
                     {"block_size", "n_positions", 1024},
                     {"mlp_size", "n_inner"},
                     {"dropout", "embd_pdrop", 0.1, {}, {Place::embedding}},
                     {"dropout", "attn_pdrop", 0.1, {}, {Place::attention}},
                     {"dropout", "resid_pdrop", 0.1, {}, {Place::attention_output, Place::mlp}},
                     {"bias", "", true, {}, everywhere},
                     {"norm", "", "layernorm"},
                     {"norm_eps", "layer_norm_epsilon", 1e-5},
                     {"position", "", "learned"},
                     {"activation",
                      "activation_function",
                      "gelu_new",
                      {{"gelu", "gelu"},
                       {"gelu_tanh", "gelu_new"},
                       {"gelu_tanh", "gelu_pytorch_tanh"},
                       {"relu", "relu"},
                       {"relu2", "relu2"}}},
                     {"attention_scale", "scale_attn_weights", true, {{"head", true}, {"none", false}}},
                     {"tie_weights", "tie_word_embeddings", true},
                     {"", "scale_attn_by_inverse_layer_idx", false, only_false},
                     {"", "add_cross_attention", false, only_false}},
          .tensors = {.block = "transformer.h.", .buffers = {"attn.bias", "attn.masked_bias"}, .turned = true}};
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

/// The feed-forward layer computes down(f(gate) up). relu2 is f = relu with gate = up, because relu(u) u = relu(u)^2.
/// RMS norm has no bias, so that option has no effect.
ForeignModel llama() {
  return {.what = "Llama of transformers",
          .class_name = "LlamaForCausalLM",
          .prefix = "model.",
          .fields = {{"type", "", "gpt"},
                     {"n_layer", "num_hidden_layers", 32},
                     {"n_head", "num_attention_heads", 32},
                     {"n_embd", "hidden_size", 4096},
                     {"block_size", "max_position_embeddings", 2048},
                     {"head_size", "head_dim"},
                     {"mlp_size", "intermediate_size", 11008},
                     {"dropout", "attention_dropout", 0, {}, {Place::attention}},
                     {"bias", "attention_bias", false, {}, {Place::attention, Place::attention_output}},
                     {"bias", "mlp_bias", false, {}, {Place::mlp}},
                     {"bias", "", true, {}, {Place::norm}},
                     {"norm", "", "rmsnorm"},
                     {"norm_eps", "rms_norm_eps", 1e-6},
                     {"position", "", "rope"},
                     {"rope_base", "rope_theta", 10000},
                     {"activation", "hidden_act", "silu", {{"swiglu", "silu"}, {"swiglu", "swish"}, {"relu2", "relu"}}},
                     {"tie_weights", "tie_word_embeddings", false}},
          .tensors = {.block = "model.layers.", .layers = llama_layers, .buffers = {"self_attn.rotary_emb.inv_freq"}}};
}

/// Llama with normalised queries and keys, and without biases in the feed-forward layer.
ForeignModel qwen3() {
  ForeignModel model = llama();
  model.what = "Qwen3 of transformers";
  model.class_name = "Qwen3ForCausalLM";
  model.tensors.head_gains = {"self_attn.q_norm", "self_attn.k_norm"};
  std::erase_if(model.fields, [](const Field& field) { return field.theirs == "mlp_bias"; });
  for (Field& field : model.fields) {
    if (field.ours == "head_size") field.otherwise = 128;
    if (field.ours == "mlp_size") field.otherwise = 22016;
    if (field.ours == "block_size") field.otherwise = 32768;
  }
  model.fields.push_back({"qk_norm", "", true});
  model.fields.push_back({"", "use_sliding_window", false, only_false});
  return model;
}

const std::set<std::string> initial_weights = {"init", "init_std", "residual_init", "decay"};

/// All model options under their own names, except those used only in training.
ForeignModel own() {
  ForeignModel model = {
      .what = "a model of chargpt", .class_name = "ChargptForCausalLM", .prefix = "", .fields = {}, .tensors = {}};
  for (const OptionInfo& option : option_table())
    if (option.section == "model" && option.name != "causal" && !initial_weights.contains(option.name))
      model.fields.push_back({option.name, option.name});
  *std::ranges::find(model.fields, "type", &Field::ours) = {"type", "", "gpt"};
  *std::ranges::find(model.fields, "tie_weights", &Field::ours) = {"tie_weights", "tie_word_embeddings", true};
  return model;
}

/// Fills in derived sizes and sorts places, so that equal models have equal options.
Config settled(const ModelConfig& model) {
  Config config;
  config.model = model;
  config.model.head_size = head_width(model);
  config.model.mlp_size = mlp_width(model);
  std::ranges::sort(config.model.bias_places);
  std::ranges::sort(config.model.dropout_places);
  return config;
}

/// The value at the field's places: the rate or `true` if the option acts at one of them, else 0 or `false`.
Json at_places(const Json& ours, const Field& field) {
  const Json& value = ours[field.ours];
  for (const Place place : field.places)
    if (const Json& all = ours[field.ours + "_places"]; std::ranges::find(all, Json(enum_name(place))) != all.end())
      return value;
  return value.is_boolean() ? Json(false) : Json(0.0);
}

/// Base of the rotary angles; its field depends on the version of transformers.
Json rope_base(const StrictObject& config, const Json& otherwise) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const Json rope = value_in(config, name, Json::object());
    if (!rope.is_object()) config.refuse(name, "an object");
    for (const char* type : {"rope_type", "type"})
      if (rope.value(type, Json("default")) != "default")
        config.refuse(name, "of the default type: chargpt has no RoPE scaling");
    if (rope.value("partial_rotary_factor", Json(1)) != 1) config.refuse(name, "without partial rotation");
    if (rope.contains("rope_theta")) return rope["rope_theta"];
  }
  return value_in(config, "rope_theta", otherwise);
}

/// Converts the field's value to ours.
Json value_as_ours(const StrictObject& config, const Field& field) {
  if (field.theirs.empty()) return field.otherwise;
  if (field.theirs == "rope_theta") return rope_base(config, field.otherwise);
  Json value = value_in(config, field.theirs, field.otherwise);
  if (field.values.empty()) return value;
  std::vector<std::string> known;
  for (const auto& [ours, theirs] : field.values) {
    if (theirs == value) return ours;
    known.push_back(theirs.dump());
  }
  config.refuse(field.theirs, "one of " + joined(known, ", "));
}

/// Adds rows that use the up matrix also as gate.
void add_equal_gates(std::vector<LayoutRow>& rows) {
  const std::vector<LayoutRow> known = rows;
  for (LayoutRow row : known)
    if (const std::size_t at = row.theirs.find("up_proj"); at != std::string::npos) {
      row.theirs.replace(at, 2, "gate");
      rows.push_back(std::move(row));
    }
}

/// Describes the first effective option whose value differs in `theirs`.
std::optional<std::string> first_difference(const ModelConfig& ours, const ModelConfig& theirs, std::string_view as) {
  for (const auto& [key, values] : differing_options({settled(ours), settled(theirs)}, "model"))
    if (!initial_weights.contains(key.substr(key.find('.') + 1)))
      return line_of(key, " = ", values[0], " cannot be stored as ", as, " (it would become ", values[1], ")");
  return std::nullopt;
}

}  // namespace

const ForeignModel& foreign_model(Architecture architecture) {
  static const std::array<ForeignModel, 4> models = {gpt2(), llama(), qwen3(), own()};
  return models[static_cast<std::size_t>(architecture)];
}

Json value_in(const StrictObject& config, const std::string& name, const Json& otherwise) {
  return config.has(name) && !config.field(name).is_null() ? Json(config.field(name)) : otherwise;
}

std::int64_t size_in(const StrictObject& config, const std::string& name, std::int64_t most, const Json& otherwise) {
  const Json size = value_in(config, name, otherwise);
  if (!size.is_number_integer() || size < 1 || size > most)
    config.refuse(name, line_of("a whole number from 1 to ", most));
  return size;
}

Json to_theirs(const ModelConfig& model, Architecture architecture) {
  const Json ours = to_json(settled(model))["model"];
  Json theirs = Json::object();
  for (const Field& field : foreign_model(architecture).fields) {
    if (field.theirs.empty()) continue;
    Json value = field.ours.empty() ? Json() : field.places.empty() ? ours[field.ours] : at_places(ours, field);
    if (!field.values.empty()) {
      const auto known = std::ranges::find(field.values, value, &std::pair<Json, Json>::first);
      if (known == field.values.end()) continue;
      value = known->second;
    }
    theirs[field.theirs] = value;
  }
  if (architecture == Architecture::llama || architecture == Architecture::qwen3) {
    theirs["num_key_value_heads"] = model.n_head;
    theirs["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", model.rope_base}};  // of transformers 5
  }
  return theirs;
}

Json to_ours(const StrictObject& config, Architecture architecture) {
  Json ours = Json::object();
  for (const Field& field : foreign_model(architecture).fields) {
    const Json value = value_as_ours(config, field);
    if (field.ours.empty() || value.is_null()) continue;
    if (field.places.empty()) {
      ours[field.ours] = value;
    } else if (value != false && value != 0) {
      if (!ours.contains(field.ours)) ours[field.ours] = value;  // of different rates the first one counts
      for (const Place place : field.places) ours[field.ours + "_places"].push_back(enum_name(place));
    }
  }
  return ours;
}

ModelConfig as_theirs(const ModelConfig& model, Architecture architecture) {
  Json sections;
  sections["model"] = to_ours({to_theirs(model, architecture), "config.json"}, architecture);
  return parse_config(sections.dump(), "config.json").config.model;
}

std::optional<std::string> obstacle_to(const ModelConfig& model, Architecture architecture) {
  ModelConfig theirs = as_theirs(model, architecture);
  theirs.dropout = model.dropout;
  theirs.dropout_places = model.dropout_places;
  // Biases of 0 and gains of 1 can be added to every model.
  const ModelConfig with_all = theirs;
  theirs.bias = model.bias;
  theirs.norm_gain = model.norm_gain;
  theirs.bias_places = model.bias_places;
  std::erase_if(theirs.bias_places, [&](Place place) { return !has_bias(with_all, place); });
  const bool own_code = architecture == Architecture::chargpt;
  return first_difference(model, theirs, own_code ? "a model of transformers" : enum_name(architecture));
}

Architecture architecture_of(const ModelConfig& model) {
  const Architecture nearest = model.position != Position::rope ? Architecture::gpt2
                               : model.qk_norm                  ? Architecture::qwen3
                                                                : Architecture::llama;
  return obstacle_to(model, nearest) ? Architecture::chargpt : nearest;
}

std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture,
                                            std::int64_t symbols) {
  std::vector<LayoutRow> rows = rows_of(foreign_model(architecture).tensors, theirs, symbols);
  const bool gated = architecture == Architecture::llama || architecture == Architecture::qwen3;
  if (gated && theirs.activation == Activation::relu2) add_equal_gates(rows);
  return rows;
}

}  // namespace chargpt
