#include "config/refused.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/describe.h"

namespace chargpt {
namespace {

/// An option's value as a user types it: "0.1", "gpt", "[]"; an empty string is "\"\"".
std::string value_of(const Config& config, const std::string& key) {
  const nlohmann::ordered_json value = find_option(key)->get(config);
  if (value.is_number_float()) return spelled(value.get<double>());
  return value.is_string() && value != "" ? value.get<std::string>() : value.dump();
}

/// Whether the config meets one condition: "model.type = gpt|attention" or "model.norm != none".
bool holds(const Config& config, const std::string& condition) {
  const std::vector<std::string> words = split(condition, " ");  // key, sign, values
  const bool is_one = std::ranges::count(split(words.at(2), "|"), value_of(config, words.at(0))) > 0;
  return is_one == (words.at(1) == "=");
}

/// Keys of nanoGPT and other trainers that are unknown here and resemble no option.
constexpr std::pair<const char*, const char*> foreign_keys[] = {
    // from nanoGPT's train.py, sample.py and GPTConfig
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
    // from other trainers
    {"epochs", "use train.max_epochs"},
    {"iters|max_steps|steps", "use train.max_iters"},
    {"lr", "use train.learning_rate"},
};

/// Advice on an unknown "section.name": the equivalent, the nearest option, or where options are listed.
std::string suggestion(const std::string& section, const std::string& name) {
  if (const std::string instead = replacement_of(name); !instead.empty()) return ": " + instead;
  std::vector<std::string> names;  // the section's own come first, so they win ties
  for (const OptionInfo& option : option_table())
    names.insert(option.section == section ? names.begin() : names.end(), option.name);
  const auto meant = nearest_name(name, names);
  return meant ? "; did you mean " + find_option(*meant)->key() + "?" : "; chargpt train --help lists the options";
}

}  // namespace

std::optional<std::string> unmet_need(const Config& config, std::string_view needs) {
  std::optional<std::string> first;
  for (const std::string& alternative : split(needs, " or ")) {
    const std::vector<std::string> conditions = split(alternative, ", ");
    const auto unmet = std::ranges::find_if_not(conditions, [&](const auto& one) { return holds(config, one); });
    if (unmet == conditions.end()) return std::nullopt;
    if (!first) first = unmet->substr(0, unmet->find(' '));
  }
  return first;
}

bool is_override(const ResolvedConfig& resolved, const std::string& key) {
  return origin_of(resolved, key).by == Origin::By::option;
}

Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason) {
  const std::string place = origin_of(resolved, key).text(), value = value_of(resolved.config, key);
  return Error(ExitCode::usage, place, ": ", key, " = ", value, " has no effect: ", reason);
}

void refuse_unused_options(const ResolvedConfig& resolved) {
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.key();
    if (option.needs.empty() || !resolved.given.contains(key)) continue;
    const auto unmet = unmet_need(resolved.config, option.needs);
    if (!unmet || (!is_override(resolved, key) && is_override(resolved, *unmet))) continue;
    const std::string place = origin_of(resolved, *unmet).text(), value = value_of(resolved.config, *unmet);
    throw unused_option(resolved, key, "it needs " + option.needs + "; " + *unmet + " = " + value + " (" + place + ")");
  }
}

std::string replacement_of(std::string_view foreign_key) {
  const std::string key(foreign_key.starts_with("wandb_") ? "wandb_log" : foreign_key);
  for (const auto& [keys, instead] : foreign_keys)
    if (std::ranges::count(split(keys, "|"), key) > 0) return instead;
  return "";
}

void reject_unknown(const std::string& place, const std::string& key, const nlohmann::json& value) {
  const std::vector<std::string> parts = split(key, ".");
  const bool is_section = parts.size() == 1 && value.is_object();
  throw Error(ExitCode::usage, place, ": ", printable(key), " = ", shown(value),
              is_section ? " is not a section" +
                               did_you_mean(key, section_names(), "; the sections are " + joined(section_names(), ", "))
                         : " is not an option" + suggestion(parts.front(), parts.back()));
}

}  // namespace chargpt
