// `chargpt import PATH`: a model that another program wrote, as a run.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/runs/run_text.h"
#include "cli/version.h"
#include "exchange/formats.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "text/text_place.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

struct Arguments {
  OutputArguments output;
  std::string path, run;
  Strings text;
  bool overwrite = false;
};

/// The one that recognises `path`. Errors: missing where there is nothing, data where none does.
const Format& format_at(const fs::path& path) {
  if (!is_there(path)) throw Error(ExitCode::missing, printable_path(path), " does not exist");
  std::string readable;
  for (const Format& format : formats()) {
    if (format.recognises == nullptr) continue;
    if (format.recognises(path)) return format;
    readable += (readable.empty() ? "" : "; ") + std::string(format.name) + ", " + std::string(format.what);
  }
  throw Error(ExitCode::data, printable_path(path),
              is_run(path) ? " is a run already" : " is in no format that chargpt reads", "; import reads ", readable);
}

/// The text that the model was trained on goes into its config, so that eval, resume and train find it.
std::optional<Corpus> given_text(const Arguments& arguments, ImportedModel& model) {
  if (arguments.text.empty()) return std::nullopt;
  model.config.config.data.text = arguments.text;
  model.config.origin["data.text"] = "--text";
  Corpus corpus = named_text(model.config.config.data, model.vocabulary, arguments.output);
  model.text = corpus.fingerprint();
  return corpus;
}

bool is_resumable(const ImportedModel& model) {
  return !model.optimizer.empty() && model.text != Fingerprint{};
}

/// The shortest command that trains on from an imported run.
std::string command_to_train_on(const std::string& run, const ImportedModel& model) {
  if (is_resumable(model)) return "chargpt resume " + shell_quoted(run);
  return "chargpt train " + shell_quoted(run + "/config.json") + " --init_from " + shell_quoted(run) +
         (model.text == Fingerprint{} ? " --text FILE" : "");
}

void run_import(const Arguments& arguments) {
  refuse_overwrite_without_run(arguments.overwrite, arguments.run);
  const fs::path path = arguments.path;
  const Format& format = format_at(path);
  ImportedModel model = format.read(path);
  const std::optional<Corpus> corpus = given_text(arguments, model);
  Overwrite overwrite{.allowed = arguments.overwrite};
  if (corpus)
    for (const TextFile& file : corpus->listing().files) overwrite.files.push_back(file.path);
  NewRun run(arguments.run, model.config.config.name, overwrite);
  run.begin();
  if (const fs::path old = run.old_run(); !old.empty())
    log_note("the run that was in ", printable_path(run.path()), " is now ", printable_path(old));
  write_imported_run(run.path(), model, program_version());
  if (corpus) tell(keep_text(run.path(), *corpus, model.config.config.data));
  run.keep();
  for (const std::string& notice : model.notices) log_note(notice);
  const std::string folder = run.path().string();
  const std::int64_t parameters = count_parameters(model.config.config.model, model.vocabulary.size());
  if (arguments.output.json)
    return print_json({{"run", folder},
                       {"format", format.name},
                       {"what", model.what},
                       {"parameters", parameters},
                       {"symbols", model.vocabulary.size()},
                       {"block_size", model.config.config.model.block_size},
                       {"step", model.step},
                       {"resumable", is_resumable(model)},
                       {"notices", model.notices}});
  print_lines(printable_path(folder) + ": " + model.what + ", " + format_count(parameters, "parameter") + ", " +
              format_count(model.vocabulary.size(), "symbol") + "\n→ chargpt sample " + shell_quoted(folder) + "\n→ " +
              printable(command_to_train_on(folder, model), 1000) + "\n");
  if (!model.optimizer.empty() && !corpus)
    log_note("the optimizer's state was imported too; import with --text FILE (its training text) to resume it");
}

}  // namespace

void add_import(Options& options) {
  Arguments& arguments = arguments_for(options, run_import);
  options.add("PATH", arguments.path, "what the other program wrote: a folder or a file").required();
  options.add("--run", arguments.run, "run folder (default runs/<name>-<n>)");
  options
      .add("--text", arguments.text,
           "the texts that it was trained on, so that eval and resume find them: files, folders, or - for standard "
           "input")
      .takes_words()
      .value_name("TEXT");
  options.flag("--overwrite", arguments.overwrite, "a run that is there is renamed to RUN.old-N; nothing is deleted");
  add_output_arguments(options, arguments.output);
}

}  // namespace chargpt
