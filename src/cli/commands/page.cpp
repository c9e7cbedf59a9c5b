// `chargpt page RUN…`: one web page that shows runs, and in which the model of the first one writes.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/print_text.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_page.h"
#include "page/page.h"
#include "report/format.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

struct Arguments : ModelArguments {
  std::vector<std::string> runs;
  std::string file, prompt;
  bool no_model = false;
};

void run_page(const Arguments& arguments) {
  refuse_twice(arguments.runs);
  std::vector<fs::path> runs;
  for (const std::string& run : arguments.runs) runs.push_back(run_place(run, arguments.checkpoint).run);
  std::optional<PageModel> model;
  if (!arguments.no_model) model = {arguments.runs.front(), arguments.checkpoint, arguments.prompt, arguments.use};
  const fs::path file = arguments.file.empty() ? runs.front() / "page.html" : fs::path(arguments.file);
  nlohmann::ordered_json checkpoint;
  const std::string html = page_of_runs(runs, model, /*comparison=*/nullptr, &checkpoint);
  write_page(file, html);
  if (arguments.output.json)
    return print_json({{"page", file.string()}, {"bytes", html.size()}, {"checkpoint", checkpoint}});
  std::printf("%s, %s: open it in a browser\n", printable_path(file).c_str(), format_bytes(std::ssize(html)).c_str());
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
  options.gone("--stored-as", "a page keeps weights as float16");
  options.add("--prompt", arguments.prompt, "the prompt that the page opens with");
  add_weights_options(options, arguments);
  for (const char* of_the_model : {"--prompt", "--checkpoint", "--weights"})
    options.find(of_the_model).excludes(no_model);
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
