#include "cli/runs/loaded_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "base/quote.h"
#include "checkpoint/manifest.h"
#include "cli/runs/figures.h"
#include "inference/model_types.h"
#include "kernels/processor.h"
#include "report/format.h"
#include "report/log.h"
#include "run/best.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

/// Notes which weights are used, if a checkpoint has averaged ones too.
void announce(const Checkpoint& checkpoint, Weights used) {
  if (!checkpoint.averaged) return;
  const RunState& state = checkpoint.state;
  const auto loss = [](double value) { return std::isfinite(value) ? format_fixed(value, 4) : "not evaluated"; };
  log_note("using the ", enum_name(used), " weights of ", checkpoint.path.filename().string(),
           " (validation loss: trained ", loss(state.val_loss), ", averaged ", loss(state.averaged_val_loss), ")");
}

/// Weights are read on the CPU, whatever trained them.
void check_device(const std::string& device) {
  if (device == "auto" || device == "cpu") return;
  throw Error(ExitCode::usage, "--device ", device, ": sampling and scoring run on the CPU; leave it out");
}

}  // namespace

nlohmann::ordered_json checkpoint_json(const LoadedRun& run) {
  const Standing standing = standing_of(run.checkpoint);
  nlohmann::ordered_json json = {{"step", run.checkpoint.state.step},
                                 {"path", run.checkpoint.path.string()},
                                 {"best", standing.is_best()},
                                 {"last_step", nullptr},
                                 {"last_evaluated", standing.last_evaluated}};
  if (standing.last_step != RunProgress::no_step) json["last_step"] = standing.last_step;
  if (run.checkpoint.averaged) json["weights"] = enum_name(run.model->weights());
  return json;
}

std::string run_left_out() {
  const std::string run = newest_run();
  log_note("run: ", printable_path(run), ", the newest");
  return run;
}

Option& add_run_argument(Options& options, std::string& run, const std::string& help) {
  options.before_run([&run] {
    if (run.empty()) run = run_left_out();
  });
  return options.add("RUN", run, help + " (default: the newest in runs/)").stands_for(run_meant);
}

ResolvedConfig config_of_run(const std::string& run) {
  return load_checkpoint(run_meant(run), "last").config;
}

ResolvedConfig config_to_sample(const LoadedRun& run, const ConfigArguments& given) {
  ResolvedConfig config = run.checkpoint.config;
  for (auto& [key, origin] : config.origin)
    if (key.starts_with("sample.")) origin = "the run";
  const std::vector<Override> overrides = given.overrides();
  apply_overrides(config, overrides);
  for (const Override& option : overrides)
    if (named_option(option.key).holders != std::vector<std::string>{"sample"})
      throw Error(ExitCode::usage, option.flag, ": ", option.key, " = ", printable(option.value),
                  " has no effect on a trained model; leave it out");
  return config;
}

void add_weights_options(Options& options, std::string& checkpoint, Weights& weights) {
  options.add("--checkpoint", checkpoint, "best, last or step-N (default best)");
  options.choice("--weights", weights,
                 "if weights were also averaged (train.ema): better (by validation loss), trained or averaged");
}

void add_device_arguments(Options& options, ModelUse& use) {
  add_device_arguments(options, use.machine);
  options.find("--device").help("auto or cpu: sampling and scoring run on the CPU");
}

void check_choice(const std::filesystem::path& run, const std::string& which, const char* option) {
  if (which.empty() || !is_there(run / manifest_file)) return;
  throw Error(ExitCode::usage, run.string(), " is one checkpoint, and ", option, " ", which,
              " is given too; leave that out, or give the run's folder");
}

void log_loading(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) notice.starts_with(damage_notice) ? log_warning(notice) : log_note(notice);
}

Checkpoint loaded_checkpoint(const std::filesystem::path& run, const std::string& which, bool with_optimizer) {
  std::vector<std::string> notices;
  Checkpoint checkpoint = load_checkpoint(run, which, with_optimizer, &notices);
  log_loading(notices);
  return checkpoint;
}

LoadedRun::LoadedRun(Checkpoint loaded, std::filesystem::path folder_in, const ModelUse& use)
    : checkpoint(std::move(loaded)),
      folder(std::move(folder_in)),
      model(std::make_unique<InferenceModel>(checkpoint, use.weights)),
      network_(std::make_unique<NetworkPredictor>(*model, thread_count(use.machine.threads), use.context)) {
  announce(checkpoint, model->weights());
  flush_denormals();
}

std::vector<LoadedRun*> LoadedRun::members() {
  std::vector<LoadedRun*> all{this};
  for (LoadedRun& other : others_) all.push_back(&other);
  return all;
}

bool LoadedRun::leaks() {
  return std::ranges::any_of(members(), [](const LoadedRun* member) { return chargpt::leaks(member->config().model); });
}

std::int64_t LoadedRun::context() {
  std::int64_t longest = mixture ? Counts::reach : 0;
  for (const LoadedRun* member : members()) longest = std::max(longest, member->model->block_size());
  return longest;
}

void LoadedRun::join(std::vector<LoadedRun> others) {
  others_ = std::move(others);
  weigh({});
}

void LoadedRun::weigh(std::vector<double> weights) {
  std::vector<Predictor*> networks;
  for (LoadedRun* member : members()) networks.push_back(member->network_.get());
  ensemble_ = std::make_unique<Ensemble>(networks, std::move(weights));
}

void LoadedRun::adapt(const std::vector<Adaptation>& adaptations) {
  std::vector<Predictor*> networks;
  for (LoadedRun* member : members()) {
    const Adaptation& adaptation = adaptations.at(networks.size());
    member->adaptive_ = std::make_unique<AdaptiveNetwork>(*member->model, network_->threads(), adaptation);
    networks.push_back(member->adaptive_.get());
  }
  if (ensemble_) adaptive_ensemble_ = std::make_unique<Ensemble>(networks, ensemble_->weights());
}

void LoadedRun::mix_with_counts(const Corpus& corpus, const Heartbeat& heartbeat) {
  mixture =
      std::make_unique<Mixture>(adapting(), network_->threads(), checkpoint.vocabulary, corpus.train(), heartbeat);
  const MixtureLearning& learning = mixture->learning();
  const std::string units = unit_word(checkpoint.vocabulary.units()) + "s";
  if (learning.tokens == 0)
    log_note("the training text is too short to learn how much the counts should weigh; both weigh the same");
  if (learning.counted < corpus.train().size())
    log_note("counted the last ", format_count(learning.counted), " of ", format_count(corpus.train().size()), " ",
             units, " of the training text");
  if (learning.counted > Counts::most_kept)
    log_note("the counts have room for about ", format_count(Counts::most_kept), " ", units,
             ": contexts seen least gave way to later ones");
}

LoadedRun load_run(const std::string& run, const std::string& which, const ModelUse& use, bool with_optimizer) {
  check_device(use.machine.device);
  check_choice(run, which);
  Checkpoint checkpoint = loaded_checkpoint(run, which.empty() ? "best" : which, with_optimizer);
  log_note("checkpoint: ", to_text(standing_of(checkpoint)));
  return {std::move(checkpoint), run_place(run, which).run, use};
}

}  // namespace chargpt
