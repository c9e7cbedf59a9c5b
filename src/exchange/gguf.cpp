// See formats.h. What llama.cpp computes is in its files src/models/{gpt2,llama,qwen3}.cpp. Its llama turns pairs of
// neighbours where ours and its qwen3 turn halves of a head. The vocabulary is of its kind "rwkv", which takes the
// longest token that fits and has no special ones but those that are named: its others make tokens 1 and 2 the ends of
// a text, or know bytes only.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/quote.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/formats.h"
#include "exchange/layout.h"
#include "network/model_types.h"

namespace chargpt {
namespace {

constexpr std::uint32_t gguf_version = 3, type_f32 = 0;
constexpr std::size_t alignment = 32;
constexpr std::int32_t normal_token = 1, control_token = 3;  ///< of llama_token_type; the latter is not printed

/// The format's numbers for the types of metadata.
enum class Type : std::uint32_t { uint32 = 4, int32 = 5, float32 = 6, boolean = 7, string = 8, array = 9 };

std::size_t aligned(std::size_t size) {
  return (size + alignment - 1) / alignment * alignment;
}

/// Bytes in the order of the processor, which is little-endian wherever chargpt is built.
class Bytes {
 public:
  /// A number; or a text, behind its length.
  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      put<std::uint64_t>(value.size());
      bytes_.append(value);
    } else {
      const std::size_t end = bytes_.size();
      bytes_.resize(end + sizeof value);
      std::memcpy(bytes_.data() + end, &value, sizeof value);
    }
  }
  void pad() { bytes_.resize(aligned(bytes_.size())); }
  std::span<const std::byte> view() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

class Metadata {
 public:
  void size(std::string_view key, std::int64_t value) { put(key, Type::uint32, static_cast<std::uint32_t>(value)); }
  void real(std::string_view key, double value) { put(key, Type::float32, static_cast<float>(value)); }
  void flag(std::string_view key, bool value) { put(key, Type::boolean, static_cast<std::uint8_t>(value)); }
  void text(std::string_view key, std::string_view value) { put(key, Type::string, value); }
  template <class Value>
  void list(std::string_view key, Type of, const std::vector<Value>& values) {
    put(key, Type::array, of);
    bytes_.put<std::uint64_t>(values.size());
    for (const Value& value : values) bytes_.put(value);
  }
  std::uint64_t count() const { return count_; }
  std::span<const std::byte> view() const { return bytes_.view(); }

 private:
  template <class Value>
  void put(std::string_view key, Type type, const Value& value) {
    bytes_.put(key);
    bytes_.put(type);
    bytes_.put(value);
    ++count_;
  }

  Bytes bytes_;
  std::uint64_t count_ = 0;
};

// ---- metadata

/// A symbol as the tokens of "rwkv" are spelled: a backslash begins an escape.
std::string spelled(std::string_view symbol) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char character : symbol) {
    const auto byte = static_cast<unsigned char>(character);
    const bool part_of_utf8 = byte >= 0x80 && symbol.size() > 1;
    if (character == '\\')
      text += "\\\\";
    else if ((byte >= 0x20 && byte < 0x7F) || part_of_utf8)
      text += character;
    else
      text += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
  }
  return text;
}

void put_vocabulary(const Vocabulary& vocabulary, Metadata& metadata) {
  std::vector<std::string> tokens;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(spelled(vocabulary.symbol(id)));
  const bool documents = vocabulary.document() >= 0;
  if (documents) tokens.back() = document_token;
  metadata.text("tokenizer.ggml.model", "rwkv");
  metadata.list("tokenizer.ggml.tokens", Type::string, tokens);
  metadata.flag("tokenizer.ggml.add_bos_token", documents);
  metadata.flag("tokenizer.ggml.add_eos_token", false);
  if (!documents) return;
  std::vector<std::int32_t> types(tokens.size(), normal_token);
  types.back() = control_token;
  metadata.list("tokenizer.ggml.token_type", Type::int32, types);
  metadata.size("tokenizer.ggml.bos_token_id", vocabulary.document());
  metadata.size("tokenizer.ggml.eos_token_id", vocabulary.document());
}

Metadata metadata_of(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  const Architecture architecture = nearest_architecture(options);
  const std::string name(enum_name(architecture));
  Metadata metadata;
  metadata.text("general.architecture", name);
  metadata.text("general.name", model.config().name);
  metadata.size("general.file_type", type_f32);
  metadata.size(name + ".context_length", options.block_size);
  metadata.size(name + ".embedding_length", options.n_embd);
  metadata.size(name + ".block_count", options.n_layer);
  metadata.size(name + ".feed_forward_length", mlp_width(options));
  metadata.size(name + ".attention.head_count", options.n_head);
  metadata.size(name + ".attention.head_count_kv", options.n_head);
  if (architecture == Architecture::gpt2) {
    metadata.real(name + ".attention.layer_norm_epsilon", options.norm_eps);
  } else {
    metadata.real(name + ".attention.layer_norm_rms_epsilon", options.norm_eps);
    metadata.size(name + ".attention.key_length", head_width(options));
    metadata.size(name + ".attention.value_length", head_width(options));
    metadata.size(name + ".rope.dimension_count", head_width(options));
    metadata.real(name + ".rope.freq_base", options.rope_base);
  }
  put_vocabulary(model.vocabulary(), metadata);
  return metadata;
}

