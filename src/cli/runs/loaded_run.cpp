#include "cli/runs/loaded_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/runs/figures.h"
#include "config/describe.h"
#include "kernels/processor.h"
#include "network/model_types.h"
#include "predict/generate.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "text/documents.h"

namespace chargpt {

nlohmann::ordered_json checkpoint_json(const LoadedRun& run) {
  const Standing& standing = run.checkpoint.standing;
  nlohmann::ordered_json json = {{"step", run.checkpoint.state.step},
                                 {"path", run.checkpoint.path.string()},
                                 {"best", standing.best_step == run.checkpoint.state.step},
                                 {"last_step", nullptr}};
  if (standing.last_step != RunProgress::no_step) json["last_step"] = standing.last_step;
  if (!run.checkpoint.averaged.empty()) json["weights"] = enum_name(run.model->weights());
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

ResolvedConfig config_to_sample(const LoadedRun& run, const ConfigArguments& given) {
  ResolvedConfig config = run.checkpoint.config;
  for (auto& [key, origin] : config.origin)
    if (key.starts_with("sample.")) origin = {Origin::By::program, "the run"};
  const std::vector<Override> overrides = given.overrides();
  apply_overrides(config, overrides);
  for (const Override& option : overrides)
    if (const OptionInfo* named = find_option(option.key); named == nullptr || named->section != "sample")
      throw Error(ExitCode::usage, option.flag, ": ", option.key, " = ", printable(option.value),
                  " has no effect on a trained model; remove it");
  return config;
}

void add_weights_options(Options& options, ModelArguments& arguments) {
  options.add("--checkpoint", arguments.checkpoint, "best, last or step-N (default best)");
  options.choice("--weights", arguments.use.weights,
                 "which of trained and averaged weights (train.ema); better: by validation loss");
}

void add_device_arguments(Options& options, ModelUse& use) {
  add_device_arguments(options, use.machine);
  options.find("--device").help("auto or cpu (sampling and scoring run on the CPU)");
}

void check_choice(const std::filesystem::path& run, const std::string& which) {
  if (which.empty() || !is_file(run)) return;
  throw Error(ExitCode::usage, run.string(), " is one checkpoint, but --checkpoint ", which,
              " is given too; remove it, or pass the run's folder");
}

Checkpoint loaded_checkpoint(const std::filesystem::path& run, const std::string& which, bool with_optimizer) {
  expect_run(run);
  Checkpoint checkpoint = load_checkpoint(run, which, with_optimizer);
  for (const std::string& notice : checkpoint.notices)
    notice.starts_with(damage_notice) ? log_warning(notice) : log_note(notice);
  return checkpoint;
}

LoadedRun::LoadedRun(std::string name_in, Checkpoint loaded, std::filesystem::path folder_in, const ModelUse& use)
    : name(std::move(name_in)),
      checkpoint(std::move(loaded)),
      folder(std::move(folder_in)),
      model(std::make_unique<InferenceModel>(checkpoint, use.weights)),
      network(std::make_unique<NetworkPredictor>(*model, thread_count(use.machine.threads), use.context)) {
  flush_denormals();
}

LoadedRun load_run(const std::string& run, const std::string& which, const ModelUse& use) {
  if (const std::string& device = use.machine.device; device != "auto" && device != "cpu")
    throw Error(ExitCode::usage, "--device ", device, ": sampling and scoring run on the CPU; remove it");
  check_choice(run, which);
  LoadedRun loaded(run, loaded_checkpoint(run, which.empty() ? "best" : which), run_of(run), use);
  const Checkpoint& used = loaded.checkpoint;
  log_note("checkpoint: ", to_text(used.state.step, used.standing),
           used.averaged.empty() ? "" : line_of(", ", enum_name(loaded.model->weights()), " weights"));
  return loaded;
}

std::string text_difference(const std::string& name, const Checkpoint& run, const std::string& other_name,
                            const Checkpoint& other) {
  const auto known = [](const Checkpoint& checkpoint) {
    return KnownText{checkpoint.config.config.data, checkpoint.vocabulary, checkpoint.state.data};
  };
  const std::string difference = text_difference(known(run), known(other));
  return difference.empty() ? "" : name + " and " + other_name + " differ in their text (" + difference + ")";
}

std::vector<std::vector<std::int64_t>> samples_of(const LoadedRun& run, const SampleConfig& sample, std::int64_t seed,
                                                  const Heartbeat& heartbeat) {
  std::vector<std::vector<std::int64_t>> texts(static_cast<std::size_t>(sample.num_samples));
  std::int64_t written = 0;
  generate(*run.network, {run.checkpoint.state.start_symbol}, sample, static_cast<std::uint64_t>(seed),
           [&](std::int64_t index, std::int64_t id) {
             texts[static_cast<std::size_t>(index)].push_back(id);
             beat(heartbeat, ++written, sample.num_samples * sample.tokens);
             return id != run.checkpoint.vocabulary.document();
           });
  return texts;
}

std::string between_samples(const DataConfig& data) {
  const std::string of_documents = between_documents(data);
  return of_documents.empty() ? "\n---\n" : of_documents;
}

void note_long_prompt(std::size_t characters, std::int64_t block_size) {
  if (std::cmp_greater(characters, block_size))
    log_note("the prompt has ", format_count(static_cast<std::int64_t>(characters)), " characters but the context is ",
             format_count(block_size), "; only the last ", format_count(block_size), " are used");
}

void note_escapes(const std::string& prompt) {
  for (const char* escape : {"\\n", "\\r", "\\t"})
    if (prompt.find(escape) != std::string::npos)
      return log_note("--prompt contains ", escape, " as two characters; to pass the control character: --prompt $'...",
                      escape, "...'");
}

PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt) {
  note_escapes(prompt);
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  PromptWindow window{.ids = vocabulary.encode(prompt, "--prompt"), .symbols = {}};
  const std::int64_t block_size = run.model->block_size();
  note_long_prompt(window.ids.size(), block_size);
  if (run.has_documents()) window.ids.insert(window.ids.begin(), run.checkpoint.state.start_symbol);
  const std::int64_t more = std::max<std::int64_t>(0, std::ssize(window.ids) - block_size);
  window.ids.erase(window.ids.begin(), window.ids.begin() + more);
  for (const std::int64_t id : window.ids) window.symbols.push_back(visible_symbol(vocabulary.symbol(id)));
  return window;
}

}  // namespace chargpt
