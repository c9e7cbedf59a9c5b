// How transformers describes and stores each architecture that chargpt's models can have: one table of the fields of
// its config.json and one of its tensors, which export and import both read. Independent of weights and formats.
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

namespace chargpt {

/// gpt2: learned positions and layer norm. llama: rotary positions, RMS norm and a gated feed-forward layer. qwen3: the
/// same with normalised queries and keys. chargpt: every gpt, by code of ours (transformers/modeling_chargpt.py).
CHARGPT_ENUM(Architecture, gpt2, llama, qwen3, chargpt);

/// A field of config.json and the option of ours that it is.
struct Field {
  using Json = nlohmann::ordered_json;
  std::string ours;    ///< option of the section "model"; empty: none, so only `values` can be read
  std::string theirs;  ///< empty: the architecture knows only the value `otherwise` of ours
  Json otherwise{};    ///< what an absent field means, transformers' default; null: our default
  std::vector<std::pair<Json, Json>> values{};  ///< ours and theirs; empty: any value, the same in both
  Places places{};                              ///< bias and dropout: where this field says that they act
};

/// What transformers has under a name.
struct ForeignModel {
  const char *what, *class_name;  ///< "GPT-2 of transformers", "GPT2LMHeadModel"
  std::string prefix;             ///< of the names of tensors; a model that was saved without its head lacks it
  std::vector<Field> fields;
  Layout tensors;
};
const ForeignModel& foreign_model(Architecture architecture);

/// config.json that transformers saved. Untrusted input.
class ForeignConfig {
 public:
  /// Error data unless it is an object.
  ForeignConfig(nlohmann::json json, std::string source);

  const std::string& source() const { return source_; }
  /// `otherwise` where the field is absent or null.
  nlohmann::ordered_json value(const std::string& name, const nlohmann::ordered_json& otherwise = nullptr) const;
  /// A whole number from 1 to `most`; anything else is Error data.
  std::int64_t size(const std::string& name, std::int64_t most,
                    const nlohmann::ordered_json& otherwise = nullptr) const;
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const;

 private:
  nlohmann::json json_;
  std::string source_;
};

/// The fields of config.json that describe the model, as far as the architecture has them.
nlohmann::ordered_json to_theirs(const ModelConfig& model, Architecture architecture);
/// Options of the section "model". They have biases and gains wherever the architecture has them. Error data for values
/// that chargpt's models cannot have.
nlohmann::ordered_json to_ours(const ForeignConfig& config, Architecture architecture);
/// to_theirs(), then to_ours(): our model that has a parameter wherever theirs has one.
ModelConfig as_theirs(const ModelConfig& model, Architecture architecture);

/// 'model.norm = "rmsnorm" cannot be stored as gpt2 (it would become "layernorm")': the first option that the
/// architecture cannot express, dropout and options of the initial weights aside.
std::optional<std::string> obstacle_to(const ModelConfig& model, Architecture architecture);

/// The architecture of transformers that has the model's kind of positions if nothing prevents it, else chargpt.
Architecture architecture_of(const ModelConfig& model);

/// Their tensors of a model `theirs` of as_theirs().
std::vector<LayoutRow> rows_in_transformers(const ModelConfig& theirs, Architecture architecture, std::int64_t symbols);

}  // namespace chargpt
