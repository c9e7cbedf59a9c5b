// Reading; see formats.h. A folder is hostile until read: sizes come from config.json, and nothing is allocated by
// them before a tensor of the file is seen to have them.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/formats.h"
#include "exchange/layout.h"
#include "inference/parameter_list.h"
#include "run/run_files.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Options = nlohmann::ordered_json;

constexpr std::uint64_t max_config_file = 1 << 20, max_tokenizer_file = 64 << 20;
constexpr std::int64_t most_ids = 0x110000;

Json json_at(const fs::path& path, std::uint64_t most) {
  return parse_strict_json(read_regular_file(path, most, Links::follow), printable_path(path));
}

/// config.json: what is not given has transformers' default.
class ForeignConfig {
 public:
  explicit ForeignConfig(const fs::path& path)
      : json_(json_at(path, max_config_file)), source_(printable_path(path)), object_(json_, source_) {}

  const std::string& source() const { return source_; }
  const Json& json() const { return json_; }
  bool given(const std::string& name) const { return object_.has(name) && !json_[name].is_null(); }
  std::int64_t size(const std::string& name, std::int64_t otherwise = 0) const {
    if (!given(name) && otherwise > 0) return otherwise;
    const std::int64_t size = object_.integer(name, 1);
    constexpr std::int64_t largest = 1 << 30;
    if (size > largest) refuse(name, "sizes go up to " + std::to_string(largest));
    return size;
  }
  double real(const std::string& name, double otherwise) const { return given(name) ? object_.real(name) : otherwise; }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return given(name) ? object_.text(name) : otherwise;
  }
  bool flag(const std::string& name, bool otherwise) const {
    if (!given(name)) return otherwise;
    if (!json_[name].is_boolean()) refuse(name, "it should be true or false");
    return json_[name].get<bool>();
  }
  /// Error data: what this option asks for, chargpt's models do not compute.
  void expect_off(const std::string& name) const {
    if (flag(name, false)) refuse(name, "chargpt's models do not compute that");
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    const std::string value =
        object_.has(name) ? json_[name].dump(-1, ' ', true, Json::error_handler_t::replace) : "absent";
    throw Error(ExitCode::data, source_, ": ", name, " is ", printable(value, 40), "; ", why);
  }

 private:
  Json json_;
  std::string source_;
  StrictObject object_;
};

/// Biases of a place that are all zero, and gains that are all one, are what a model without them computes: left out.
void leave_out_idle(std::vector<OwnTensor>& parameters, const ModelConfig& theirs, Options& options) {
  std::map<std::string, ParameterInfo> list;
  for (ParameterInfo& info : parameter_list(theirs, /*vocab_size=*/1)) list[info.name] = std::move(info);
  /// Whether there were none but idle ones.
  const auto leave_out = [&](ParameterRole role, Place place, float idle) {
    const auto chosen = [&](const OwnTensor& tensor) {
      const ParameterInfo& info = list.at(tensor.name);
      return info.role == role && info.place == place;
    };
    const auto is_used = [&](const OwnTensor& tensor) { return chosen(tensor) && !all_equal(tensor, idle); };
    if (std::ranges::any_of(parameters, is_used)) return false;
    std::erase_if(parameters, chosen);
    return true;
  };
  Options places = Options::array();
  for (const Place place : ModelConfig().bias_places)
    if (!leave_out(ParameterRole::bias, place, 0)) places.push_back(enum_name(place));
  options["bias"] = !places.empty();
  options.erase("bias_places");
  if (!places.empty()) options["bias_places"] = places;
  options["norm_gain"] = !leave_out(ParameterRole::gain, Place::norm, 1);
}

// ---- GPT-2

std::string gpt2_activation(const ForeignConfig& config) {
  const std::string name = config.text("activation_function", "gelu_new");
  const auto found = std::ranges::find(gpt2_activations, name, &Gpt2Activation::theirs);
  if (found == std::end(gpt2_activations))
    config.refuse("activation_function", "chargpt's models have gelu, gelu_new, relu and relu2");
  return std::string(enum_name(found->ours));
}

/// The places that drop, and the rate that they share; of different rates the first one counts.
void read_gpt2_dropout(const ForeignConfig& config, Options& options) {
  const std::pair<const char*, std::vector<const char*>> rates[] = {
      {"embd_pdrop", {"embedding"}}, {"attn_pdrop", {"attention"}}, {"resid_pdrop", {"attention_output", "mlp"}}};
  Options places = Options::array();
  double rate = 0;
  for (const auto& [name, where] : rates) {
    const double one = config.real(name, 0.1);
    if (one > 0 && rate == 0) rate = one;
    for (const char* place : where)
      if (one > 0) places.push_back(place);
  }
  options["dropout"] = rate;
  if (!places.empty()) options["dropout_places"] = places;
}

