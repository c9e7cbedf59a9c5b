// `chargpt inspect PATH`: what a run, a checkpoint, a config or a text holds; `chargpt inspect A B`: in what two
// differ.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/line_of.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "baseline/baseline.h"
#include "baseline/shared_text.h"
#include "baseline/split_check.h"
#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/differences.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/work_line.h"
#include "inference/model_types.h"
#include "inference/parameter_groups.h"
#include "report/format.h"
#include "report/symbols.h"
#include "report/table.h"
#include "report/wrap.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_name.h"
#include "text/corpus.h"
#include "text/sample_text.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  OutputArguments output;
  std::string path, other, checkpoint;
  bool verify = false, all = false;
};

/// The options that are not what the program would take if nobody set them, in the order of declaration.
Json differing_from_defaults(const ResolvedConfig& resolved) {
  const Json config = to_json(resolved.config), defaults = to_json(Config());
  Json options = Json::array();
  for (const OptionInfo& option : option_table()) {
    const Json &value = config.at(option.section).at(option.name),
               &standard = defaults.at(option.section).at(option.name);
    if (value == standard) continue;
    const std::string key = option.section + "." + option.name;
    options.push_back({{"option", key},
                       {"value", value},
                       {"default", standard},
                       {"from", resolved.origin.at(key)},
                       {"help", option.help}});
  }
  return options;
}

/// The rate at the peak of the schedule and the decay of each group of parameters.
Json describe_groups(const Config& config, std::int64_t symbols) {
  Json groups = Json::array();
  for (const GroupInForce& group : groups_in_force(config, symbols))
    groups.push_back({{"group", group.name},
                      {"parameters", group.parameters},
                      {"optimizer", enum_name(group.rule)},
                      {"learning_rate", group.learning_rate},
                      {"weight_decay", group.weight_decay}});
  return groups;
}

Json describe_options(const ResolvedConfig& resolved, std::int64_t symbols) {
  return {{"parameter_groups", describe_groups(resolved.config, symbols)},
          {"config", to_json(resolved.config)},
          {"origin", resolved.origin},
          {"differs_from_defaults", differing_from_defaults(resolved)}};
}

/// How often a run of this config reads a text; null where its length is in seconds, which only a measurement can tell.
Json epochs_of(const Config& config, std::int64_t train_tokens) {
  const TrainConfig& train = config.train;
  const double tokens =
      static_cast<double>(train.batch_size * train.gradient_accumulation_steps * config.model.block_size);
  const double by_steps = static_cast<double>(train.max_iters) * tokens / static_cast<double>(train_tokens);
  if (train.max_seconds > 0 || train_tokens == 0) return nullptr;
  if (train.max_epochs > 0) return train.max_iters > 0 ? std::min(by_steps, train.max_epochs) : train.max_epochs;
  return by_steps;
}

/// What the config's text holds; null if it is not there, cannot be used, or can be read only once; of a text that
/// takes long to read only its size.
Json describe_text_of(const Config& config) {
  constexpr std::uint64_t most_bytes_read = std::uint64_t{64} << 20;
  const Strings& names = config.data.text;
  if (std::ranges::count(names, standard_input_name) > 0) return nullptr;
  try {
    TextListing listing = list_texts(names, config.data.units);
    Json json = {{"files", listing.files.size()}, {"bytes", listing.bytes()}};
    if (!listing.repeatable()) return nullptr;
    if (json["bytes"] > most_bytes_read) return json;
    const Corpus corpus = load_listed(std::move(listing), config.data);
    json.update(Json{{"characters", corpus.all().size()},
                     {"symbols", corpus.vocabulary().size()},
                     {"epochs", epochs_of(config, corpus.train().size())}});
    return json;
  } catch (const Error&) {
    return nullptr;  // training will say what is wrong with it
  }
}

