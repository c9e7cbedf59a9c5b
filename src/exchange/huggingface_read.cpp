// Reading; see huggingface.h. A folder is hostile until read: sizes come from config.json, and nothing is allocated by
// them before a tensor of the file is seen to have them.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_names.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "checkpoint/strict_json.h"
#include "exchange/character_tokenizer.h"
#include "exchange/foreign_tensors.h"
#include "exchange/huggingface.h"
#include "inference/dimensions.h"
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
  void expect(const std::string& name, bool wanted, bool otherwise) const {
    if (flag(name, otherwise) != wanted) refuse(name, "chargpt's models do not compute that");
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    const std::string value =
        object_.has(name) ? json_[name].dump(-1, ' ', true, Json::error_handler_t::replace) : "absent";
    throw Error(ExitCode::data, source_ + ": " + name + " is " + printable(value, 40) + "; " + why);
  }

 private:
  Json json_;
  std::string source_;
  StrictObject object_;
};

/// One layout on its way: options and parameters by our names.
struct Reader {
  const ForeignConfig& config;
  ForeignTensors& tensors;
  const ImportedTokenizer& tokenizer;
  std::int64_t ids;
  std::vector<ImportedTensor> parameters{};

  void keep(ImportedTensor tensor) { parameters.push_back(std::move(tensor)); }
  void copy(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& ours) {
    keep(tensors.read(name, shape, ours));
  }
  /// Rows by symbol, in the order of our ids.
  void symbols(const std::string& name, std::int64_t width, const std::string& ours) {
    keep(in_order(tensors.read(name, {ids, width}, ours), tokenizer.rows));
  }
  void head(const std::string& embedding, std::int64_t width, bool tied) {
    if (!tied) return symbols("lm_head.weight", width, "lm_head.weight");
    if (!tensors.has("lm_head.weight")) return;
    if (tensors.read("lm_head.weight", {ids, width}, "").bytes != tensors.read(embedding, {ids, width}, "").bytes)
      throw Error(ExitCode::data, tensors.source() + ": lm_head.weight differs from " + embedding +
                                      ", and tie_word_embeddings in config.json makes them one");
  }
};

/// Biases of a place that are all zero, and gains that are all one, are what a model without them computes: left out.
void leave_out_idle(std::vector<ImportedTensor>& parameters, ModelConfig model, Options& options) {
  model.bias = model.norm_gain = true;
  std::map<std::string, ParameterInfo> list;
  for (ParameterInfo& info : parameter_list(model, /*vocab_size=*/1)) list[info.name] = std::move(info);
  const auto is = [&](const ImportedTensor& tensor, ParameterRole role, Place place) {
    const auto found = list.find(tensor.name);
    return found != list.end() && found->second.role == role && found->second.place == place;
  };
  /// Whether there were none but idle ones.
  const auto leave_out = [&](ParameterRole role, Place place, float idle) {
    const auto chosen = [&](const ImportedTensor& tensor) { return is(tensor, role, place); };
    const auto is_used = [&](const ImportedTensor& tensor) { return chosen(tensor) && !all_equal(tensor, idle); };
    if (std::ranges::any_of(parameters, is_used)) return false;
    std::erase_if(parameters, chosen);
    return true;
  };
  Options places = Options::array();
  for (const Place place : ModelConfig().bias_places)
    if (!leave_out(ParameterRole::bias, place, 0)) places.push_back(enum_name(place));
  options["bias"] = !places.empty();
  if (!places.empty()) options["bias_places"] = places;
  options["norm_gain"] = !leave_out(ParameterRole::gain, Place::norm, 1);
}

// ---- GPT-2

std::string gpt2_activation(const ForeignConfig& config) {
  const std::string name = config.text("activation_function", "gelu_new");
  if (name == "gelu" || name == "relu" || name == "relu2") return name;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return "gelu_tanh";
  config.refuse("activation_function", "chargpt's models have gelu, gelu_new, relu and relu2");
}

/// The places that drop, and the rate that they share; of different rates the first one counts.
void read_gpt2_dropout(Reader& r, Options& options) {
  const std::pair<const char*, std::vector<const char*>> rates[] = {
      {"embd_pdrop", {"embedding"}}, {"attn_pdrop", {"attention"}}, {"resid_pdrop", {"attention_output", "mlp"}}};
  Options places = Options::array();
  double rate = 0;
  for (const auto& [name, where] : rates) {
    const double one = r.config.real(name, 0.1);
    if (one > 0 && rate == 0) rate = one;
    for (const char* place : where)
      if (one > 0) places.push_back(place);
  }
  options["dropout"] = rate;
  if (!places.empty()) options["dropout_places"] = places;
}

Options read_gpt2_options(Reader& r) {
  const ForeignConfig& config = r.config;
  config.expect("scale_attn_by_inverse_layer_idx", false, false);
  config.expect("add_cross_attention", false, false);
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
  read_gpt2_dropout(r, options);
  return options;
}