// ---- tensors

constexpr LayerNames gpt2_layers[] = {{"wte", {"token_embd"}},          {"wpe", {"position_embd"}},
                                      {"ln_1", {"attn_norm"}},          {"attn.c_attn", {"attn_qkv"}},
                                      {"attn.c_proj", {"attn_output"}}, {"ln_2", {"ffn_norm"}},
                                      {"mlp.c_fc", {"ffn_up"}},         {"mlp.c_proj", {"ffn_down"}},
                                      {"ln_f", {"output_norm"}},        {"lm_head", {"output"}}};
constexpr LayerNames llama_layers[] = {
    {"wte", {"token_embd"}},          {"ln_1", {"attn_norm"}},      {"attn.c_attn", {"attn_q", "attn_k", "attn_v"}},
    {"attn.c_proj", {"attn_output"}}, {"ln_2", {"ffn_norm"}},       {"mlp.c_fc", {"ffn_up"}},
    {"mlp.c_gate", {"ffn_gate"}},     {"mlp.c_proj", {"ffn_down"}}, {"ln_f", {"output_norm"}},
    {"lm_head", {"output"}}};

std::vector<OwnTensor> tensors_of(const ExportedModel& model) {
  const Architecture architecture = nearest_architecture(model.options());
  const bool gpt2 = architecture == Architecture::gpt2;
  ModelConfig theirs = model.options();
  theirs.norm_gain = true;
  if (gpt2) theirs.bias = true, theirs.bias_places = ModelConfig().bias_places;
  Layout layout{.block = "blk.",
                .layers = gpt2 ? std::span<const LayerNames>(gpt2_layers) : llama_layers,
                .paired = architecture == Architecture::llama};
  if (architecture == Architecture::qwen3) layout.head_gains = {"attn_q_norm", "attn_k_norm"};
  return tensors_as_theirs(model.model, rows_of(layout, theirs, model.vocabulary().size()));
}

// ---- the file

/// Dimensions are named from the fastest to the slowest, and every tensor begins at a multiple of the alignment.
Bytes header_of(const Metadata& metadata, const std::vector<TensorView>& tensors) {
  Bytes header;
  for (const char character : {'G', 'G', 'U', 'F'}) header.put(character);
  header.put(gguf_version);
  header.put<std::uint64_t>(tensors.size());
  header.put(metadata.count());
  for (const std::byte byte : metadata.view()) header.put(byte);
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    header.put(tensor.name);
    header.put(static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i-- > 0;) header.put(static_cast<std::uint64_t>(tensor.shape[i]));
    header.put(type_f32);
    header.put(offset);
    offset += aligned(tensor.bytes.size());
  }
  header.pad();
  return header;
}

void write_file(const ByteSink& sink, const Bytes& header, const std::vector<TensorView>& tensors) {
  sink(header.view());
  const std::vector<std::byte> zeros(alignment);
  for (const TensorView& tensor : tensors) {
    sink(tensor.bytes);
    sink(std::span(zeros).first(aligned(tensor.bytes.size()) - tensor.bytes.size()));
  }
}

/// What llama.cpp computes less than transformers.
std::optional<std::string> obstacle_to_llama_cpp(const ModelConfig& config) {
  const Architecture architecture = nearest_architecture(config);
  if (const auto obstacle = obstacle_to(config, architecture)) return obstacle;
  const auto becomes = [&](const char* option, const nlohmann::ordered_json& value) {
    return obstacle_line(config, option, line_of(enum_name(architecture), " of llama.cpp"), value);
  };
  const bool gpt2 = architecture == Architecture::gpt2;
  const bool gelu = config.activation == Activation::gelu || config.activation == Activation::gelu_tanh;
  if (gpt2 && !gelu) return becomes("activation", "gelu");
  if (!gpt2 && config.activation != Activation::swiglu) return becomes("activation", "swiglu");
  if (config.attention_scale != AttentionScale::head) return becomes("attention_scale", "head");
  if (architecture == Architecture::qwen3 && has_bias(config, Place::attention_output))
    return becomes("bias_places", {"attention"});
  return std::nullopt;
}

}  // namespace

std::vector<std::string> write_gguf(const ExportedModel& model, OutputFolder& folder) {
  refuse_obstacle(obstacle_to_llama_cpp(model.options()));
  const std::vector<OwnTensor> tensors = tensors_of(model);
  const std::vector<TensorView> views = views_of(tensors);
  const Bytes header = header_of(metadata_of(model), views);
  folder.write("model.gguf", [&](const ByteSink& sink) { write_file(sink, header, views); });
  std::vector<std::string> notices;
  if (model.options().activation == Activation::gelu)
    notices.emplace_back("llama.cpp computes gelu by its tanh form, which changes log-probabilities by some 0.001");
  if (const std::int64_t document = model.vocabulary().document(); document >= 0)
    notices.push_back(line_of("token ", document, " begins and ends each document; llama.cpp's tokenizer leaves it to ",
                              "the program to put it before a prompt"));
  return notices;
}

}  // namespace chargpt
