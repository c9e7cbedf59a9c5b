// A run or checkpoint made ready for use: model with the trained weights, vocabulary, config.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "network/model.h"
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

/// A checkpoint of the run in `folder`. Errors: as InferenceModel.
struct LoadedRun {
  LoadedRun(std::string name, Checkpoint loaded, std::filesystem::path folder, const ModelUse& use);
  const Config& config() const { return checkpoint.config.config; }

  std::string name;  ///< as it was given
  Checkpoint checkpoint;
  std::filesystem::path folder;
  std::unique_ptr<InferenceModel> model;
  std::unique_ptr<NetworkPredictor> network;
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
/// The "checkpoint" of --json: step, path, whether it is the best, the last step of its run (null: not known) and
/// whether that was evaluated; the weights, if there are averaged ones too.
nlohmann::ordered_json checkpoint_json(const LoadedRun& run);

/// "a and b differ in their text (data.val_fraction 0.1 -> 0.2)"; empty where both were trained on one text, in the
/// same units and split.
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