Json describe_config(const ResolvedConfig& resolved) {
  constexpr std::int64_t usual_symbols = 65;  // of tinyshakespeare
  const Json text = describe_text_of(resolved.config);
  const bool bytes = resolved.config.data.units == Units::bytes, known = bytes || text.contains("symbols");
  const std::int64_t symbols = bytes                      ? 256
                               : text.contains("symbols") ? text["symbols"].get<std::int64_t>()
                                                          : usual_symbols;
  Json json = {{"kind", "config"},
               {"name", resolved.config.name},
               {"parameters", count_parameters(resolved.config.model, symbols)},
               {"symbols", symbols},
               {"symbols_from", known ? "text" : "assumed"},
               {"text", text}};
  json.update(describe_options(resolved, symbols));
  return json;
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
               {"vocab_size", checkpoint.vocabulary.size()},
               {"program", checkpoint.state.program_version},
               {"libtorch", checkpoint.state.libtorch_version},
               {"cpu_capability", checkpoint.state.cpu_capability},
               {"device", checkpoint.state.device},
               {"engine", checkpoint.state.engine},
               {"threads", checkpoint.state.threads},
               {"notices", notices},
               {"tensors", tensors}};
  json.update(describe_options(checkpoint.config, checkpoint.vocabulary.size()));
  return json;
}

/// False where it was removed or replaced while it was read. Error data, naming the first file that is damaged.
bool verified(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  const OpenFolder folder(path);
  for (const FileReport& file : verify_checkpoint(folder)) {
    if (file.problem.empty()) continue;
    if (!folder.is_at_path()) return false;
    throw Error(ExitCode::data, (path / file.name).string() + ": " + file.problem);
  }
  return true;
}

/// Error data, naming the first file that is damaged, unless every file of every checkpoint is as its manifest says.
/// A training run removes and replaces checkpoints meanwhile: those are looked up again.
void verify_all(const Arguments& arguments) {
  const fs::path path = arguments.path;
  constexpr int most_attempts = 20;
  WorkLine line(arguments.output);
  const auto is_whole = [&](const fs::path& folder) {
    line.show("verifying " + folder.filename().string());
    return verified(folder);
  };
  for (int attempt = 1; attempt <= most_attempts; ++attempt) {
    std::vector<fs::path> folders = list_checkpoints(path);
    if (folders.empty()) folders.push_back(path);
    if (std::ranges::all_of(folders, is_whole)) return;
  }
  throw Error(ExitCode::io, printable_path(path) + " is written faster than it can be read; verify it again later");
}

/// Of characters that one cannot see; empty for the others.
std::string name_of_invisible(char32_t character) {
  static const std::map<char32_t, std::string> names = {{0x09, "tab"},
                                                        {0x0A, "line feed"},
                                                        {0x0D, "carriage return"},
                                                        {0x20, "space"},
                                                        {0xA0, "no-break space"},
                                                        {0xAD, "soft hyphen"},
                                                        {0x2009, "thin space"},
                                                        {0x200B, "zero width space"},
                                                        {0x200C, "zero width non-joiner"},
                                                        {0x200D, "zero width joiner"},
                                                        {0x200E, "left-to-right mark"},
                                                        {0x200F, "right-to-left mark"},
                                                        {0x2028, "line separator"},
                                                        {0x2029, "paragraph separator"},
                                                        {0x202F, "narrow no-break space"},
                                                        {0x3000, "ideographic space"},
                                                        {0xFEFF, "byte order mark"}};
  const auto found = names.find(character);
  if (found != names.end()) return found->second;
  if (is_control(character)) return "control character";
  return display_width(utf8_of(character)) == 0 ? "combining or of no width" : "";
}

/// What one pass over the characters of a text finds.
struct Counts {
  std::vector<std::int64_t> of_symbol;  ///< by id
  std::int64_t lf = 0, crlf = 0, cr = 0;
  bool ends_in_line = false;  ///< the last line has no end
  std::int64_t lines() const { return lf + crlf + cr + (ends_in_line ? 1 : 0); }
};

