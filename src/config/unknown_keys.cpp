#include "config/unknown_keys.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/load.h"

namespace chargpt {
namespace {

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

const GoneOption* find_gone(std::string_view section, std::string_view key) {
  const auto found = std::ranges::find_if(gone_options, [&](const GoneOption& option) {
    return option.name == key && (section.empty() || section == option.section);
  });
  return found == std::end(gone_options) ? nullptr : found;
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
  if (const GoneOption* const option = find_gone(section, key))
    throw Error(ExitCode::usage, place, ": ", option->section, ".", key, " is gone; ", option->instead);
  throw Error(ExitCode::usage, place, ": ", printable(full), " = ", shown(value), " is not an option",
              suggestion(section, key));
}

void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value) {
  if (value.kind != Value::Kind::object) reject_unknown(place, "", key, value);
  throw Error(ExitCode::usage, place, ": ", printable(key), " = {...} is not a section",
              did_you_mean(key, section_names(), "; the sections are " + joined(section_names(), ", ")));
}

}  // namespace chargpt
