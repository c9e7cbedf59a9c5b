// `chargpt import PATH`: a model that transformers saved, as a run.
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "cli/runs/run_text.h"
#include "config/document.h"
#include "exchange/huggingface.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "report/report.h"
#include "run/kept_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string path, run;
  Strings text;
  bool overwrite = false;
};

void refuse_other_than_transformers(const fs::path& path) {
  if (!is_there(path)) throw Error(ExitCode::missing, printable_path(path), " does not exist");
  if (is_model_of_transformers(path)) return;
  throw Error(
      ExitCode::data, printable_path(path),
      is_run(path) ? " is a run already" : " is not a folder that transformers saved",
      "; import reads those. For a checkpoint of nanoGPT: python -m chargpt.nanogpt to-run ckpt.pt meta.pkl RUN");
}

/// Puts the training text into the model's config, so that eval, resume and train find it.
std::optional<Corpus> given_text(const Arguments& arguments, ImportedModel& model) {
  if (arguments.text.empty()) return std::nullopt;
  model.config.config.data.text = arguments.text;
  model.config.origin["data.text"] = {Origin::By::option, "--text"};
  Corpus corpus = named_text(model.config.config.data, model.vocabulary);
  model.text = corpus.fingerprint();
  return corpus;
}

Report run_import(const Arguments& arguments) {
  const fs::path path = arguments.path;
  refuse_other_than_transformers(path);
  ImportedModel model = read_huggingface(path);
  const std::optional<Corpus> corpus = given_text(arguments, model);
  const OwnFolder run = new_run(arguments.run, model.config.config.name, arguments.overwrite, program_version());
  if (const fs::path old = run.old_run; !old.empty())
    log_note("the run that was in ", printable_path(run.path), " is now ", printable_path(old));
  write_imported_run(run.path, model, program_version());
  if (corpus) tell(keep_text(run.path, *corpus));
  for (const std::string& notice : model.notices) log_note(notice);
  const std::string folder = run.path.string();
  const std::int64_t parameters = count_parameters(model.config.config.model, model.vocabulary.size());
  Report report(Json{{"run", folder},
                     {"what", model.what},
                     {"parameters", parameters},
                     {"vocab_size", model.vocabulary.size()},
                     {"block_size", model.config.config.model.block_size},
                     {"notices", model.notices}});
  report.say(printable_path(folder) + ": " + model.what + ", " + format_count(parameters, "parameter") + ", " +
             format_count(model.vocabulary.size(), "symbol") + "\n→ chargpt sample " + shell_quoted(folder) +
             "\n→ chargpt train " + shell_quoted(folder + "/config.json") + " --init_from " + shell_quoted(folder) +
             (corpus ? "\n" : " --text FILE\n"));
  return report;
}

}  // namespace

void add_import(Options& options) {
  Arguments& arguments = arguments_for(options, run_import);
  options.add("PATH", arguments.path, "a folder that transformers saved").required();
  options.add("--run", arguments.run, "run folder (default runs/<name>-<n>)").value_name("DIR");
  options
      .add("--text", arguments.text,
           "the texts that it was trained on, so that eval finds them: files, folders, or - for standard input")
      .takes_words()
      .value_name("TEXT");
  options.flag("--overwrite", arguments.overwrite, "rename an existing run to RUN.old-N; nothing is deleted");
}

}  // namespace chargpt
