// See formats.h. nanoGPT's model has GPT-2's layout with our names and shapes. Folders are untrusted input:
// nothing is allocated by the sizes of nanogpt.json before a tensor of the file has them.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/formats.h"
#include "exchange/layout.h"
#include "network/model_types.h"
#include "report/format.h"
#include "run/strict_json.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* about_file = "nanogpt.json";
constexpr std::uint64_t max_about_bytes = 64 << 20;

// ---- reading

char32_t character_of(const Json& symbol, const std::string& source) {
  const auto character = single_character(symbol.is_string() ? symbol.get<std::string>() : "");
  if (!character)
    throw Error(ExitCode::data, source, ": symbols holds ", printable(symbol.dump(), 20),
                ", which is not a single character");
  return *character;
}

ImportedSymbols read_symbols(const StrictObject& about, std::int64_t vocab_size, const std::string& source) {
  std::vector<char32_t> characters;
  for (const Json& symbol : about.field("symbols")) characters.push_back(character_of(symbol, source));
  if (std::ssize(characters) != vocab_size)
    throw Error(ExitCode::data, source, ": ", characters.size(), " symbols, and model_args.vocab_size is ", vocab_size);
  std::vector<char32_t> sorted = characters;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error(ExitCode::data, source, ": symbols holds ", describe_character(*twice), " twice");
  return symbols_of(characters);
}

/// GPT of nanoGPT, as options of ours.
OrderedJson model_options(const StrictObject& args) {
  const auto size = [&](const char* name) { return args.integer(name, 1); };
  return {{"type", "gpt"},
          {"n_layer", size("n_layer")},
          {"n_head", size("n_head")},
          {"n_embd", size("n_embd")},
          {"block_size", size("block_size")},
          {"dropout", args.real("dropout")},
          {"bias", args.field("bias")},
          {"norm", "layernorm"},
          {"position", "learned"},
          {"activation", "gelu"},
          {"tie_weights", true}};
}

/// The values of these options in the config of train.py, where it has them.
OrderedJson kept_options(const Json& config, std::initializer_list<const char*> names) {
  OrderedJson kept = OrderedJson::object();
  for (const char* name : names)
    if (config.contains(name)) kept[name] = config[name];
  return kept;
}

OrderedJson train_options(const Json& config) {
  OrderedJson train = kept_options(config, {"batch_size", "gradient_accumulation_steps", "max_iters", "learning_rate",
                                            "min_lr", "weight_decay", "beta1", "beta2", "adam_eps", "grad_clip"});
  if (config.contains("decay_lr") && config["decay_lr"] == false) {
    train["lr_schedule"] = "constant";
    train["warmup_iters"] = 0;  // it warms up only where it decays
    train.erase("min_lr");
    return train;
  }
  train.update(kept_options(config, {"warmup_iters", "lr_decay_iters"}));
  return train;
}

/// train.py takes a min_lr above learning_rate, to which the rate then rises; here it is constant instead. Returns a
/// notice where that is so.
std::vector<std::string> keep_from_rising(OrderedJson& train) {
  const auto rate = train.find("learning_rate"), least = train.find("min_lr");
  if (rate == train.end() || least == train.end() || !rate->is_number() || !least->is_number() || *least <= *rate)
    return {};
  const std::string notice = line_of("min_lr = ", least->dump(), " is above learning_rate = ", rate->dump(),
                                     ", so train.py lets the rate rise; a resumed run keeps learning_rate");
  *least = *rate;
  return {notice};
}

/// Step of AdamW, as our optimizer.safetensors has it.
OwnTensor read_step(const ForeignTensors& tensors) {
  const std::string& source = tensors.source();
  const TensorView* const found = tensors.file().find("step");
  if (found == nullptr || found->dtype != "I64" || found->bytes.size() != sizeof(std::int64_t))
    throw Error(ExitCode::data, source, " has no step, one number of type I64");
  std::int64_t step = 0;
  std::memcpy(&step, found->bytes.data(), sizeof step);
  if (step < 0) throw Error(ExitCode::data, source, ": step = ", step, " is negative");
  return {"step", "I64", {}, {found->bytes.begin(), found->bytes.end()}};
}

/// The parameters, or with ".exp_avg" and the like the moments of each.
std::vector<OwnTensor> read_tensors(ForeignTensors& tensors, const ModelConfig& model, const ImportedSymbols& symbols,
                                    const std::string& theirs = "", const std::string& ours = "") {
  std::vector<LayoutRow> rows = rows_of({}, model, symbols.vocabulary.size());
  for (LayoutRow& row : rows) {
    row.theirs += theirs;
    row.ours.name.insert(0, ours);
  }
  return tensors_as_ours(tensors, rows, {.symbols = symbols.rows});
}

