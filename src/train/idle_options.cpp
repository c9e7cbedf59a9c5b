#include "train/idle_options.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/line_of.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

/// Options that mean nothing if `idle` holds, and why.
struct IdleRule {
  std::vector<const char*> options;
  std::function<bool(const Config&)> idle;
  const char* why;
};

bool is_gpt(const Config& config) {
  return config.model.type == "gpt";
}
bool attends(const Config& config) {
  return is_gpt(config) || config.model.type == "attention";
}
bool has_norm(const Config& config) {
  return is_gpt(config) && config.model.norm != Norm::none;
}

const std::vector<IdleRule>& rules() {
  static const std::vector<IdleRule> all{
      {{"model.n_layer", "model.mlp_size", "model.norm", "model.norm_place", "model.final_norm", "model.activation",
        "model.feed_forward", "model.tie_weights", "model.residual_init"},
       [](const Config& c) { return !is_gpt(c); },
       "only model.type gpt has blocks"},
      {{"model.n_head", "model.head_size", "model.dropout", "model.bias", "model.position", "model.rope_base",
        "model.attention", "model.attention_scale", "model.qk_norm", "model.output_projection"},
       [](const Config& c) { return !attends(c); },
       "this model.type has no attention layer"},
      {{"model.norm_gain", "model.norm_eps"},
       [](const Config& c) { return !has_norm(c); },
       "there is no normalisation"},
      {{"model.rope_base"},
       [](const Config& c) { return attends(c) && c.model.position != Position::rope; },
       "model.position is not rope"},
      {{"model.mlp_size", "model.activation"},
       [](const Config& c) { return is_gpt(c) && !c.model.feed_forward; },
       "model.feed_forward is false"},
      {{"model.dropout_places"}, [](const Config& c) { return c.model.dropout == 0; }, "model.dropout is 0"},
      {{"model.dropout"},
       [](const Config& c) { return attends(c) && c.model.dropout_places.empty(); },
       "model.dropout_places is empty"},
      {{"model.bias_places"}, [](const Config& c) { return !c.model.bias; }, "model.bias is false"},
      {{"model.bias"},
       [](const Config& c) { return attends(c) && c.model.bias_places.empty(); },
       "model.bias_places is empty"},
      {{"model.init_std", "model.residual_init"},
       [](const Config& c) { return c.model.init != Init::gpt2; },
       "model.init is not gpt2"},
      {{"model.ngram_size"},
       [](const Config& c) { return c.model.ngram_orders.empty(); },
       "model.ngram_orders is empty"},
      {{"model.conv_width"}, [](const Config& c) { return c.model.conv_places.empty(); }, "model.conv_places is empty"},
      {{"data.max_symbols"}, [](const Config& c) { return c.data.units == Units::bytes; }, "data.units is bytes"},
      {{"train.min_lr", "train.lr_decay_iters"},
       [](const Config& c) { return c.train.lr_schedule == LrSchedule::constant; },
       "train.lr_schedule is constant"},
      {{"train.wsd_decay_fraction"},
       [](const Config& c) { return c.train.lr_schedule != LrSchedule::wsd; },
       "train.lr_schedule is not wsd"},
      {{"sample.top_k", "sample.top_p", "sample.min_p"},
       [](const Config& c) { return c.sample.temperature == 0; },
       "sample.temperature is 0, so the most probable character is always taken"},
  };
  return all;
}

std::string value_of(const ResolvedConfig& resolved, const std::string& option) {
  const std::size_t dot = option.find('.');
  const nlohmann::ordered_json value = to_json(resolved.config).at(option.substr(0, dot)).at(option.substr(dot + 1));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Defaults, presets, files, flags: each is set knowing those before it.
int layer_of(const std::string& origin) {
  if (origin.starts_with("--")) return 3;
  return origin == "default" ? 0 : origin.starts_with("preset ") ? 1 : 2;
}

/// Whether a group of the arena is one of train.groups: the others are named after model.decay.
bool has_own(const TrainConfig& train, const ParameterGroup& group) {
  return std::ranges::count(train.groups, group.name, &GroupConfig::match) > 0;
}

std::int64_t parameters_of(const ParameterGroup& group) {
  std::int64_t count = 0;
  for (const ParameterSlot& slot : group.slots) count += slot.numel;
  return count;
}

}  // namespace

std::vector<std::string> idle_options(const ResolvedConfig& resolved) {
  std::vector<std::string> lines;
  for (const IdleRule& rule : rules()) {
    if (!rule.idle(resolved.config)) continue;
    for (const char* option : rule.options)
      if (origin_of(resolved, option).starts_with("--"))
        lines.push_back(option + (" = " + value_of(resolved, option)) + " has no effect: " + rule.why);
  }
  for (const GroupConfig& group : resolved.config.train.groups)
    if (group.optimizer != UpdateRule::muon && group.momentum != GroupConfig().momentum)
      lines.push_back("momentum of the group \"" + group.match + "\" of train.groups has no effect: its optimizer is " +
                      std::string(enum_name(group.optimizer)) + ", and only muon has momentum");
  return lines;
}

std::vector<std::string> overridden_by_groups(const ResolvedConfig& resolved, const ParameterArena& arena) {
  std::vector<std::string> lines;
  const TrainConfig& train = resolved.config.train;
  const auto tell = [&](const std::string& option, double value, double GroupConfig::*own) {
    const std::string origin = origin_of(resolved, option);
    if (train.groups.empty() || layer_of(origin) <= layer_of(origin_of(resolved, "train.groups"))) return;
    std::int64_t all = 0, others = 0;
    for (const ParameterGroup& group : arena.groups()) {
      all += parameters_of(group);
      if (!has_own(train, group)) others += parameters_of(group);
    }
    std::ostringstream line;
    line << option << " = " << value << " (" << origin << ") applies to " << (others == 0 ? "no parameter" : "")
         << (others > 0 ? std::to_string(others) + " of " + std::to_string(all) + " parameters" : "")
         << ": the groups of train.groups have their own (";
    for (const GroupConfig& group : train.groups)
      line << (&group == &train.groups.front() ? "" : ", ") << '"' << group.match << "\" " << group.*own;
    lines.push_back(line.str() + "); --groups changes them");
  };
  tell("train.learning_rate", train.learning_rate, &GroupConfig::learning_rate);
  tell("train.weight_decay", train.weight_decay, &GroupConfig::weight_decay);
  return lines;
}

std::vector<std::string> schedule_warnings(const TrainConfig& train) {
  std::vector<std::string> lines;
  if (train.warmup_iters >= train.max_iters && train.max_iters > 0)
    lines.push_back(line_of("train.warmup_iters = ", train.warmup_iters, " is not below the run's ", train.max_iters,
                            " steps: the learning rate never reaches its peak"));
  if (train.lr_schedule == LrSchedule::constant) return lines;
  if (train.lr_decay_iters > train.max_iters)
    lines.push_back(
        line_of("train.lr_decay_iters = ", train.lr_decay_iters, " is beyond the run's ", train.max_iters,
                " steps: the learning rate never comes down to min_lr (0 makes the decay follow the run's length)"));
  if (train.min_lr > train.learning_rate)
    lines.push_back(line_of("train.min_lr = ", train.min_lr, " is above train.learning_rate = ", train.learning_rate,
                            ": the learning rate rises"));
  return lines;
}

}  // namespace chargpt
