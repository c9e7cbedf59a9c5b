// What an option may be set to: one table for the tests that walk all options.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/describe.h"
#include "config/load.h"
#include "config/source.h"
#include "small_run.h"

namespace chargpt {

/// Values, as one would write them after a flag, and what gives them an effect in a small gpt.
struct OptionValues {
  std::vector<std::string> values;
  std::vector<Override> beside{};
};

inline const std::string muon_group =
    R"({"match": "attn|mlp", "learning_rate": 0.02, "optimizer": "muon", "momentum": 0.9})";
inline const std::string embedding_group = R"({"match": "wte", "learning_rate": 0.05})";

/// Others than `now`: by the option's schema, but for those that need another value or another option beside them.
inline OptionValues other_values(const OptionInfo& option, const nlohmann::json& now) {
  static const std::map<std::string, OptionValues> special{
      {"data.max_symbols", {{"2"}}},
      {"data.max_val_tokens", {{"50"}}},
      {"data.test_fraction", {{"0.2"}}},
      {"data.separator", {{"\\n"}}},
      {"data.split_seed", {{"3"}, {{"data.documents", "lines", ""}}}},
      {"model.type", {{"bigram", "average", "masked", "attention", "gpt"}}},
      {"model.causal", {{"true", "false"}, {{"model.type", "average", ""}}}},
      {"model.bias_places", {{"attention,head", "mlp,norm"}, {{"model.bias", "true", ""}}}},
      {"model.rope_base", {{"100"}, {{"model.position", "rope", ""}}}},
      {"model.conv_width", {{"2", "9"}, {{"model.conv_places", "mlp", ""}}}},
      {"train.max_epochs", {{"0.06"}}},
      {"train.lr_decay_iters", {{"3"}}},
      {"train.wsd_decay_fraction", {{"0.7"}, {{"train.lr_schedule", "wsd", ""}}}},
      {"train.groups", {{"[" + muon_group + "]", "[" + embedding_group + ", " + muon_group + "]"}}},
      {"train.teacher", {{"a-run-that-is-not-there"}}},
      {"eval.eval_interval", {{"0", "1", "3"}}},
      {"sample.top_k", {{"1", "2"}}},
      {"sample.min_p", {{"0.999"}}}};
  if (const auto found = special.find(option.key()); found != special.end()) return found->second;
  const std::string type = option.schema().value("type", "choice");
  if (type == "boolean") return {{now.get<bool>() ? "false" : "true"}};
  if (type == "array") return {{"[\"mlp\"]", "[\"attention\"]", "[\"mlp\", \"attention\"]"}};
  if (type == "choice") {
    OptionValues choices{parts_of(option.range)};
    std::erase(choices.values, now.get<std::string>());
    return choices;
  }
  const auto number = now.get<double>();
  if (type == "integer") {
    if (number > 1) return {{spelled(number * 2), spelled(std::floor(number / 2))}};
    return {{"2", "1"}};
  }
  if (number > 0) return {{spelled(number / 2), spelled(number * 2), spelled(number / 1000)}};
  return {{"1e-3", "0.5"}};
}

}  // namespace chargpt
