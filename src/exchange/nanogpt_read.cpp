// Reading; see formats.h. The folder is hostile until read: sizes come from nanogpt.json, and nothing is allocated by
// them before a tensor of the file is seen to have them.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "checkpoint/strict_json.h"
#include "exchange/character_tokenizer.h"
#include "exchange/formats.h"
#include "exchange/layout.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Options = nlohmann::ordered_json;

constexpr const char* about_file = "nanogpt.json";
constexpr std::uint64_t max_about_bytes = 64 << 20;

char32_t character_of(const Json& symbol, const std::string& source) {
  const auto character = single_character(symbol.is_string() ? symbol.get<std::string>() : "");
  if (!character)
    throw Error(ExitCode::data, source, ": symbols holds ", printable(symbol.dump(), 20), ", no single character");
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
Options model_options(const StrictObject& args) {
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

/// What train.py was told of these options, as far as it was kept.
Options kept_options(const Json& config, std::initializer_list<const char*> names) {
  Options kept = Options::object();
  for (const char* name : names)
    if (config.contains(name)) kept[name] = config[name];
  return kept;
}

Options train_options(const Json& config) {
  Options train = kept_options(config, {"batch_size", "gradient_accumulation_steps", "max_iters", "learning_rate",
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

}  // namespace

bool is_nanogpt(const fs::path& path) {
  return is_there(path / about_file);
}

ImportedModel read_nanogpt(const fs::path& path) {
  const std::string source = printable_path(path / about_file);
  const Json json = parse_strict_json(read_regular_file(path / about_file, max_about_bytes, Links::follow), source);
  const StrictObject about(json, source);
  if (about.text("format") != "nanogpt") throw Error(ExitCode::data, source, " is not of format \"nanogpt\"");
  about.version("nanogpt.json", 1);
  const StrictObject args = about.object("model_args");
  const Json& config = about.field("config");
  if (!config.is_object()) throw Error(ExitCode::data, source, ": config is no object");
  const Options sections = {{"model", model_options(args)},
                            {"train", train_options(config)},
                            {"eval", kept_options(config, {"eval_interval", "log_interval"})}};
  ImportedSymbols symbols = read_symbols(about, args.integer("vocab_size", 1), source);
  ImportedModel model{.config = imported_config(sections, path, source),
                      .vocabulary = symbols.vocabulary,
                      .parameters = {},
                      .step = about.integer("iter_num", 0),
                      .what = "GPT of nanoGPT"};
  const ModelConfig& shape = model.config.config.model;
  model.parameters = read_parameters(path / "model.safetensors", shape, symbols);
  const fs::path optimizer = path / "optimizer.safetensors";
  if (is_there(optimizer)) model.optimizer = read_moments(optimizer, shape, symbols);
  model.max_iters = model.config.config.train.max_iters;
  return model;
}

}  // namespace chargpt