std::vector<OwnTensor> read_parameters(const fs::path& path, const ModelConfig& model, const ImportedSymbols& symbols) {
  ForeignTensors tensors(path, about_file);
  tensors.expect_at_least(model.n_layer);
  std::vector<OwnTensor> all = read_tensors(tensors, model, symbols);
  tensors.expect_no_more();
  return all;
}

std::vector<OwnTensor> read_moments(const fs::path& path, const ModelConfig& model, const ImportedSymbols& symbols) {
  ForeignTensors tensors(path, about_file);
  std::vector<OwnTensor> all = read_tensors(tensors, model, symbols, ".exp_avg", "moment1/");
  for (OwnTensor& moment : read_tensors(tensors, model, symbols, ".exp_avg_sq", "moment2/")) {
    if (std::ranges::any_of(floats(moment), [](float value) { return value < 0; }))
      throw Error(ExitCode::data, tensors.source(), ": ", moment.name, " has negative numbers");
    all.push_back(std::move(moment));
  }
  all.push_back(read_step(tensors));
  tensors.ignore("step");
  tensors.expect_no_more();
  return all;
}

// ---- writing

/// Why AdamW of nanoGPT cannot go on with the moments; empty where it can.
std::string reason_without_moments(const ExportedModel& model) {
  const Config& config = model.config();
  if (model.model.weights() == Weights::averaged) return "the averaged weights have none (--weights trained has)";
  if (!config.train.groups.empty()) return "train.groups gives parameters rates of their own";
  if (config.model.decay != Decay::matrices) return "model.decay is \"all\", and nanoGPT decays matrices only";
  if (model.checkpoint.optimizer == nullptr || model.checkpoint.optimizer->tensors().empty()) return "the run has none";
  return "";
}

std::vector<TensorView> moments_of(const ExportedModel& model) {
  const SafetensorsFile& optimizer = *model.checkpoint.optimizer;
  std::vector<TensorView> moments;
  const auto add = [&](const std::string& name, const std::string& ours, std::vector<std::int64_t> shape) {
    const TensorView* const found = optimizer.find(ours);
    if (found == nullptr)
      throw Error(ExitCode::data, "the checkpoint's optimizer.safetensors has no ", ours, "; the file is damaged");
    moments.push_back({name, found->dtype, std::move(shape), found->bytes});
  };
  for (const NamedParameter& parameter : model.model.parameters()) {
    add(parameter.name + ".exp_avg", "moment1/" + parameter.name, parameter.shape);
    add(parameter.name + ".exp_avg_sq", "moment2/" + parameter.name, parameter.shape);
  }
  add("step", "step", {1});
  return moments;
}

OrderedJson config_of_train_py(const ExportedModel& model) {
  const Config& config = model.config();
  const TrainConfig& train = config.train;
  const bool decays = train.lr_schedule != LrSchedule::constant;
  return {{"eval_interval", config.eval.eval_interval},
          {"log_interval", config.eval.log_interval},
          {"eval_iters", config.eval.eval_iters > 0 ? config.eval.eval_iters : 200},
          {"eval_only", false},
          {"always_save_checkpoint", true},
          {"init_from", "resume"},
          {"wandb_log", false},
          {"dataset", config.name},
          {"gradient_accumulation_steps", train.gradient_accumulation_steps},
          {"batch_size", train.batch_size},
          {"block_size", config.model.block_size},
          {"n_layer", config.model.n_layer},
          {"n_head", config.model.n_head},
          {"n_embd", config.model.n_embd},
          {"dropout", config.model.dropout},
          {"bias", config.model.bias},
          {"learning_rate", train.learning_rate},
          {"max_iters", model.state().max_iters},
          {"weight_decay", train.weight_decay},
          {"beta1", train.beta1},
          {"beta2", train.beta2},
          {"adam_eps", train.adam_eps},
          {"grad_clip", train.grad_clip},
          {"decay_lr", decays},
          {"warmup_iters", train.warmup_iters},
          {"lr_decay_iters", train.lr_decay_iters > 0 ? train.lr_decay_iters : model.state().max_iters},
          {"min_lr", train.min_lr},
          {"device", "cpu"},
          {"dtype", "float32"},
          {"compile", false}};
}

OrderedJson model_args(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  return {{"n_layer", options.n_layer},       {"n_head", options.n_head}, {"n_embd", options.n_embd},
          {"block_size", options.block_size}, {"bias", options.bias},     {"vocab_size", model.vocabulary().size()},
          {"dropout", options.dropout}};
}