Counts count(const Corpus& corpus) {
  const Vocabulary& vocabulary = corpus.vocabulary();
  Counts counts;
  counts.of_symbol.resize(static_cast<std::size_t>(vocabulary.size()));
  std::vector<char32_t> characters;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    characters.push_back(first_symbol(vocabulary.symbol(id)).code_point);
  char32_t before = 0;
  const TokenView text = corpus.all();
  for (std::int64_t i = 0; i < text.size(); ++i) {
    const auto id = static_cast<std::size_t>(text[i]);
    ++counts.of_symbol[id];
    const char32_t character = characters[id];
    if (character == '\n') before == '\r' ? ++counts.crlf, --counts.cr : ++counts.lf;
    if (character == '\r') ++counts.cr;
    before = character;
  }
  counts.ends_in_line = before != '\n' && before != '\r';
  return counts;
}

/// "LF", "CRLF", "CR", "none", or "mixed: 10 LF, 2 CRLF".
std::string line_ends(const Counts& counts) {
  std::vector<std::string> kinds, with_counts;
  for (const auto& [name, number] :
       {std::pair("LF", counts.lf), std::pair("CRLF", counts.crlf), std::pair("CR", counts.cr)}) {
    if (number == 0) continue;
    kinds.emplace_back(name);
    with_counts.push_back(format_count(number) + " " + name);
  }
  return kinds.empty() ? "none" : kinds.size() == 1 ? kinds[0] : "mixed: " + joined(with_counts, ", ");
}

/// Most frequent first.
Json symbol_counts(const Corpus& corpus, const Counts& counts) {
  std::vector<std::int64_t> ids(counts.of_symbol.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto number_of = [&](std::int64_t id) { return counts.of_symbol[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) { return number_of(a) > number_of(b); });
  Json symbols = Json::array();
  for (const std::int64_t id : ids) {
    const std::string symbol = corpus.vocabulary().symbol(id);
    const char32_t character = first_symbol(symbol).code_point;
    Json row = {{"symbol", symbol}, {"code_point", code_point_name(character)}, {"count", number_of(id)}};
    if (const std::string name = name_of_invisible(character); !name.empty()) row["name"] = name;
    symbols.push_back(row);
  }
  return symbols;
}

Json describe_text(const Arguments& arguments) {
  const std::string& path = arguments.path;
  DataConfig data;
  data.text = {path};
  tell_terminal(data.text);
  const Corpus corpus = load_corpus(data);
  const Counts counts = count(corpus);
  Json json = {{"kind", "text"},
               {"path", path},
               {"files", corpus.files()},
               {"characters", corpus.all().size()},
               {"symbols", corpus.vocabulary().size()},
               {"train", corpus.train().size()},
               {"val", corpus.val().size()},
               {"notices", corpus.notices()},
               {"lines", counts.lines()},
               {"line_ends", line_ends(counts)},
               {"symbol_counts", symbol_counts(corpus, counts)},
               {"split_check", nullptr},
               {"val_tokens_in_train", nullptr},
               {"baselines", nullptr}};
  if (const auto check = check_split(corpus)) {
    json["split_check"] = to_json(*check);
    if (const std::string notice = split_notice(corpus, check); !notice.empty()) json["notices"].push_back(notice);
  }
  if (corpus.val().size() < 2) return json;
  WorkLine line(arguments.output);
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = corpus.val().size()},
                                                /*validation=*/true, line.heartbeat("measuring baselines"));
  json["val_tokens_in_train"] = baselines.shared;
  json["baselines"] = to_json(baselines);
  return json;
}

/// Includes names and notices of foreign files, so nothing that a terminal would obey may pass.
std::string plain(const Json& value) {
  constexpr auto replace = Json::error_handler_t::replace;
  return printable(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, replace),
                   std::string::npos);
}

/// At most `width` columns of it (0: all); --json has it whole.
std::string cut(const std::string& text, std::size_t width) {
  if (width == 0 || display_width(text) <= width) return text;
  return std::string(first_columns(text, width - 3)) + "...";
}

