// A run or checkpoint made ready for use: model with the trained weights, vocabulary, config. Or several as one: the
// mean of their probabilities (predict/ensemble.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "cli/arguments.h"
#include "network/model.h"
#include "predict/adaptive_network.h"
#include "predict/ensemble.h"
#include "predict/mixture.h"
#include "predict/network.h"
#include "run/checkpoint.h"
#include "run/kept_text.h"

namespace chargpt {

/// How a trained model is to be read.
struct ModelUse {
  Weights weights = Weights::better;
  DeviceArguments machine = {};  ///< device: auto or cpu, else it is refused
  Context context = Context::automatic;
};

/// The options of commands that read a run's weights.
struct ModelArguments {
  OutputArguments output;
  ModelUse use;
  std::string run, checkpoint;  ///< checkpoint empty: the best
};

/// Of those that take several runs as one.
struct JoinedArguments : ModelArguments {
  std::vector<std::string> runs;
  UnknownPolicy unknown = UnknownPolicy::error;
  bool counts = false;
};

class LoadedRun {
 public:
  /// A checkpoint of the run in `folder`, used as `use` says. Errors: as InferenceModel.
  LoadedRun(std::string name, Checkpoint loaded, std::filesystem::path folder, const ModelUse& use);

  std::string name;  ///< as it was given
  Checkpoint checkpoint;
  std::filesystem::path folder;
  std::unique_ptr<InferenceModel> model;
  const Config& config() const { return checkpoint.config.config; }
  /// What says which character comes next: the network, or what join(), adapt() and mix_with_counts() have made of it.
  Predictor& predictor() { return mixture ? static_cast<Predictor&>(*mixture) : adapting(); }
  /// The networks as they were trained: this one's, or the mean of all.
  Predictor& trained() { return ensemble_ ? static_cast<Predictor&>(*ensemble_) : *network_; }
  /// This run's alone.
  NetworkPredictor& network() { return *network_; }
  /// Of windows that are scored: the shortest of members().
  std::int64_t block_size() { return trained().block_size(); }
  /// Characters that a text is continued from, at most: the longest window of members(), or what counts look back.
  std::int64_t context();
  /// From here on the predictor is the mean of this run and `others`, which have the same vocabulary.
  void join(std::vector<LoadedRun> others);
  const std::vector<LoadedRun>& others() const { return others_; }
  /// This one first; after join(), the others.
  std::vector<LoadedRun*> members();
  /// Whether one of members() sees the symbols that it is to predict.
  bool leaks();
  /// From here on the networks of members() learn from what is scored, each by itself. Error usage for one that cannot.
  void adapt(const Adaptation& adaptation);
  /// From here on the predictor is mixed with counts of the train split of its own text. A line on stderr says where
  /// not all of that was counted, or nothing could be learned from it.
  void mix_with_counts(const Corpus& corpus, const Heartbeat& heartbeat);
  std::unique_ptr<Mixture> mixture;  ///< null until then

 private:
  Predictor& adapting() { return adaptive_ensemble_ ? *adaptive_ensemble_ : adaptive_ ? *adaptive_ : trained(); }
  std::unique_ptr<NetworkPredictor> network_;
  std::vector<LoadedRun> others_;
  std::unique_ptr<Ensemble> ensemble_;            ///< of networks; null: this run is alone
  std::unique_ptr<Predictor> adaptive_;           ///< of this run
  std::unique_ptr<Predictor> adaptive_ensemble_;  ///< of adaptive networks
};

/// Error usage where `run` is the folder of one checkpoint, and `option` says which of a run's as well.
void check_choice(const std::filesystem::path& run, const std::string& which);

/// What load_checkpoint had to say, to stderr: a damaged checkpoint as a warning, which --quiet does not silence.
void log_loading(const std::vector<std::string>& notices);
/// load_checkpoint and log_loading.
Checkpoint loaded_checkpoint(const std::filesystem::path& run, const std::string& which, bool with_optimizer = false);

/// `which`: best, last or step-N, empty for best; Error usage if `run` is one checkpoint's folder and `which` names
/// another, or `use` names another device than the CPU. A line on stderr names the checkpoint; notices (a fall-back to
/// another checkpoint, the choice between trained and averaged weights) go there too.
LoadedRun load_run(const std::string& run, const std::string& which, const ModelUse& use = {},
                   bool with_optimizer = false);
/// The first of arguments.runs, which speaks for all where they differ, joined by the others; a line says where they
/// have different windows. Errors: as load_run; data where their symbols differ, naming the first that does.
LoadedRun load_runs(const JoinedArguments& arguments);

/// Error usage for two of them that are of one run.
void refuse_twice(const std::vector<std::string>& runs);

/// The "checkpoint" of --json: step, path, whether it is the best, the last step of its run (null: not known) and
/// whether that was evaluated; the weights, if there are averaged ones too.
nlohmann::ordered_json checkpoint_json(const LoadedRun& run);
/// The same; of several runs "members", to each of which its name and checkpoint are added.
void add_checkpoints(nlohmann::ordered_json& json, LoadedRun& run);

/// "a and b differ in their text (data.val_fraction 0.1 -> 0.2)"; empty where all runs were trained on one text, in the
/// same units and split.
std::string text_difference(const LoadedRun& run);
/// Error usage where they were not: the difference, and `instead`, what follows from it.
void check_one_text(const LoadedRun& run, const std::string& instead);
/// The same difference of two runs by their names.
std::string text_difference(const std::string& name, const KnownText& run, const std::string& other_name,
                            const KnownText& other);
/// What a checkpoint was trained on, which must outlive the result.
KnownText known_text(const Checkpoint& checkpoint);

/// A prompt as a model sees it, for commands that look inside.
struct PromptWindow {
  std::vector<std::int64_t> ids;     ///< 1 to block_size
  std::vector<std::string> symbols;  ///< of each id, one or two columns wide
};
/// --prompt, with what begins a document before it: the last block_size of that; a notice says where there were more
/// characters. Errors: usage where it is empty, data for a character that the model does not know.
PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt);
/// A line on stderr where the prompt has \n, \r or \t as two characters.
void note_escapes(const std::string& prompt);
/// A line on stderr where the prompt is longer than the context.
void note_long_prompt(std::size_t characters, std::int64_t block_size);

/// The config of a run's last checkpoint.
ResolvedConfig config_of_run(const std::string& run);
/// RUN of a command: one of runs/ by its name alone. Left out, `run` becomes the newest in runs/ (newest_run), which a
/// line on stderr names.
Option& add_run_argument(Options& options, std::string& run,
                         const std::string& help = "run folder, or one checkpoint file");
/// RUN… of a command that takes several as one. Left out, they become the newest in runs/, which a line names.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs);
/// The same before another argument, declared next: `rest` takes the last word where `is_rest` says so of it; `alone`:
/// it is the only one.
Option& add_runs_argument(Options& options, std::vector<std::string>& runs, std::string& rest,
                          bool (*is_rest)(const std::string& word, bool alone));
/// The newest run in runs/, with the line that names it.
std::string run_left_out();
/// The run's config with the options of sampling that were given. Error usage for any other: none has an effect on a
/// trained model.
ResolvedConfig config_to_sample(const LoadedRun& run, const ConfigArguments& given);
/// --checkpoint and --weights.
void add_weights_options(Options& options, ModelArguments& arguments);
/// --device and --threads, of a command that reads weights.
void add_device_arguments(Options& options, ModelUse& use);
/// --checkpoint, --weights, --device, --threads and those of add_output_arguments.
void add_model_arguments(Options& options, ModelArguments& arguments);

}  // namespace chargpt