/// The first option that model_args cannot express.
std::optional<std::string> obstacle_to_nanogpt(const ExportedModel& model) {
  const Json args = model_args(model);
  OrderedJson sections;
  sections["model"] = model_options({args, about_file});
  const Config theirs = parse_config(sections.dump(), about_file, {}).config;
  return first_difference(model.options(), theirs.model, "nanoGPT");
}

/// What train.py does otherwise than the run.
std::vector<std::string> differences(const ExportedModel& model) {
  const TrainConfig& train = model.config().train;
  std::vector<std::string> notices;
  if (train.lr_schedule == LrSchedule::linear || train.lr_schedule == LrSchedule::wsd)
    notices.push_back("train.py decays along a cosine, this run's train.lr_schedule is " +
                      std::string(enum_name(train.lr_schedule)));
  if (train.lr_schedule == LrSchedule::constant && model.state().step < train.warmup_iters)
    notices.push_back("train.py has no warm-up before a constant rate; this run's ends at step " +
                      std::to_string(train.warmup_iters));
  if (train.lr_schedule != LrSchedule::constant && !train.decay_steps.empty())
    notices.push_back("train.py decays from the end of the warm-up on, this run from step " +
                      std::to_string(train.decay_steps.front()) + " on (train.decay_steps)");
  if (train.windows != Windows::random) notices.push_back("train.py draws its windows at random");
  if (!train.teacher.empty()) notices.push_back("train.py learns from no teacher; this run did (train.teacher)");
  return notices;
}

}  // namespace

bool is_nanogpt(const fs::path& path) {
  return is_there(path / about_file);
}

ImportedModel read_nanogpt(const fs::path& path) {
  const std::string source = printable_path(path / about_file);
  const Json json = parse_strict_json(read_regular_file(path / about_file, max_about_bytes, Links::follow), source);
  const StrictObject about(json, source);
  if (about.text("format") != "nanogpt") throw Error(ExitCode::data, source, " is not of format \"nanogpt\"");
  about.check_version("nanogpt.json", 1);
  const StrictObject args = about.object("model_args");
  const Json& config = about.field("config");
  if (!config.is_object()) throw Error(ExitCode::data, source, ": config is not an object");
  OrderedJson train = train_options(config);
  std::vector<std::string> notices = keep_from_rising(train);
  const OrderedJson sections = {{"model", model_options(args)},
                                {"train", train},
                                {"eval", kept_options(config, {"eval_interval", "log_interval"})}};
  ImportedSymbols symbols = read_symbols(about, args.integer("vocab_size", 1), source);
  ImportedModel model{.config = imported_config(sections, path, source),
                      .vocabulary = symbols.vocabulary,
                      .parameters = {},
                      .step = about.integer("iter_num", 0),
                      .what = "GPT of nanoGPT",
                      .notices = std::move(notices)};
  const ModelConfig& shape = model.config.config.model;
  model.parameters = read_parameters(path / "model.safetensors", shape, symbols);
  const fs::path optimizer = path / "optimizer.safetensors";
  if (is_there(optimizer)) model.optimizer = read_moments(optimizer, shape, symbols);
  model.max_iters = model.config.config.train.max_iters;
  return model;
}

std::vector<std::string> write_nanogpt(const ExportedModel& model, OutputFolder& folder) {
  if (model.vocabulary().document() >= 0)
    throw Error(
        ExitCode::usage,
        "--format nanogpt cannot hold this model: its text has documents, and meta.pkl has no token that begins "
        "and ends them; huggingface and gguf have one");
  refuse_obstacle(obstacle_to_nanogpt(model));
  if (model.vocabulary().units() == Units::bytes)
    throw Error(
        ExitCode::usage,
        "--format nanogpt cannot hold this model: data.units = \"bytes\", and the symbols of meta.pkl are characters");
  OrderedJson symbols = OrderedJson::array();
  for (const char32_t character : model.vocabulary().code_points()) symbols.push_back(utf8_of(character));
  const std::vector<OwnTensor> tensors =
      tensors_as_theirs(model.model, rows_of({}, model.options(), model.vocabulary().size()));
  std::vector<std::string> notices = differences(model);
  const std::string without = reason_without_moments(model);
  if (!without.empty()) notices.push_back("no optimizer state, so train.py cannot resume: " + without);
  folder.write("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, views_of(tensors)); });
  if (without.empty())
    folder.write("optimizer.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, moments_of(model)); });
  folder.write(about_file, json_text({{"format", "nanogpt"},
                                      {"version", 1},
                                      {"model_args", model_args(model)},
                                      {"config", config_of_train_py(model)},
                                      {"iter_num", model.state().step},
                                      {"best_val_loss", model.state().best_val_loss},
                                      {"symbols", symbols}},
                                     1));
  return notices;
}

}  // namespace chargpt