/// "model.n_layer = 6 (default 4)", and below it what the option does.
void print_differing(const Json& options) {
  constexpr std::size_t least = 16, most_for_default = 16;
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  for (const Json& option : options) {
    const std::string key = option["option"].get<std::string>() + " = ", from = ", from " + plain(option["from"]);
    const std::string standard = " (default " + cut(plain(option["default"]), columns == 0 ? 0 : most_for_default);
    const std::size_t used = key.size() + display_width(standard) + 1;
    const std::size_t room = columns == 0 ? 0 : std::max(least, columns - std::min(columns, used));
    const std::string line = key + cut(plain(option["value"]), room) + standard;
    const bool with_origin = columns == 0 || display_width(line + from) + 1 <= columns;
    std::printf("%s%s)\n    %s", line.c_str(), with_origin ? from.c_str() : "",
                wrapped(plain(option["help"]), 4, columns).c_str());
  }
}

/// Those at their defaults, in the order of declaration.
void print_other_options(const Json& json) {
  constexpr std::size_t least = 12, most = 24;
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  const std::size_t width = columns == 0 ? most : std::clamp(columns / 4, least, most);
  Table table({"option", "default", "what it is"});
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.section + "." + option.name;
    const auto& differing = json.at("differs_from_defaults");
    if (std::ranges::any_of(differing, [&](const Json& one) { return one["option"] == key; })) continue;
    table.add({key, cut(plain(json.at("config").at(option.section).at(option.name)), width), option.help});
  }
  print_table(table);
}

/// The rate at the peak of the schedule, and the decay, of each group of parameters.
void print_groups(const Json& groups) {
  const std::size_t width = terminal_columns(STDOUT_FILENO) / 4;
  Table table({"parameters", "count", "optimizer", "peak rate", "decay"});
  for (const Json& group : groups)
    table.add({cut(plain(group["group"]), width), format_count(group["parameters"]), plain(group["optimizer"]),
               line_of(group["learning_rate"].get<double>()), line_of(group["weight_decay"].get<double>())});
  print_table(table);
  std::printf("\n");
}

void print_options(const Json& json, bool all) {
  const Json& differing = json.at("differs_from_defaults");
  const std::size_t others = option_table().size() - differing.size();
  if (!differing.empty()) std::printf("differs from the defaults:\n\n");
  print_differing(differing);
  if (all) {
    std::printf("\nas the defaults:\n\n");
    print_other_options(json);
  } else {
    std::printf("\n%zu other options are at their defaults; --all shows them\n", others);
  }
}

/// "29,049 characters in 3 files", as far as it is known.
std::string text_row(const Json& text) {
  const std::int64_t files = text["files"];
  const std::string in_files = files == 1 ? " in 1 file" : " in " + format_count(files) + " files";
  if (!text.contains("characters")) return format_bytes(text["bytes"]) + in_files;
  return format_count(text["characters"]) + " characters" + in_files;
}

void print_config(const Json& json) {
  const std::string symbols = format_count(json["symbols"]) + " symbols";
  std::printf("%-14s %s\n", "config", plain(json["name"]).c_str());
  std::printf("%-14s %s, %s\n", "parameters", format_count(json["parameters"]).c_str(),
              json["symbols_from"] == "text" ? ("with the " + symbols + " of its text").c_str()
                                             : ("if its text has " + symbols).c_str());
  if (json["text"].is_object()) std::printf("%-14s %s\n", "text", text_row(json["text"]).c_str());
  if (json["text"].contains("epochs") && json["text"]["epochs"].is_number())
    std::printf("%-14s %s, as often a training reads it\n", "epochs", format_fixed(json["text"]["epochs"], 2).c_str());
  std::printf("\n");
}

