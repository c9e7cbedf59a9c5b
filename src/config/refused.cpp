#include "config/refused.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/describe.h"
#include "config/kinds.h"
#include "config/load.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

const Json& value_at(const Json& values, const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? values.at(key) : values.at(key.substr(0, dot)).at(key.substr(dot + 1));
}

std::string text_of(const Json& value) {
  if (value.is_number_float()) return spelled(value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "model.type = gpt|attention" -> "model.type", "=", {"gpt", "attention"}
struct Condition {
  std::string key, sign;
  std::vector<std::string> values;

  explicit Condition(const std::string& text) {
    const std::vector<std::string> words = split(text, " ");
    key = words.at(0);
    sign = words.at(1);
    values = split(words.at(2), "|");
  }
  bool holds(const Json& all) const {
    const Json& value = value_at(all, key);
    const bool is_one = std::ranges::any_of(values, [&](const std::string& wanted) {
      return value.is_string() && wanted != R"("")" ? value == wanted : value == Json::parse(wanted);
    });
    return is_one == (sign == "=");
  }
};

/// "; model.position = learned (default)"
std::string instead(const ResolvedConfig& resolved, const Json& values, const std::string& key) {
  const auto origin = resolved.origin.find(key);
  return "; " + key + " = " + text_of(value_at(values, key)) +
         (origin == resolved.origin.end() ? "" : " (" + origin->second + ")");
}

void refuse_unused_in_groups(const ResolvedConfig& resolved) {
  Config standard;
  standard.train.groups.emplace_back();
  const Json defaults = to_json(standard)["train"]["groups"][0], groups = to_json(resolved.config)["train"]["groups"];
  GroupConfig::visit(standard.train.groups[0], [&](const std::string& name, const auto&, const Range&, const char*,
                                                   std::string_view needs) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (needs.empty() || groups[i].at(name) == defaults.at(name)) continue;
      const auto unmet = unmet_need(groups[i], needs);
      if (!unmet) continue;
      const std::string place = resolved.origin.at("train.groups");
      throw Error(ExitCode::usage, place, ": train.groups[", i, "].", name, " = ", text_of(groups[i].at(name)),
                  " has no effect: it needs ", needs, instead(resolved, groups[i], *unmet));
    }
  });
}

/// Keys of nanoGPT and other trainers that have no meaning or another name here, and no near name.
struct ForeignKey {
  std::string_view key, instead;
};

constexpr ForeignKey foreign_keys[] = {
    // nanoGPT's train.py, sample.py and GPTConfig
    {"always_save_checkpoint", "every evaluation saves a checkpoint; train.keep says how many to keep"},
    {"backend", "leave it out; several processes that mpirun starts use MPI"},
    {"compile", "leave it out; there is nothing to compile"},
    {"dataset", "use data.text, which takes the text itself"},
    {"decay_lr", "use train.lr_schedule, \"constant\" for no decay"},
    {"device", "use the flag --device"},
    {"eval_only", "use the command chargpt eval RUN"},
    {"flash", "leave it out; attention is fused wherever it can be"},
    {"init_from", "use the flag --init_from RUN, or the command chargpt resume RUN"},
    {"max_new_tokens", "use sample.tokens"},
    {"out_dir", "use the flag --run DIR"},
    {"start", "use the flag --prompt of chargpt sample"},
    {"vocab_size", "leave it out; the vocabulary comes from the text"},
    {"wandb_log", "leave it out; metrics.jsonl and TensorBoard events are always written"},
    // names that others use
    {"activation_function", "use model.activation"},
    {"context_length", "use model.block_size"},
    {"d_ff", "use model.mlp_size"},
    {"d_model", "use model.n_embd"},
    {"engine", "use the flag --engine"},
    {"epochs", "use train.max_epochs"},
    {"hidden_size", "use model.n_embd"},
    {"iters", "use train.max_iters"},
    {"lr", "use train.learning_rate"},
    {"max_grad_norm", "use train.grad_clip"},
    {"max_steps", "use train.max_iters"},
    {"num_heads", "use model.n_head"},
    {"num_layers", "use model.n_layer"},
    {"run", "use the flag --run DIR"},
    {"seq_len", "use model.block_size"},
    {"steps", "use train.max_iters"},
    {"threads", "use the flag --threads"},
    {"warmup_steps", "use train.warmup_iters"},
};

