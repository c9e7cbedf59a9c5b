// Loads a run or checkpoint for use: model with trained weights, vocabulary, config.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "cli/arguments.h"
#include "network/model.h"
#include "predict/network.h"
#include "run/checkpoint.h"

namespace chargpt {

/// How to use a trained model.
struct ModelUse {
  Weights weights = Weights::better;
  DeviceArguments machine = {};  ///< device must be auto or cpu
  Context context = Context::automatic;
};

/// The options of commands that read a run's weights.
struct ModelArguments {
  OutputArguments output;
  ModelUse use;
  std::string run, checkpoint;  ///< checkpoint empty: the best
};

/// A loaded checkpoint of the run in `folder`. Errors: as InferenceModel.
struct LoadedRun {
  LoadedRun(std::string name, Checkpoint loaded, std::filesystem::path folder, const ModelUse& use);
  const Config& config() const { return checkpoint.config.config; }
  bool has_documents() const { return checkpoint.vocabulary.document() >= 0; }

  std::string name;  ///< as it was given
  Checkpoint checkpoint;
  std::filesystem::path folder;
  std::unique_ptr<InferenceModel> model;
  std::unique_ptr<NetworkPredictor> network;
};

/// Throws Error usage if `run` is one checkpoint file and `which` is given too.
void check_choice(const std::filesystem::path& run, const std::string& which);

/// Calls load_checkpoint() and logs its notices: damage as a warning, which --quiet also shows.
Checkpoint loaded_checkpoint(const std::filesystem::path& run, const std::string& which, bool with_optimizer = false);

/// Loads a run. `which`: best, last or step-N; empty: best. Throws Error usage if `run` is one checkpoint and `which`
/// is given too, or if `use` names a device other than the CPU. Logs the checkpoint and notices (a fall-back to another
/// one, the choice between trained and averaged weights).
LoadedRun load_run(const std::string& run, const std::string& which, const ModelUse& use);
/// The "checkpoint" of --json: step, path, whether it is the best, the last step of its run (null: unknown) and whether
/// that step was evaluated; the weights used, if it also has averaged ones.
nlohmann::ordered_json checkpoint_json(const LoadedRun& run);

/// "a and b differ in their text (data.val_fraction 0.1 -> 0.2)"; empty if both were trained on the same text, units
/// and split.
std::string text_difference(const std::string& name, const Checkpoint& run, const std::string& other_name,
                            const Checkpoint& other);

/// Writes sample.num_samples texts from the start symbol; each ends with the id between documents, or after
/// sample.tokens ids.
std::vector<std::vector<std::int64_t>> samples_of(const LoadedRun& run, const SampleConfig& sample, std::int64_t seed,
                                                  const Heartbeat& heartbeat);
/// What to print between two samples: what separates the documents of the text, else a line "---".
std::string between_samples(const DataConfig& data);

/// A prompt as the model sees it, for commands that show its inner values.
struct PromptWindow {
  std::vector<std::int64_t> ids;     ///< 1 to block_size
  std::vector<std::string> symbols;  ///< of each id, one or two columns wide
};
/// Encodes --prompt, after the document start symbol if the model has one, and keeps the last block_size ids; notes on
/// stderr if it was longer. Throws Error usage if it is empty, data for a character outside the vocabulary.
PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt);
/// Notes on stderr if the prompt contains \n, \r or \t as two characters.
void note_escapes(const std::string& prompt);
/// Notes on stderr if the prompt is longer than the context.
void note_long_prompt(std::size_t characters, std::int64_t block_size);

/// Adds RUN; a run in runs/ may be given by its name. Default:
/// the newest run in runs/ (newest_run()), named on stderr.
Option& add_run_argument(Options& options, std::string& run,
                         const std::string& help = "run folder, or one checkpoint file");
/// Returns the newest run in runs/ and names it on stderr.
std::string run_left_out();
/// The run's config with the given sampling options. Throws Error usage for other options: they have no effect on a
/// trained model.
ResolvedConfig config_to_sample(const LoadedRun& run, const ConfigArguments& given);
/// Adds --checkpoint and --weights.
void add_weights_options(Options& options, ModelArguments& arguments);
/// Adds --device and --threads, for a command that reads weights.
void add_device_arguments(Options& options, ModelUse& use);

}  // namespace chargpt
