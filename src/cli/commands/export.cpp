// `chargpt export RUN --format F --out DIR`: a trained model in another program's format.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/runs/loaded_run.h"
#include "exchange/formats.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::string format = "huggingface", out, license = "unknown";
};

void run_export(const Arguments& arguments) {
  const Format& format = format_of(arguments.format);
  if (arguments.license != "unknown" && format.name != "huggingface")
    throw Error(ExitCode::usage, "--license is for --format huggingface, which writes a model card");
  if (!arguments.out.ends_with(format.suffix))
    throw Error(ExitCode::usage, "--out ", printable(arguments.out), " should end in ", format.suffix, ": --format ",
                format.name, " is one file");
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use, format.with_optimizer);
  OutputFolder folder(arguments.out, format.suffix.empty() ? OutputFolder::Kind::folder : OutputFolder::Kind::file);
  const auto notices = format.write({run.checkpoint, *run.model, arguments.license}, folder);
  folder.finish();
  for (const std::string& notice : notices) log_note(notice);
  if (arguments.output.json)
    return print_json({{"format", format.name},
                       {"path", arguments.out},
                       {"files", folder.files()},
                       {"bytes", folder.bytes()},
                       {"checkpoint", checkpoint_json(run)},
                       {"step", run.checkpoint.state.step},
                       {"weights", enum_name(run.model->weights())},
                       {"notices", notices}});
  std::printf("%s, %s: %s\n", printable_path(arguments.out).c_str(),
              format_bytes(static_cast<std::int64_t>(folder.bytes())).c_str(), std::string(format.what).c_str());
}

}  // namespace

void add_export(Options& options) {
  Arguments& arguments = arguments_for(options, run_export);
  add_run_argument(options, arguments.run);
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  options.add("--format", arguments.format, "file format").one_of(names);
  options.add("--out", arguments.out, "the folder to write, or the file for a format of one file; it must not exist")
      .required()
      .value_name("PATH");
  options.add("--license", arguments.license, "license tag: mit, apache-2.0, …").value_name("NAME");
  add_weights_options(options, arguments);
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
