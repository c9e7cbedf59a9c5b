// Every option of every preset, changed: training takes another course, or an error names the option. Models are shrunk
// and runs cut to a few steps, by assignment, so that nothing but the option under test counts as set.
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "kernels/bf16.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "option_values.h"
#include "train/plan.h"

namespace chargpt {
namespace {

using Words = std::vector<std::string>;

/// Options that no training obeys, and what does.
const std::map<std::string, std::string> obeyed_elsewhere{{"sample.tokens", "chargpt sample"},
                                                          {"sample.num_samples", "chargpt sample"},
                                                          {"eval.log_interval", "the writer of metrics.jsonl"}};

class Texts {
 public:
  Texts() {
    write_file_atomically(first(), formula_text(800));
    write_file_atomically(second(), formula_text(900, "zyxwvut\n"));
  }
  std::string first() const { return (folder_.path() / "first.txt").string(); }
  std::string second() const { return (folder_.path() / "second.txt").string(); }

 private:
  TestFolder folder_;
};

/// The preset with a small model, a few steps and that text.
ResolvedConfig shrunk(const std::string& preset, const std::string& text) {
  ResolvedConfig resolved = load_config(preset);
  Config& config = resolved.config;
  config.data.text = {text};
  config.model.n_layer = 1;
  config.model.n_head = std::min<std::int64_t>(config.model.n_head, 2);
  config.model.n_embd = 8;
  config.model.block_size = 8;
  if (config.model.mlp_size > 0) config.model.mlp_size = 16;
  config.train.batch_size = 2;
  config.train.max_iters = 4;
  config.train.max_epochs = config.train.max_seconds = 0;
  config.train.warmup_iters = std::min<std::int64_t>(config.train.warmup_iters, 1);
  if (config.train.lr_decay_iters > 0) config.train.lr_decay_iters = 4;
  config.eval = {.eval_interval = 2, .sample_tokens = 8};
  resolved.given.clear();
  return resolved;
}

/// What can be told before the first step.
std::string figures_of(const ResolvedConfig& resolved, const Corpus& corpus) {
  const Config& config = resolved.config;
  std::ostringstream text;
  text << count_parameters(config.model, corpus.vocabulary().size()) << ' ' << tokens_per_step(config) << ' '
       << corpus.train().size() << ' ' << corpus.val().size() << ' ' << (config.train.max_epochs > 0) << ' '
       << (config.train.max_seconds > 0);
  return text.str();
}

/// Disk space, losses, rates and samples, to the last bit.
std::string course_of(const ResolvedConfig& resolved, Corpus corpus) {
  EndedRun run(resolved, {}, -1, std::move(corpus));
  std::ostringstream text;
  text << std::hexfloat << run.recorder->plans.at(0).disk_bytes << '\n';
  for (const StepEvent& step : run.recorder->steps) text << step.loss << ' ' << step.lr << '\n';
  for (const EvalEvent& evaluation : run.recorder->evaluations)
    text << evaluation.val_loss << ' ' << evaluation.averaged_val_loss.value_or(0) << '\n';
  for (const SampleEvent& sample : run.recorder->samples) text << sample.text << '\n';
  return text.str();
}

/// Whether the option with that value changes the course of the training, or is refused by name.
bool has_effect(const ResolvedConfig& base, const std::string& base_course, const std::string& key,
                const std::string& value) {
  ResolvedConfig changed = base;
  try {
    apply_overrides(changed, std::vector<Override>{{key, value, "--set"}});
  } catch (const Error&) {
    return false;  // not a value that the option takes
  }
  try {
    check_model_config(changed.config.model);
    refuse_unused(changed);
    const Corpus corpus = load_corpus(base.config.data);
    Corpus other = load_corpus(changed.config.data);
    return figures_of(base, corpus) != figures_of(changed, other) ||
           base_course != course_of(changed, std::move(other));
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(key.substr(key.find('.') + 1)) != std::string::npos);
    return true;
  }
}

TEST_CASE("each option of each preset, changed, changes the training or is refused by name", "[options]") {
  const Texts texts;
  for (const std::string& preset : preset_names()) {
    const ResolvedConfig base = shrunk(preset, texts.first());
    ResolvedConfig standing = base;  // nothing improves: patience has a reason
    standing.config.train.learning_rate = standing.config.train.min_lr = 0;
    standing.config.train.groups.clear();
    standing.config.eval.eval_interval = 1;
    const std::string course = course_of(base, load_corpus(base.config.data)),
                      standing_course = course_of(standing, load_corpus(standing.config.data));
    const auto values = to_json(base.config);
    for (const OptionInfo& option : option_table()) {
      const std::string key = option.section + "." + option.name;
      if (obeyed_elsewhere.contains(key)) continue;
      if (key == "train.dtype" && cpu::bf16_kernels() == nullptr) continue;  // computed in float32, with a notice
      INFO(preset << ": " << key << " changes nothing: use it, or add a row to special in option_values.h");
      const bool stands = key == "train.patience";
      CHECK(std::ranges::any_of(
          key == "data.text" ? Words{texts.second()}
                             : other_values(option, values.at(option.section).at(option.name)).values,
          [&](const std::string& value) {
            return has_effect(stands ? standing : base, stands ? standing_course : course, key, value);
          }));
    }
  }
}

}  // namespace
}  // namespace chargpt
