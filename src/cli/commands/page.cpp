// `chargpt page RUN…`: one web page of runs, with the model of the first one.
#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "cli/runs/joined_runs.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model_types.h"
#include "page/page.h"
#include "page/page_data.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::vector<std::string> runs;
  std::string file, prompt;
  bool no_model = false;
};

Json data_of_runs(const std::vector<fs::path>& runs) {
  Json all = Json::array();
  std::optional<Config> first;
  for (const fs::path& run : runs) {
    const Checkpoint checkpoint = loaded_checkpoint(run, "last");
    std::vector<std::string> notices;
    Json data = run_data(run, checkpoint, notices);
    for (const std::string& notice : notices) log_note(notice);
    const Config& config = checkpoint.config.config;
    if (!first) first = config;
    data["differs"] = changed_options(*first, config, /*section=*/"", {"data.text", "train.teacher", "eval", "sample"});
    all.push_back(std::move(data));
  }
  return all;
}

/// The data of the model in the page; sets `checkpoint` to its checkpoint_json().
Json data_of_model(const Arguments& arguments, Json& checkpoint) {
  const LoadedRun run = load_run(arguments.runs.front(), arguments.checkpoint, arguments.use);
  checkpoint = checkpoint_json(run);
  Json model = model_data(*run.model, run.checkpoint.vocabulary);
  run.checkpoint.vocabulary.encode(arguments.prompt, "--prompt");  // refuses other characters
  model["prompt"] = arguments.prompt;
  model["start_symbol"] = run.checkpoint.state.start_symbol;
  if (run.has_documents()) model["document"] = run.checkpoint.vocabulary.document();
  model["leaks"] = leaks(run.config().model);
  return model;
}

Report run_page(const Arguments& arguments) {
  refuse_twice(arguments.runs);
  std::vector<fs::path> runs;
  for (const fs::path given : arguments.runs) {
    const fs::path run = run_of(given);
    runs.push_back(run.empty() ? given : run);
  }
  if (std::ranges::any_of(runs, is_checkpoint_file) && arguments.file.empty())
    throw Error(ExitCode::usage, "a page of a checkpoint outside its run needs -o FILE");
  const bool several = runs.size() > 1, has_model = !arguments.no_model;
  Json checkpoint;
  Json data = {{"title", "chargpt: " + (several ? std::to_string(runs.size()) + " runs" : name_of_path(runs.front()))}};
  data["version"] = program_version();
  data["runs"] = data_of_runs(runs);
  data["baselines"] = baseline_data(runs.front());
  data["verdict"] = several ? "" : verdict_data(runs.front(), data["runs"][0]["best_step"]);
  data["model"] = has_model ? data_of_model(arguments, checkpoint) : Json();
  const std::string html = page_html(data);
  const fs::path file = arguments.file.empty() ? runs.front() / "page.html" : fs::path(arguments.file);
  write_page(file, html);
  Report report(Json{{"page", file.string()}, {"bytes", html.size()}, {"checkpoint", checkpoint}});
  report.say(printable_path(file) + ", " + format_bytes(std::ssize(html)) + ": open it in a browser\n");
  return report;
}

}  // namespace

void add_page(Options& options) {
  Arguments& arguments = arguments_for(options, run_page);
  add_runs_argument(options, arguments.runs)
      .help("run folders; the model in the page is that of the first (default: the newest in runs/)");
  options.add("-o,--output", arguments.file, "the file to write (default: page.html in the first run)")
      .value_name("FILE");
  const Option& no_model =
      options.flag("--no-model", arguments.no_model, "leave the weights out: curves, samples and facts alone");
  options.add("--prompt", arguments.prompt, "the prompt that the page opens with");
  add_weights_options(options, arguments);
  for (const char* of_the_model : {"--prompt", "--checkpoint", "--weights"})
    options.find(of_the_model).excludes(no_model);
}

}  // namespace chargpt