void read_conv1d(Reader& r, const std::string& name, std::int64_t in, std::int64_t out) {
  r.keep(transposed(r.tensors.read(name + ".weight", {in, out}, name + ".weight")));
  r.copy(name + ".bias", {out}, name + ".bias");
}

void read_gpt2_parameters(Reader& r, const ModelConfig& model) {
  const std::int64_t C = model.n_embd, H = mlp_width(model);
  r.symbols("transformer.wte.weight", C, "transformer.wte.weight");
  r.copy("transformer.wpe.weight", {model.block_size, C}, "transformer.wpe.weight");
  const auto norm = [&](const std::string& name) {
    for (const char* part : {".weight", ".bias"}) r.copy(name + part, {C}, name + part);
  };
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    norm(block + "ln_1");
    norm(block + "ln_2");
    read_conv1d(r, block + "attn.c_attn", C, 3 * C);
    read_conv1d(r, block + "attn.c_proj", C, C);
    read_conv1d(r, block + "mlp.c_fc", C, H);
    read_conv1d(r, block + "mlp.c_proj", H, C);
    for (const char* mask : {"attn.bias", "attn.masked_bias"}) r.tensors.ignore(block + mask);
  }
  norm("transformer.ln_f");
  r.head("transformer.wte.weight", C, model.tie_weights);
}

// ---- Llama and Qwen3

/// Base of the rotary angles, wherever this version of transformers keeps it.
double rope_base(const ForeignConfig& config) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!config.given(name)) continue;
    const StrictObject rope(config.json()[name], config.source() + ": " + name);
    for (const char* type : {"rope_type", "type"})
      if (rope.has(type) && rope.text(type) != "default") config.refuse(name, "chargpt's rotations are not scaled");
    if (rope.has("partial_rotary_factor") && rope.real("partial_rotary_factor") != 1)
      config.refuse(name, "chargpt turns all features of a head");
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

Options read_llama_options(Reader& r, bool qwen3) {
  const ForeignConfig& config = r.config;
  config.expect("use_sliding_window", false, false);
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
  return options;
}

/// Queries, keys and values below one another. Where several heads share keys and values, each gets a copy.
void read_projections(Reader& r, const ModelConfig& model, const std::string& theirs, const std::string& ours,
                      const std::string& part) {
  const std::int64_t hs = head_width(model), heads = model.n_head;
  const std::int64_t shared = r.config.size("num_key_value_heads", heads);
  if (shared > heads || heads % shared != 0)
    r.config.refuse("num_key_value_heads", "it should divide num_attention_heads = " + std::to_string(heads));
  const auto read = [&](const std::string& name, std::int64_t rows) {
    std::vector<std::int64_t> shape{rows};
    if (part == ".weight") shape.push_back(model.n_embd);
    return r.tensors.read(theirs + name + part, shape, "");
  };
  const ImportedTensor queries = read("q_proj", heads * hs);
  std::vector<std::int64_t> copies;
  for (std::int64_t row = 0; row < heads * hs; ++row) copies.push_back(row / hs / (heads / shared) * hs + row % hs);
  r.keep(
      stacked({queries, in_order(read("k_proj", shared * hs), copies), in_order(read("v_proj", shared * hs), copies)},
              ours + "c_attn" + part));
}

void read_attention(Reader& r, const ModelConfig& model, const std::string& theirs, const std::string& ours) {
  const std::int64_t joined = model.n_head * head_width(model);
  read_projections(r, model, theirs, ours, ".weight");
  r.copy(theirs + "o_proj.weight", {model.n_embd, joined}, ours + "c_proj.weight");
  if (r.config.flag("attention_bias", false)) {
    read_projections(r, model, theirs, ours, ".bias");
    r.copy(theirs + "o_proj.bias", {model.n_embd}, ours + "c_proj.bias");
  }
  if (!model.qk_norm) return;
  for (const char* name : {"q_norm.weight", "k_norm.weight"})
    if (!all_equal(r.tensors.read(theirs + name, {head_width(model)}, ""), 1))
      throw Error(ExitCode::data, r.tensors.source() + ": " + theirs + name +
                                      " is not all ones; chargpt's qk_norm has no gain, so it cannot hold this model");
}

void read_feed_forward(Reader& r, const ModelConfig& model, const std::string& theirs, const std::string& ours) {
  const std::int64_t C = model.n_embd, H = mlp_width(model);
  const bool bias = !model.qk_norm && r.config.flag("mlp_bias", false);
  const auto read = [&](const std::string& name, std::int64_t in, std::int64_t out, const std::string& our_name) {
    r.copy(theirs + name + ".weight", {out, in}, ours + our_name + ".weight");
    if (bias) r.copy(theirs + name + ".bias", {out}, ours + our_name + ".bias");
  };
  read("up_proj", C, H, "c_fc");
  read("down_proj", H, C, "c_proj");
  if (model.activation == Activation::swiglu) return read("gate_proj", C, H, "c_gate");
  const auto same = [&](const std::string& part, const std::vector<std::int64_t>& shape) {
    return r.tensors.read(theirs + "gate_proj" + part, shape, "").bytes ==
           r.tensors.read(theirs + "up_proj" + part, shape, "").bytes;
  };
  if (!same(".weight", {H, C}) || (bias && !same(".bias", {H})))
    throw Error(ExitCode::data, r.tensors.source() + ": " + theirs +
                                    "gate_proj and up_proj differ, and hidden_act is "
                                    "relu; chargpt's gated layers have silu");
}

