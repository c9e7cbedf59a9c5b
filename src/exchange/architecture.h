// How transformers describes and stores each architecture that chargpt supports: a table of config.json fields and a
// table of tensors, used by export and import. Independent of weights and file formats.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "config/config.h"
#include "exchange/layout.h"
#include "run/strict_json.h"

namespace chargpt {

/// gpt2: learned positions and layer norm. llama: rotary positions, RMS norm and a gated feed-forward layer. qwen3:
/// llama with normalised queries and keys. chargpt: every gpt model, with our code (transformers/modeling_chargpt.py).
CHARGPT_ENUM(Architecture, gpt2, llama, qwen3, chargpt);

/// A field of config.json and the chargpt option that it corresponds to.
struct Field {
  using Json = nlohmann::ordered_json;
  std::string ours;                             ///< option of section "model"; empty: none, only `values` are accepted
  std::string theirs;                           ///< empty: the architecture has only the value `otherwise`
  Json otherwise{};                             ///< transformers' default for an absent field; null: our default
  std::vector<std::pair<Json, Json>> values{};  ///< ours and theirs; empty: any value, the same in both
  Places places{};                              ///< bias and dropout: the places where this field applies them
};

/// An architecture of transformers.
struct ForeignModel {
  const char *what, *class_name;  ///< "GPT-2 of transformers", "GPT2LMHeadModel"
  std::string prefix;             ///< of tensor names; absent in a model saved without its head
  std::vector<Field> fields;
  Layout tensors;
};
const ForeignModel& foreign_model(Architecture architecture);

/// A field of config.json, which transformers wrote and which is untrusted input; `otherwise` if it is absent or null.
nlohmann::ordered_json value_in(const StrictObject& config, const std::string& name,
                                const nlohmann::ordered_json& otherwise = nullptr);
/// Such a field that is a whole number from 1 to `most`. Throws Error data for anything else.
std::int64_t size_in(const StrictObject& config, const std::string& name, std::int64_t most,
                     const nlohmann::ordered_json& otherwise = nullptr);

/// Converts model options to fields of config.json; leaves out options that the architecture lacks.
nlohmann::ordered_json to_theirs(const ModelConfig& model, Architecture architecture);
/// Converts config.json to options of section "model", with biases and gains wherever the architecture has them. Throws
/// Error data for values that chargpt does not support.
nlohmann::ordered_json to_ours(const StrictObject& config, Architecture architecture);
/// to_theirs(), then to_ours(): our model with a parameter wherever theirs has one.
ModelConfig as_theirs(const ModelConfig& model, Architecture architecture);

/// 'model.norm = "rmsnorm" cannot be stored as gpt2 (it would become "layernorm")': describes the first option that the
/// architecture cannot express, except dropout and initial-weight options; nullopt if there is none.
std::optional<std::string> obstacle_to(const ModelConfig& model, Architecture architecture);

/// Chooses the architecture with the model's kind of positions if it can express the model, else chargpt.
Architecture architecture_of(const ModelConfig& model);

/// The tensors that transformers expects for `theirs`, a result of as_theirs().
std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture, std::int64_t symbols);

}  // namespace chargpt