void print_checkpoint(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object() || key == "differs_from_defaults" || key == "parameter_groups" || key == "tensors" ||
        key == "kind")
      continue;
    if (!value.empty()) std::printf("%-14s %s\n", key.c_str(), plain(value).c_str());
  }
  Table table({"tensor", "shape", "dtype"});
  for (const Json& tensor : json["tensors"])
    table.add({plain(tensor["name"]), tensor["shape"].dump(), plain(tensor["dtype"])});
  std::printf("\n");
  print_table(table);
  std::printf("\n");
}

std::string percent(double part) {
  return format_fixed(100 * part, part < 0.1 ? 2 : 1) + " %";
}

std::string split_text(const Json& json) {
  std::string text =
      format_count(json["train"]) + " characters to train on, " + format_count(json["val"]) + " to validate";
  if (!json["val_tokens_in_train"].is_number()) return text;
  const auto shared = json["val_tokens_in_train"].get<double>(),
             measured = json["baselines"]["measured_tokens"].get<double>();
  return text + "; " + percent(shared / measured) + " of these also stand in the train split, in stretches of " +
         std::to_string(shared_stretch) + " or more";
}

void print_symbols(const Json& json, bool all) {
  constexpr std::size_t some = 12;
  const Json& symbols = json["symbol_counts"];
  Table table({"symbol", "", "count", "share"});
  for (std::size_t i = 0; i < symbols.size() && (all || i < some); ++i) {
    const Json& row = symbols[i];
    const std::string name = row.value("name", std::string());
    table.add({row["code_point"].get<std::string>(), name.empty() ? plain(row["symbol"]) : name,
               format_count(row["count"]), percent(row["count"].get<double>() / json["characters"].get<double>())});
  }
  print_table(table);
  if (!all && symbols.size() > some) std::printf("and %zu rarer symbols; --all lists them\n", symbols.size() - some);
}

void print_baselines(const Json& baselines) {
  Table table({"baseline, on the validation split", "nats/char", "bits/char"});
  const auto add = [&](const std::string& name, const Json& loss) {
    if (loss.is_number()) table.add({name, format_fixed(loss, 4), format_fixed(loss.get<double>() / std::log(2.0), 4)});
  };
  add("uniform", baselines["uniform"]);
  for (const char* order : {"unigram", "bigram", "trigram"})
    add("counted " + std::string(order) + "s", baselines.value(order, Json()));
  if (baselines.contains("ngram") && baselines["ngram"].is_object())
    add("counted " + baselines["ngram"]["order"].dump() + "-grams (best order)", baselines["ngram"]["loss"]);
  add("gzip", baselines.value("gzip", Json()));
  add("xz, knowing the train split", baselines.value("xz", Json()));
  print_table(table);
}

void print_text_description(const Json& json, bool all) {
  Table table;
  table.add({"text", plain(json["path"])});
  if (json["files"] > 1) table.add({"files", format_count(json["files"])});
  table.add(
      {"characters", format_count(json["characters"]) + ", " + format_count(json["symbols"]) + " different ones"});
  table.add({"lines", format_count(json["lines"]) + ", line ends: " + json["line_ends"].get<std::string>()});
  table.add({"split", split_text(json)});
  for (const Json& notice : json["notices"]) table.add({"notice", plain(notice)});
  print_table(table);
  std::printf("\n");
  print_symbols(json, all);
  if (json["baselines"].is_null()) return;
  std::printf("\n");
  print_baselines(json["baselines"]);
}

void print_description(const Json& json, bool all) {
  if (json["kind"] == "text") return print_text_description(json, all);
  json["kind"] == "config" ? print_config(json) : print_checkpoint(json);
  print_groups(json["parameter_groups"]);
  print_options(json, all);
}

/// A run, a checkpoint, or what once was one.
bool is_checkpoint_folder(const fs::path& path) {
  std::error_code ignored;
  return is_run(path) || !list_checkpoints(path).empty() || fs::exists(path / "MANIFEST.json", ignored) ||
         fs::exists(path / "checkpoints", ignored);
}

