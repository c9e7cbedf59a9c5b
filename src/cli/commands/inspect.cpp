// `chargpt inspect PATH`: what a run, a checkpoint, a config or a text holds.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "report/format.h"
#include "report/table.h"
#include "run/checkpoints.h"
#include "text/corpus.h"
#include "text/sample_text.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  OutputArguments output;
  std::string path, checkpoint;
  bool verify = false;
};

Json describe_config(const ResolvedConfig& resolved) {
  return {{"kind", "config"}, {"config", to_json(resolved.config)}, {"origin", resolved.origin}};
}

Json describe_checkpoint(const Arguments& arguments) {
  std::vector<std::string> notices;
  const Checkpoint checkpoint =
      load_checkpoint(arguments.path, arguments.checkpoint.empty() ? "last" : arguments.checkpoint,
                      /*with_optimizer=*/true, notices);
  Json tensors = Json::array();
  for (const TensorView& tensor : checkpoint.model->tensors())
    tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"dtype", tensor.dtype}});
  Json json = {{"kind", "checkpoint"},
               {"path", checkpoint.path.string()},
               {"step", checkpoint.state.step},
               {"max_iters", checkpoint.state.max_iters},
               {"val_loss", checkpoint.state.val_loss},
               {"best_val_loss", checkpoint.state.best_val_loss},
               {"best_step", checkpoint.state.best_step},
               {"seconds", checkpoint.state.seconds},
               {"parameters", checkpoint.state.parameters},
               {"vocabulary", checkpoint.vocabulary.size()},
               {"program", checkpoint.state.program_version},
               {"libtorch", checkpoint.state.libtorch_version},
               {"cpu_capability", checkpoint.state.cpu_capability},
               {"device", checkpoint.state.device},
               {"engine", checkpoint.state.engine},
               {"threads", checkpoint.state.threads},
               {"notices", notices},
               {"tensors", tensors}};
  json.update(describe_config(checkpoint.config), false);
  return json;
}

/// Error data, naming the first file that is damaged, unless every file of every checkpoint is as its manifest says.
void verify_all(const fs::path& path) {
  std::vector<fs::path> folders = list_checkpoints(path);
  if (folders.empty()) folders.push_back(path);
  for (const fs::path& folder : folders)
    for (const FileReport& file : verify_checkpoint(folder))
      if (!file.problem.empty()) throw Error(ExitCode::data, (folder / file.name).string() + ": " + file.problem);
}

Json describe_text(const std::string& path) {
  DataConfig data;
  data.text = {path};
  const Corpus corpus = load_corpus(data);
  return {{"kind", "text"},
          {"path", path},
          {"characters", corpus.all().size()},
          {"symbols", corpus.vocabulary().size()},
          {"train", corpus.train().size()},
          {"val", corpus.val().size()},
          {"notices", corpus.notices()}};
}

/// Includes names and notices of foreign files, so nothing that a terminal would obey may pass.
std::string plain(const Json& value) {
  constexpr auto replace = Json::error_handler_t::replace;
  return printable(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, replace),
                   std::string::npos);
}

void print_options(const Json& json) {
  Table table({"option", "value", "from"});
  for (const auto& [key, origin] : json.at("origin").items()) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) continue;
    table.add(
        {key, plain(json.at("config").at(key.substr(0, dot)).at(key.substr(dot + 1))), origin.get<std::string>()});
  }
  print_table(table);
}

void print_text(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key == "config" || key == "origin" || key == "tensors" || key == "kind") continue;
    if (!value.empty()) std::printf("%-14s %s\n", key.c_str(), plain(value).c_str());
  }
  if (json.contains("tensors")) {
    Table table({"tensor", "shape", "dtype"});
    for (const Json& tensor : json["tensors"])
      table.add({plain(tensor["name"]), tensor["shape"].dump(), plain(tensor["dtype"])});
    std::printf("\n");
    print_table(table);
    std::printf("\n");
  }
  if (json.contains("origin")) print_options(json);
}

bool is_text_file(const fs::path& path) {
  if (path == sample_text_name) return true;
  return fs::is_regular_file(path) && path.extension() != ".json" && path.extension() != ".jsonc";
}

/// Options for checkpoints make no sense for a config or a text.
void refuse_checkpoint_options(const Arguments& arguments) {
  const std::string option = arguments.verify ? "--verify" : arguments.checkpoint.empty() ? "" : "--checkpoint";
  if (!option.empty())
    throw Error(ExitCode::usage, option + " is for runs and checkpoints, and " + printable(arguments.path) + " is a " +
                                     (is_text_file(arguments.path) ? "text" : "config") + "; leave it out");
}

void run_inspect(const Arguments& arguments) {
  const fs::path path = arguments.path;
  if (!fs::is_directory(path)) refuse_checkpoint_options(arguments);
  Json json;
  if (fs::is_directory(path)) {
    json = describe_checkpoint(arguments);
    if (arguments.verify) verify_all(path);
  } else if (is_text_file(path)) {
    json = describe_text(arguments.path);
  } else {
    const ResolvedConfig resolved = load_config(arguments.path);
    check_model(resolved);
    json = describe_config(resolved);
  }
  if (arguments.verify) json["verified"] = true;
  if (arguments.output.json)
    print_json(json);
  else
    print_text(json);
}

}  // namespace

void add_inspect(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options.add("PATH", arguments->path, "run folder, checkpoint folder, config (path or preset), or text file")
      .required();
  options.add("--checkpoint", arguments->checkpoint, "of a run: best, last or step-N (default last)");
  options.flag("--verify", arguments->verify, "check every file of every checkpoint against its manifest");
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_inspect);
}

}  // namespace chargpt
