#include "network/parameter_groups.h"

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "base/names.h"
#include "base/pattern.h"
#include "base/quote.h"
#include "config/refused.h"
#include "kernels/buffers.h"
#include "network/model_types.h"

namespace chargpt {
namespace {

bool updates(UpdateRule rule, const Parameter& parameter) {
  return rule == UpdateRule::adamw || parameter.shape.size() == 2;
}

/// The groups of train.groups, then two for all other parameters: one with decay, one without.
std::vector<ParameterGroup> all_groups(const TrainConfig& train) {
  std::vector<ParameterGroup> groups;
  for (const GroupConfig& group : train.groups)
    groups.push_back({.name = group.match,
                      .learning_rate = group.learning_rate.value_or(group.lr_scale.value_or(1) * train.learning_rate),
                      .weight_decay = group.weight_decay.value_or(train.weight_decay),
                      .rule = group.optimizer,
                      .momentum = group.momentum});
  groups.push_back({.name = "decay", .learning_rate = train.learning_rate, .weight_decay = train.weight_decay});
  groups.push_back({.name = "no_decay", .learning_rate = train.learning_rate});
  return groups;
}

/// Index into all_groups() of each parameter's group.
std::vector<std::size_t> groups_of(std::span<const Parameter> parameters, Decay decay, const TrainConfig& train) {
  std::vector<std::regex> patterns;
  for (std::size_t i = 0; i < train.groups.size(); ++i)
    patterns.push_back(compile_pattern(train.groups[i].match, line_of("train.groups[", i, "].match")));
  std::vector<std::size_t> groups;
  for (const Parameter& parameter : parameters) {
    std::size_t i = 0;
    while (i < patterns.size() &&
           !(updates(train.groups[i].optimizer, parameter) && std::regex_search(parameter.name, patterns[i])))
      ++i;
    const bool decays = decay == Decay::all || parameter.shape.size() > 1;
    groups.push_back(i < patterns.size() || decays ? i : i + 1);
  }
  return groups;
}

/// An option that has no effect, for any value, in some models or with some train.groups.
struct Trial {
  const char* key;
  void (*change)(Config& config);  ///< changes it to another value
  const char* reason;              ///< why the change has no effect, if it has none
  bool beside_groups = false;      ///< allowed in a file with train.groups, for parameters outside these groups
};

constexpr const char* no_adamw = "no group of train.groups has an optimizer that uses it (adamw)";
constexpr Trial trials[] = {
    {"model.bias", [](Config& config) { config.model.bias = !config.model.bias; },
     "this model has none of model.bias_places"},
    {"model.dropout", [](Config& config) { config.model.dropout = config.model.dropout > 0 ? 0 : 0.5; },
     "this model has none of model.dropout_places"},
    {"model.decay",
     [](Config& config) { config.model.decay = config.model.decay == Decay::all ? Decay::matrices : Decay::all; },
     "no vector (bias, gain) is outside train.groups", true},
    {"train.learning_rate", [](Config& config) { config.train.learning_rate += 1; },
     "every group of train.groups sets its own learning_rate; set lr_scale there instead", true},
    {"train.weight_decay", [](Config& config) { config.train.weight_decay += 1; },
     "no parameter uses it: groups of train.groups set their own value, and vectors decay only with model.decay = all",
     true},
    {"train.beta1", [](Config& config) { config.train.beta1 += 1; }, no_adamw},
    {"train.beta2", [](Config& config) { config.train.beta2 += 1; }, no_adamw},
    {"train.adam_eps", [](Config& config) { config.train.adam_eps += 1; }, no_adamw},
};

/// Everything that these options decide: parameters, their groups, rates and constants, and where dropout is used.
std::string effect_of(const Config& config) {
  constexpr std::int64_t any_vocabulary = 2;
  const TrainConfig& train = config.train;
  const ModelConfig& model = config.model;
  const std::vector<ParameterGroup> groups = all_groups(train);
  const std::vector<Parameter> parameters = parameter_list(model, any_vocabulary);
  const std::vector<std::size_t> group_of = groups_of(parameters, model.decay, train);
  std::string effect;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterGroup& group = groups[group_of[i]];
    effect += line_of(parameters[i].name, " ", group_of[i], " ", group.learning_rate, " ", group.weight_decay, " ");
    if (group.rule == UpdateRule::adamw) effect += line_of(train.beta1, " ", train.beta2, " ", train.adam_eps, " ");
  }
  for (const Place place : {Place::embedding, Place::attention, Place::attention_output, Place::mlp})
    if (place != Place::mlp || (model.type == "gpt" && model.feed_forward))
      effect += line_of(dropout_rate(model, place), " ");
  return effect;
}

}  // namespace

bool keeps_second_moment(UpdateRule rule) {
  return rule == UpdateRule::adamw;
}

std::vector<ParameterGroup> lay_out(std::span<Parameter> parameters, Decay decay, const TrainConfig& train) {
  std::vector<ParameterGroup> groups = all_groups(train);
  const std::vector<std::size_t> group_of = groups_of(parameters, decay, train);
  std::int64_t end = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].begin = end;
    std::vector<std::string> left;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (group_of[i] > g) left.push_back(parameters[i].name);
      if (group_of[i] != g) continue;
      parameters[i].offset = end;
      end = cpu::rounded_up(end + parameters[i].numel(), cpu::cache_line);  // aligns matrices for the kernels
      groups[g].parameters += parameters[i].numel();
    }
    groups[g].end = end;
    // A tied head has no matrix of its own; a preset's group for it alone must not forbid to tie the weights.
    const auto matches = [&](const std::string& name) {
      return std::regex_search(name, compile_pattern(groups[g].name, "train.groups"));
    };
    if (groups[g].size() == 0 && g < train.groups.size() &&
        !(matches("lm_head.weight") && std::ranges::none_of(parameters, matches, &Parameter::name)))
      throw Error(ExitCode::usage, "train.groups[", g, "].match = \"", groups[g].name,
                  "\" does not match any remaining parameter that ", enum_name(groups[g].rule), " can update",
                  left.empty() ? "; none remains" : "; remaining: " + some_of(left));
  }
  std::erase_if(groups, [](const ParameterGroup& group) { return group.size() == 0; });
  return groups;
}

std::vector<ParameterGroup> groups_in_force(const Config& config, std::int64_t vocab_size) {
  std::vector<Parameter> list = parameter_list(config.model, vocab_size);
  return lay_out(list, config.model.decay, config.train);
}

void refuse_unused(const ResolvedConfig& resolved) {
  refuse_unused_options(resolved);
  // An override of the model or the groups may make options of the file useless.
  const bool is_changed = std::ranges::any_of(resolved.given, [&](const std::string& key) {
    return is_override(resolved, key) && (key == "train.groups" || key.starts_with("model."));
  });
  for (const Trial& trial : trials) {
    const bool is_excused = is_changed || (trial.beside_groups && resolved.given.contains("train.groups"));
    if (!resolved.given.contains(trial.key) || (is_excused && !is_override(resolved, trial.key))) continue;
    Config changed = resolved.config;
    trial.change(changed);
    if (effect_of(changed) == effect_of(resolved.config)) throw unused_option(resolved, trial.key, trial.reason);
  }
}

}  // namespace chargpt