void read_llama_parameters(Reader& r, const ModelConfig& model) {
  const std::int64_t C = model.n_embd;
  r.symbols("model.embed_tokens.weight", C, "transformer.wte.weight");
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    const std::string theirs = "model.layers." + std::to_string(layer) + ".";
    const std::string ours = "transformer.h." + std::to_string(layer) + ".";
    r.copy(theirs + "input_layernorm.weight", {C}, ours + "ln_1.weight");
    r.copy(theirs + "post_attention_layernorm.weight", {C}, ours + "ln_2.weight");
    read_attention(r, model, theirs + "self_attn.", ours + "attn.");
    read_feed_forward(r, model, theirs + "mlp.", ours + "mlp.");
    r.tensors.ignore(theirs + "self_attn.rotary_emb.inv_freq");
  }
  r.copy("model.norm.weight", {C}, "transformer.ln_f.weight");
  r.head("model.embed_tokens.weight", C, model.tie_weights);
}

// ---- the folder

struct Layout {
  const char *model_type, *name, *prefix;
  Options (*options)(Reader& r);
  void (*parameters)(Reader& r, const ModelConfig& model);
};

constexpr Layout layouts[] = {
    {"gpt2", "GPT-2 of transformers", "transformer.", read_gpt2_options, read_gpt2_parameters},
    {"llama", "Llama of transformers", "model.", [](Reader& r) { return read_llama_options(r, false); },
     read_llama_parameters},
    {"qwen3", "Qwen3 of transformers", "model.", [](Reader& r) { return read_llama_options(r, true); },
     read_llama_parameters}};

const Layout& layout_of(const ForeignConfig& config) {
  const std::string type = config.text("model_type", "");
  const auto found = std::ranges::find_if(layouts, [&](const Layout& layout) { return type == layout.model_type; });
  if (found == std::end(layouts)) config.refuse("model_type", "chargpt reads gpt2, llama and qwen3");
  return *found;
}

/// Where the weights are. Pickles run code when they are read, so none is.
fs::path weights_of(const fs::path& folder) {
  std::error_code ignored;
  const fs::path weights = folder / "model.safetensors";
  if (fs::exists(weights, ignored)) return weights;
  if (fs::exists(folder / "model.safetensors.index.json", ignored))
    throw Error(ExitCode::data, printable_path(folder) +
                                    " has its weights in several files; save them in one: "
                                    "save_pretrained(FOLDER, max_shard_size=\"100GB\")");
  const bool pickle = fs::exists(folder / "pytorch_model.bin", ignored);
  throw Error(ExitCode::missing, printable_path(weights) + " does not exist" +
                                     (pickle ? "; pytorch_model.bin is a pickle, which chargpt never reads: save the "
                                               "model anew with save_pretrained"
                                             : ""));
}

}  // namespace

bool is_huggingface(const fs::path& path) {
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(path / name, ignored); };
  return has("config.json") && has("tokenizer.json") && !is_run(path);
}

ImportedModel read_huggingface(const fs::path& path) {
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  const ForeignConfig config(folder / "config.json");
  const Layout& layout = layout_of(config);
  const std::int64_t ids = config.size("vocab_size");
  if (ids > most_ids) config.refuse("vocab_size", "Unicode has fewer characters");
  const fs::path tokenizer_path = folder / "tokenizer.json", weights = weights_of(folder);
  const ImportedTokenizer tokenizer =
      read_tokenizer(json_at(tokenizer_path, max_tokenizer_file), ids, printable_path(tokenizer_path));
  const SafetensorsFile file(weights);
  ForeignTensors tensors(file, printable_path(weights), layout.prefix);
  Reader reader{config, tensors, tokenizer, ids};
  Options options = layout.options(reader);
  std::string name = name_of_path(folder);
  if (!is_utf8(name)) name = "imported";
  const ModelConfig shape = imported_config({{"model", options}}, name, config.source()).config.model;
  layout.parameters(reader, shape);
  tensors.expect_no_more();
  leave_out_idle(reader.parameters, shape, options);
  ImportedModel model{.config = imported_config({{"model", options}}, name, config.source()),
                      .vocabulary = tokenizer.vocabulary,
                      .parameters = std::move(reader.parameters),
                      .what = layout.name,
                      .notices = tokenizer.notices};
  if (tokenizer.vocabulary.units() == Units::bytes) model.config.config.data.units = Units::bytes;
  return model;
}

}  // namespace chargpt