Options read_gpt2_options(const ForeignConfig& config) {
  config.expect_off("scale_attn_by_inverse_layer_idx");
  config.expect_off("add_cross_attention");
  const std::int64_t width = config.size("n_embd", 768);
  Options options = {{"type", "gpt"},
                     {"n_layer", config.size("n_layer", 12)},
                     {"n_head", config.size("n_head", 12)},
                     {"n_embd", width},
                     {"block_size", config.size("n_positions", 1024)},
                     {"norm", "layernorm"},
                     {"norm_eps", config.real("layer_norm_epsilon", 1e-5)},
                     {"position", "learned"},
                     {"activation", gpt2_activation(config)},
                     {"attention_scale", config.flag("scale_attn_weights", true) ? "head" : "none"},
                     {"tie_weights", config.flag("tie_word_embeddings", true)}};
  if (const std::int64_t inner = config.size("n_inner", 4 * width); inner != 4 * width) options["mlp_size"] = inner;
  read_gpt2_dropout(config, options);
  return options;
}

// ---- Llama and Qwen3

/// Base of the rotary angles, wherever this version of transformers keeps it.
double rope_base(const ForeignConfig& config) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!config.given(name)) continue;
    const StrictObject rope(config.json()[name], config.source() + ": " + name);
    for (const char* type : {"rope_type", "type"})
      if (rope.has(type) && rope.text(type) != "default") config.refuse(name, "chargpt has no RoPE scaling");
    if (rope.has("partial_rotary_factor") && rope.real("partial_rotary_factor") != 1)
      config.refuse(name, "chargpt rotates every feature pair");
    if (rope.has("rope_theta")) return rope.real("rope_theta");
  }
  return config.real("rope_theta", 10000);
}

/// silu gates; relu with one matrix as gate and value is relu squared, which the tensors must confirm.
std::string llama_activation(const ForeignConfig& config) {
  const std::string name = config.text("hidden_act", "silu");
  if (name == "silu" || name == "swish") return "swiglu";
  if (name == "relu") return "relu2";
  config.refuse("hidden_act", "chargpt's gated layers have silu, or relu where gate_proj and up_proj are equal");
}

/// With biases wherever theirs has them.
Options read_llama_options(const ForeignConfig& config) {
  const bool qwen3 = config.text("model_type", "") == "qwen3";
  config.expect_off("use_sliding_window");
  const std::int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads");
  const std::int64_t head = config.size("head_dim", qwen3 ? 128 : std::max<std::int64_t>(1, width / heads));
  const std::int64_t inner = config.size("intermediate_size");
  Options options = {{"type", "gpt"},
                     {"n_layer", config.size("num_hidden_layers")},
                     {"n_head", heads},
                     {"n_embd", width},
                     {"block_size", config.size("max_position_embeddings")},
                     {"norm", "rmsnorm"},
                     {"norm_eps", config.real("rms_norm_eps", 1e-6)},
                     {"position", "rope"},
                     {"rope_base", rope_base(config)},
                     {"qk_norm", qwen3},
                     {"activation", llama_activation(config)},
                     {"tie_weights", config.flag("tie_word_embeddings", false)},
                     {"dropout", config.real("attention_dropout", 0)},
                     {"dropout_places", {"attention"}}};
  if (head * heads != width || width % heads != 0) options["head_size"] = head;
  if (inner != 4 * width) options["mlp_size"] = inner;
  Options& places = options["bias_places"] = Options::array();
  if (config.flag("attention_bias", false)) places.push_back("attention");
  if (!qwen3 && config.flag("mlp_bias", false)) places.push_back("mlp");
  options["bias"] = !places.empty();
  return options;
}

// ---- chargpt

/// Options have the names and the spelling that they have here.
Options read_own_options(const ForeignConfig& config) {
  Options options = {{"type", "gpt"}, {"tie_weights", config.flag("tie_word_embeddings", true)}};
  const Options defaults = to_json(Config())["model"];
  for (const auto& [option, value] : defaults.items())
    if (!options.contains(option) && config.given(option)) options[option] = config.json()[option];
  return options;
}

std::int64_t read_shared_heads(const ForeignConfig& config, std::int64_t heads) {
  const std::int64_t shared = config.size("num_key_value_heads", heads);
  if (shared > heads || heads % shared != 0)
    config.refuse("num_key_value_heads", line_of("it should divide num_attention_heads = ", heads));
  return shared;
}

