// `chargpt page RUN…`: one web page that shows runs, and in which the model of the first one writes.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/version.h"
#include "config/changed_options.h"
#include "inference/model_types.h"
#include "page/model_data.h"
#include "page/page.h"
#include "page/run_data.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  OutputArguments output;
  ModelUse use;
  std::vector<std::string> runs;
  std::string checkpoint, file, prompt, stored_as = "automatic";
  bool no_model = false;
};

/// The last checkpoint of a run, for what it records of it.
Checkpoint last_checkpoint(const fs::path& run) {
  std::vector<std::string> notices;
  Checkpoint checkpoint = load_checkpoint(run, "last", /*with_optimizer=*/false, notices);
  log_loading(notices);
  return checkpoint;
}

Json data_of_runs(const std::vector<fs::path>& runs) {
  Json all = Json::array();
  std::optional<Config> first;
  for (const fs::path& run : runs) {
    const Checkpoint checkpoint = last_checkpoint(run);
    std::vector<std::string> notices;
    Json data = run_data(run, checkpoint, notices);
    for (const std::string& notice : notices) log_note(notice);
    const Config& config = checkpoint.config.config;
    if (!first) first = config;
    for (const char* section : {"data", "model", "train"})
      for (const std::string& line : changed_options(*first, config, section))
        if (!line.starts_with("data.text ")) data["differs"].push_back(line);
    all.push_back(std::move(data));
  }
  return all;
}

Json data_of_model(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.runs.front(), arguments.checkpoint, arguments.use);
  Json model = model_data(*run.model, run.checkpoint.vocabulary, *enum_value<StoredAs>(arguments.stored_as));
  run.checkpoint.vocabulary.encode(arguments.prompt, "--prompt");  // refuses what the model has never seen
  model["prompt"] = arguments.prompt;
  model["start_symbol"] = run.checkpoint.state.start_symbol;
  model["leaks"] = leaks(run.config().model);
  return model;
}

void run_page(const Arguments& arguments) {
  std::vector<fs::path> runs;
  for (const std::string& run : arguments.runs) runs.push_back(run_place(run, arguments.checkpoint).run);
  Json data = {{"title", "chargpt: " + fs::absolute(runs.front()).lexically_normal().filename().string()}};
  if (runs.size() > 1) data["title"] = "chargpt: " + std::to_string(runs.size()) + " runs";
  data["subtitle"] = runs.size() > 1 ? "Runs beside one another, and the model of the first."
                                     : "A small language model, how it was trained, and the model itself.";
  data["version"] = program_version();
  data["runs"] = data_of_runs(runs);
  data["baselines"] = baseline_data(runs.front());
  data["model"] = arguments.no_model ? Json(nullptr) : data_of_model(arguments);
  data["no_model"] = "The page was written without the model (--no-model).";
  const fs::path file = arguments.file.empty() ? runs.front() / "page.html" : fs::path(arguments.file);
  const std::string html = page_html(data);
  write_page(file, html);
  if (arguments.output.json)
    print_json({{"page", file.string()}, {"bytes", html.size()}});
  else
    std::printf("%s, %s: open it in a browser\n", printable_path(file).c_str(), format_bytes(std::ssize(html)).c_str());
}

}  // namespace

void add_page(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options.add("RUN", arguments->runs, "run folders; the model in the page is that of the first").required();
  options.add("-o,--output", arguments->file, "the file to write (default: page.html in the first run)")
      .value_name("FILE");
  options.flag("--no-model", arguments->no_model, "leave the weights out: curves, samples and facts alone");
  options
      .add("--stored-as", arguments->stored_as,
           "what weights are kept as; automatic: float32 up to 4 MB, then float16 up to 32 MB, then int8")
      .one_of({"automatic", "float32", "float16", "int8"});
  options.add("--prompt", arguments->prompt, "what stands in the prompt's place when the page is opened");
  add_checkpoint_option(options, arguments->checkpoint);
  add_weights_option(options, arguments->use.weights);
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_page);
}

}  // namespace chargpt
