// `chargpt export RUN --format F --out PATH`: a trained model in another format.
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/runs/loaded_run.h"
#include "exchange/huggingface.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::string format = "huggingface", out, license = "unknown";
};

/// Writes one checkpoint file with the chosen weights and without the optimizer.
void write_one_file(const LoadedRun& run, const std::filesystem::path& out) {
  const Checkpoint& checkpoint = run.checkpoint;
  RunState state = checkpoint.state;
  const bool averaged = run.model->weights() == Weights::averaged;
  if (averaged) state.val_loss = state.averaged_val_loss;
  state.averaged_val_loss = std::numeric_limits<double>::infinity();
  refuse_existing(out);
  write_checkpoint(
      out, {state, checkpoint.vocabulary, checkpoint.config, averaged ? checkpoint.averaged : checkpoint.model, {}});
}

Report run_export(const Arguments& arguments) {
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  const bool one_file = arguments.format == "safetensors";
  const ExportedFolder folder =
      one_file ? ExportedFolder() : as_huggingface({run.checkpoint, *run.model, arguments.license});
  one_file ? write_one_file(run, arguments.out) : write_folder(arguments.out, folder.files);
  std::vector<std::string> names;
  std::int64_t bytes = one_file ? static_cast<std::int64_t>(std::filesystem::file_size(arguments.out)) : 0;
  for (const ExportedFile& file : folder.files) {
    names.push_back(file.name);
    bytes += std::ssize(file.bytes);
  }
  for (const std::string& notice : folder.notices) log_note(notice);
  Report report(Json{{"format", arguments.format},
                     {"path", arguments.out},
                     {"files", names},
                     {"bytes", bytes},
                     {"checkpoint", checkpoint_json(run)},
                     {"notices", folder.notices}});
  report.say(printable_path(arguments.out) + ", " + format_bytes(bytes) +
             (one_file ? ": a checkpoint in one file, without the optimizer\n"
                       : ": a folder that transformers loads (AutoModelForCausalLM, AutoTokenizer)\n"));
  return report;
}

}  // namespace

void add_export(Options& options) {
  Arguments& arguments = arguments_for(options, run_export);
  add_run_argument(options, arguments.run);
  options
      .add("--format", arguments.format,
           "huggingface: a folder that transformers loads; safetensors: one checkpoint file without the optimizer")
      .one_of({"huggingface", "safetensors"});
  options.add("--out", arguments.out, "the folder or file to write; it must not exist").required().value_name("PATH");
  options.add("--license", arguments.license, "license tag: mit, apache-2.0, …").value_name("NAME");
  add_weights_options(options, arguments);
}

}  // namespace chargpt