// ---- the folder

struct ModelType {
  Architecture architecture;
  const char *name, *prefix;
  Options (*options)(const ForeignConfig& config);
};

constexpr ModelType model_types[] = {{Architecture::gpt2, "GPT-2 of transformers", "transformer.", read_gpt2_options},
                                     {Architecture::llama, "Llama of transformers", "model.", read_llama_options},
                                     {Architecture::qwen3, "Qwen3 of transformers", "model.", read_llama_options},
                                     {Architecture::chargpt, "a model of chargpt", "", read_own_options}};

const ModelType& type_of(const ForeignConfig& config) {
  const std::string type = config.text("model_type", "");
  const auto found =
      std::ranges::find_if(model_types, [&](const ModelType& one) { return type == enum_name(one.architecture); });
  if (found == std::end(model_types)) config.refuse("model_type", "chargpt reads gpt2, llama, qwen3 and its own");
  return *found;
}

/// Where the weights are. Pickles run code when they are read, so none is.
fs::path weights_of(const fs::path& folder) {
  const fs::path weights = folder / "model.safetensors";
  if (is_there(weights)) return weights;
  if (is_there(folder / "model.safetensors.index.json"))
    throw Error(
        ExitCode::data, folder,
        " has its weights in several files; save them in one: save_pretrained(FOLDER, max_shard_size=\"100GB\")");
  const bool pickle = is_there(folder / "pytorch_model.bin");
  throw Error(ExitCode::missing, weights, " does not exist",
              pickle ? "; pytorch_model.bin is a pickle, which chargpt never reads: save the model anew with "
                       "save_pretrained"
                     : "");
}

std::vector<OwnTensor> read_parameters(const fs::path& path, const ForeignConfig& config, const std::string& prefix,
                                       const ModelConfig& theirs, Architecture architecture,
                                       const ImportedSymbols& tokenizer) {
  ForeignTensors tensors(path, "config.json", prefix);
  tensors.expect_at_least(theirs.n_layer);
  std::vector<LayoutRow> rows = rows_in_transformers(theirs, architecture, std::ssize(tokenizer.rows));
  if (theirs.tie_weights && tensors.has("lm_head.weight")) {
    rows.push_back(rows.front());
    rows.back().theirs = "lm_head.weight";
  }
  for (std::int64_t layer = 0; layer < theirs.n_layer; ++layer) {  // buffers
    tensors.ignore(line_of("transformer.h.", layer, ".attn.bias"));
    tensors.ignore(line_of("transformer.h.", layer, ".attn.masked_bias"));
    tensors.ignore(line_of("model.layers.", layer, ".self_attn.rotary_emb.inv_freq"));
  }
  std::vector<OwnTensor> parameters = tensors_as_ours(
      tensors, rows,
      {.symbols = tokenizer.rows, .heads = theirs.n_head, .shared_heads = read_shared_heads(config, theirs.n_head)});
  tensors.expect_no_more();
  return parameters;
}

}  // namespace

bool is_huggingface(const fs::path& path) {
  return is_there(path / "config.json") && is_there(path / "tokenizer.json") && !is_run(path);
}

ImportedModel read_huggingface(const fs::path& path) {
  const fs::path folder = without_final_slash(path);
  const ForeignConfig config(folder / "config.json");
  const ModelType& type = type_of(config);
  const std::int64_t ids = config.size("vocab_size");
  if (ids > most_ids) config.refuse("vocab_size", "Unicode has fewer characters");
  const fs::path tokenizer_path = folder / "tokenizer.json", weights = weights_of(folder);
  const ImportedSymbols tokenizer =
      read_tokenizer(json_at(tokenizer_path, max_tokenizer_file), ids, printable_path(tokenizer_path));
  Options options = type.options(config);
  const ModelConfig theirs =
      in_transformers(imported_config({{"model", options}}, folder, config.source()).config.model, type.architecture);
  std::vector<OwnTensor> parameters =
      read_parameters(weights, config, type.prefix, theirs, type.architecture, tokenizer);
  if (type.architecture != Architecture::chargpt) leave_out_idle(parameters, theirs, options);
  ImportedModel model{.config = imported_config({{"model", options}}, folder, config.source()),
                      .vocabulary = tokenizer.vocabulary,
                      .parameters = std::move(parameters),
                      .what = type.name,
                      .notices = tokenizer.notices};
  if (tokenizer.vocabulary.units() == Units::bytes) model.config.config.data.units = Units::bytes;
  return model;
}

}  // namespace chargpt
