#include "network/parameter_groups.h"

#include <algorithm>
#include <regex>

#include "base/pattern.h"
#include "base/quote.h"
#include "config/refused.h"

namespace chargpt {
namespace {

constexpr const char* no_decay = "no_decay";

bool updates(UpdateRule rule, const ParameterInfo& parameter) {
  return rule != UpdateRule::muon || parameter.shape.size() == 2;
}

}  // namespace

bool keeps_second_moment(UpdateRule rule) {
  return rule == UpdateRule::adamw;
}

std::vector<GroupInForce> all_groups(const TrainConfig& train) {
  std::vector<GroupInForce> groups;
  for (const GroupConfig& group : train.groups)
    groups.push_back({.name = group.match,
                      .learning_rate = group.learning_rate.value_or(group.lr_scale.value_or(1) * train.learning_rate),
                      .weight_decay = group.weight_decay.value_or(train.weight_decay),
                      .rule = group.optimizer,
                      .momentum = group.momentum,
                      .own_rate = group.learning_rate.has_value(),
                      .own_decay = group.weight_decay.has_value()});
  groups.push_back({.name = "decay", .learning_rate = train.learning_rate, .weight_decay = train.weight_decay});
  groups.push_back({.name = no_decay, .learning_rate = train.learning_rate, .own_decay = true});
  return groups;
}

std::vector<std::size_t> groups_of(const std::vector<ParameterInfo>& parameters, Decay decay,
                                   const TrainConfig& train) {
  std::vector<std::regex> patterns;
  for (std::size_t i = 0; i < train.groups.size(); ++i)
    patterns.push_back(compile_pattern(train.groups[i].match, line_of("train.groups[", i, "].match")));
  std::vector<std::size_t> groups;
  for (const ParameterInfo& parameter : parameters) {
    std::size_t i = 0;
    while (i < patterns.size() &&
           !(updates(train.groups[i].optimizer, parameter) && std::regex_search(parameter.name, patterns[i])))
      ++i;
    const bool decays = decay == Decay::all || parameter.shape.size() > 1;
    groups.push_back(i < patterns.size() || decays ? i : i + 1);
  }
  return groups;
}

std::vector<GroupInForce> groups_in_force(const Config& config, std::int64_t vocab_size) {
  std::vector<GroupInForce> groups = all_groups(config.train);
  const std::vector<ParameterInfo> parameters = parameter_list(config.model, vocab_size);
  const std::vector<std::size_t> group_of = groups_of(parameters, config.model.decay, config.train);
  for (std::size_t i = 0; i < parameters.size(); ++i) groups[group_of[i]].parameters += parameters[i].numel();
  std::erase_if(groups, [](const GroupInForce& group) { return group.parameters == 0; });
  return groups;
}

namespace {

constexpr std::int64_t any_vocabulary = 2;

/// Whether the option was set, and not by a file whose model or groups an override has changed.
bool sets(const ResolvedConfig& resolved, const char* key) {
  const auto changes = [&](const std::string& other) {
    return is_override(resolved, other) && (other == "train.groups" || other.starts_with("model."));
  };
  return resolved.given.contains(key) && (is_override(resolved, key) || std::ranges::none_of(resolved.given, changes));
}

/// A file that states train.groups too may say what holds for parameters outside of them, though there are none.
bool stands_beside_its_groups(const ResolvedConfig& resolved, const std::string& key) {
  return !is_override(resolved, key) && resolved.given.contains("train.groups");
}

/// Places that this model does not have.
void refuse_missing_places(const ResolvedConfig& resolved) {
  const ModelConfig& model = resolved.config.model;
  const auto refuse = [&](const char* key, const std::string& places) {
    if (sets(resolved, key)) throw unused_option(resolved, key, "this model has none of " + places);
  };
  const bool own_bias = model.type != "gpt";  // of the head, whatever model.bias is
  const auto is_bias = [&](const ParameterInfo& parameter) {
    return parameter.role == ParameterRole::bias && !(own_bias && parameter.place == Place::head);
  };
  if (model.bias && !model.bias_places.empty() && std::ranges::none_of(parameter_list(model, any_vocabulary), is_bias))
    for (const char* key : {"model.bias", "model.bias_places"}) refuse(key, "model.bias_places");
  const bool has_mlp = model.type == "gpt" && model.feed_forward;
  if (model.dropout > 0 && model.dropout_places == Places{Place::mlp} && !has_mlp)
    for (const char* key : {"model.dropout", "model.dropout_places"}) refuse(key, "model.dropout_places");
}

/// model.decay says whether vectors decay.
void refuse_decay_of_no_vector(const ResolvedConfig& resolved) {
  if (!sets(resolved, "model.decay") || stands_beside_its_groups(resolved, "model.decay")) return;
  Config vectors_apart = resolved.config;
  vectors_apart.model.decay = Decay::matrices;
  const std::vector<GroupInForce> groups = groups_in_force(vectors_apart, any_vocabulary);
  if (groups.empty() || groups.back().name != no_decay)
    throw unused_option(resolved, "model.decay", "there is no vector (bias, gain) outside train.groups");
}

/// Under train.max_seconds the decay ends with them.
void refuse_idle_decay(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  constexpr const char *key = "train.lr_decay_iters", *cause = "train.max_seconds";
  if (train.lr_decay_iters > 0 && train.max_seconds > 0 && sets(resolved, key) &&
      (is_override(resolved, key) || !is_override(resolved, cause)))
    throw unused_option(resolved, key, "train.max_seconds decides it");
}

}  // namespace

void refuse_unused(const ResolvedConfig& resolved) {
  if (resolved.given.empty()) return;
  refuse_unused_options(resolved);
  refuse_missing_places(resolved);
  refuse_decay_of_no_vector(resolved);
  refuse_idle_decay(resolved);
  const std::vector<GroupInForce> groups = groups_in_force(resolved.config, any_vocabulary);
  const auto need = [&](const char* key, const auto& obeys, const char* reason) {
    if (sets(resolved, key) && std::ranges::none_of(groups, obeys)) throw unused_option(resolved, key, reason);
  };
  if (!stands_beside_its_groups(resolved, "train.learning_rate"))
    need(
        "train.learning_rate", [](const GroupInForce& group) { return !group.own_rate; },
        "every group of train.groups states its own learning_rate; give them lr_scale instead");
  if (!stands_beside_its_groups(resolved, "train.weight_decay"))
    need(
        "train.weight_decay", [](const GroupInForce& group) { return !group.own_decay; },
        "no parameter follows it: groups of train.groups state their own, and vectors decay only where model.decay = "
        "all");
  for (const char* key : {"train.beta1", "train.beta2", "train.adam_eps"})
    need(
        key, [](const GroupInForce& group) { return group.rule == UpdateRule::adamw; },
        "no group of train.groups has an optimizer that uses it (adamw)");
}

}  // namespace chargpt