/// What to say about an unknown key: the option that was probably meant, or where the options are listed.
std::string suggestion(const std::string& section, const std::string& key) {
  const std::vector<OptionInfo> options = option_table();
  std::vector<std::string> here, anywhere;
  for (const OptionInfo& option : options) {
    anywhere.push_back(option.name);
    if (option.section == section) here.push_back(option.name);
  }
  const auto named = [&](const std::string& name) { return std::ranges::find(options, name, &OptionInfo::name); };
  const auto meant = [](const OptionInfo& option) { return "; did you mean " + option.key() + "?"; };
  if (const auto option = named(key); option != options.end()) return meant(*option);
  if (const std::string instead = replacement_of(key); !instead.empty()) return ": " + instead;
  if (const auto near = nearest_name(key, here)) return "; did you mean " + section + "." + *near + "?";
  if (const auto near = nearest_name(key, anywhere)) return meant(*named(*near));
  return "; chargpt train --help lists the options";
}

}  // namespace

std::optional<std::string> unmet_need(const Json& values, std::string_view needs) {
  std::optional<std::string> first;
  for (const std::string& alternative : split(needs, " or ")) {
    std::optional<std::string> unmet;
    for (const std::string& text : split(alternative, ", ")) {
      const Condition condition(text);
      if (!unmet && !condition.holds(values)) unmet = condition.key;
    }
    if (!unmet) return std::nullopt;
    if (!first) first = unmet;
  }
  return first;
}

bool is_override(const ResolvedConfig& resolved, const std::string& key) {
  return resolved.origin.at(key).starts_with("--");
}

Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason) {
  const Json all = to_json(resolved.config);
  return {ExitCode::usage,
          resolved.origin.at(key) + ": " + key + " = " + text_of(value_at(all, key)) + " has no effect: " + reason};
}

void refuse_unused_options(const ResolvedConfig& resolved) {
  if (resolved.given.empty()) return;
  const Json values = to_json(resolved.config);
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.key();
    if (option.needs.empty() || !resolved.given.contains(key)) continue;
    const auto unmet = unmet_need(values, option.needs);
    if (unmet && (is_override(resolved, key) || !is_override(resolved, *unmet)))
      throw unused_option(resolved, key, "it needs " + option.needs + instead(resolved, values, *unmet));
  }
  if (resolved.given.contains("train.groups")) refuse_unused_in_groups(resolved);
}

std::string replacement_of(std::string_view foreign_key) {
  if (foreign_key.starts_with("wandb_")) foreign_key = "wandb_log";
  const auto found = std::ranges::find(foreign_keys, foreign_key, &ForeignKey::key);
  return found == std::end(foreign_keys) ? "" : std::string(found->instead);
}

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> sections;
    const Config config;
    Config::visit(config, [&](const char* name, const auto&) { sections.emplace_back(name); });
    return sections;
  }();
  return names;
}

void reject_unknown(const std::string& place, const std::string& section, const std::string& key, const Value& value) {
  const std::string full = (section.empty() ? "" : section + ".") + key;
  throw Error(ExitCode::usage, place, ": ", printable(full), " = ", shown(value), " is not an option",
              suggestion(section, key));
}

void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value) {
  if (value.kind != Value::Kind::object) reject_unknown(place, "", key, value);
  throw Error(ExitCode::usage, place, ": ", printable(key), " = {...} is not a section",
              did_you_mean(key, section_names(), "; the sections are " + joined(section_names(), ", ")));
}

}  // namespace chargpt