/// Whether a folder that is none of these holds texts; one that holds none at all is no text either.
bool is_folder_of_texts(const std::string& path) {
  if (is_checkpoint_folder(path)) return false;
  try {
    list_texts({path}, Units::characters);
    return true;
  } catch (const Error& error) {
    return error.code() != ExitCode::missing && error.code() != ExitCode::data;
  }
}

bool is_text(const Arguments& arguments) {
  const fs::path path = arguments.path;
  std::error_code ignored;
  if (path == sample_text_name || path == standard_input_name) return true;
  if (!fs::exists(path, ignored)) return false;
  if (fs::is_directory(path)) return !arguments.verify && arguments.checkpoint.empty() && is_folder_of_texts(path);
  return fs::is_regular_file(path) && path.extension() != ".json" && path.extension() != ".jsonc";
}

/// Options for checkpoints make no sense for a config or a text.
void refuse_checkpoint_options(const Arguments& arguments) {
  const std::string option = arguments.verify ? "--verify" : arguments.checkpoint.empty() ? "" : "--checkpoint";
  if (!option.empty())
    throw Error(ExitCode::usage, option + " is for runs and checkpoints, and " + printable(arguments.path) + " is a " +
                                     (is_text(arguments) ? "text" : "config") + "; leave it out");
}

/// Error missing, with what may have been meant, unless `path` is there in some form.
void refuse_missing(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return;
  const std::string runs = runs_near(path);
  const bool near = runs.find("did you mean") != std::string::npos;
  try {
    load_config(path);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing || !near) throw;
    throw Error(ExitCode::missing, "no run, config or text at " + printable_path(path) + runs);
  }
}

void inspect_both(const Arguments& arguments) {
  if (arguments.verify || !arguments.checkpoint.empty() || arguments.all)
    throw Error(ExitCode::usage,
                "--verify, --checkpoint and --all are for one path; leave them out, or the second path");
  for (const std::string& path : {arguments.path, arguments.other}) {
    Arguments one;
    one.path = path;
    if (is_text(one))
      throw Error(ExitCode::usage, printable_path(path) + " is a text; two runs or configs can be compared");
    refuse_missing(path);
  }
  const Json json = describe_differences(std::vector{arguments.path, arguments.other});
  arguments.output.json ? print_json(json) : print_differences(json);
}

void run_inspect(const Arguments& arguments) {
  if (!arguments.other.empty()) return inspect_both(arguments);
  const fs::path path = arguments.path;
  if (!fs::is_directory(path)) refuse_checkpoint_options(arguments);
  Json json;
  if (is_text(arguments)) {
    json = describe_text(arguments);
  } else if (fs::is_directory(path)) {
    json = describe_checkpoint(arguments);
    if (arguments.verify) verify_all(arguments);
  } else {
    refuse_missing(arguments.path);
    const ResolvedConfig resolved = load_config(arguments.path);
    check_model(resolved);
    json = describe_config(resolved);
  }
  if (arguments.verify) json["verified"] = true;
  if (arguments.output.json)
    print_json(json);
  else
    print_description(json, arguments.all);
}

}  // namespace

void add_inspect(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options
      .add("PATH", arguments->path,
           "run folder, checkpoint folder, config (path or preset), or text: a file, a folder, - (default: the newest "
           "run "
           "in runs/)")
      .stands_for(config_or_run_meant);
  options.add("OTHER", arguments->other, "a second run or config: in what they differ, and what came of it")
      .stands_for(config_or_run_meant);
  options.before_run([&path = arguments->path] {
    if (path.empty()) path = run_left_out();
  });
  settle_preset(options, arguments->path);
  settle_preset(options, arguments->other);
  options.add("--checkpoint", arguments->checkpoint, "of a run: best, last or step-N (default last)");
  options.flag("--verify", arguments->verify, "check every file of every checkpoint against its manifest");
  options.flag("--all", arguments->all, "also the options at their defaults; of a text, every symbol");
  add_output_arguments(options, arguments->output);
  on_parsed(options, arguments, run_inspect);
}

}  // namespace chargpt
