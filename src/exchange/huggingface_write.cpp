// Writing; see huggingface.h. What transformers computes is in its files models/{gpt2,llama,qwen3}/modeling_*.py: its
// Conv1D has weights (in, out), its rotary pairs are halves as ours are, and Qwen3 normalises queries and keys before
// it turns them, as we do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/huggingface.h"
#include "exchange/tensor_list.h"
#include "inference/dimensions.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

/// One model's tensors on their way, with the widths that the names do not tell.
struct Writer {
  const ExportedModel& from;
  TensorList& to;

  /// A vector of the model, or where it has none the constant that does the same.
  void vector_or(const std::string& name, const std::string& ours, std::int64_t size, float otherwise) const {
    const auto found = find_parameter(from, ours);
    found ? to.copy(name, *found) : to.constant(name, {size}, otherwise);
  }
  void norm(const std::string& name, const std::string& ours) const {
    vector_or(name + ".weight", ours + ".weight", from.options().n_embd, 1);
  }
};

// ---- GPT-2

/// A linear layer with a bias: theirs has weights (in, out).
void put_conv1d(const Writer& w, const std::string& name, const std::string& ours) {
  const NamedParameter weight = parameter(w.from, ours + ".weight");
  w.to.transposed(name + ".weight", weight);
  w.vector_or(name + ".bias", ours + ".bias", weight.shape.front(), 0);
}

void put_layer_norm(const Writer& w, const std::string& name) {
  w.norm(name, name);
  w.vector_or(name + ".bias", name + ".bias", w.from.options().n_embd, 0);
}

void put_gpt2(const Writer& w) {
  for (const char* name : {"transformer.wte.weight", "transformer.wpe.weight"})
    w.to.copy(name, parameter(w.from, name));
  for (std::int64_t layer = 0; layer < w.from.options().n_layer; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    for (const char* name : {"ln_1", "ln_2"}) put_layer_norm(w, block + name);
    for (const char* name : {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"})
      put_conv1d(w, block + name, block + name);
  }
  put_layer_norm(w, "transformer.ln_f");
  if (!w.from.options().tie_weights) w.to.copy("lm_head.weight", parameter(w.from, "lm_head.weight"));
}

const char* gpt2_activation(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::relu:
      return "relu";
    default:
      return "relu2";
  }
}

Json gpt2_config(const ModelConfig& options) {
  const double residual = std::max(dropout_rate(options, Place::attention_output), dropout_rate(options, Place::mlp));
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"n_embd", options.n_embd},
          {"n_layer", options.n_layer},
          {"n_head", options.n_head},
          {"n_inner", mlp_width(options)},
          {"n_positions", options.block_size},
          {"activation_function", gpt2_activation(options.activation)},
          {"layer_norm_epsilon", options.norm_eps},
          {"scale_attn_weights", options.attention_scale == AttentionScale::head},
          {"embd_pdrop", dropout_rate(options, Place::embedding)},
          {"attn_pdrop", dropout_rate(options, Place::attention)},
          {"resid_pdrop", residual}};
}

// ---- Llama and Qwen3

/// Rows `part` of the three that queries, keys and values are stacked in.
void put_projection(const Writer& w, const std::string& name, const std::string& ours, std::int64_t part) {
  const std::int64_t width = w.from.options().n_head * head_width(w.from.options());
  w.to.rows(name + ".weight", parameter(w.from, ours + ".weight"), part * width, width);
  const auto bias = find_parameter(w.from, ours + ".bias");
  if (bias) w.to.rows(name + ".bias", *bias, part * width, width);
}

bool attention_has_bias(const ModelConfig& options) {
  return has_bias(options, Place::attention) || has_bias(options, Place::attention_output);
}

void put_attention(const Writer& w, const std::string& block, const std::string& ours) {
  const ModelConfig& options = w.from.options();
  std::int64_t part = 0;
  const std::int64_t width = options.n_head * head_width(options);
  for (const std::string name : {"q_proj", "k_proj", "v_proj"}) {
    put_projection(w, block + "self_attn." + name, ours + "attn.c_attn", part++);
    if (attention_has_bias(options) && !has_bias(options, Place::attention))
      w.to.constant(block + "self_attn." + name + ".bias", {width}, 0);
  }
  w.to.copy(block + "self_attn.o_proj.weight", parameter(w.from, ours + "attn.c_proj.weight"));
  if (attention_has_bias(options))
    w.vector_or(block + "self_attn.o_proj.bias", ours + "attn.c_proj.bias", options.n_embd, 0);
  if (!options.qk_norm) return;
  for (const char* name : {"q_norm", "k_norm"})
    w.to.constant(block + "self_attn." + name + ".weight", {head_width(options)}, 1);
}

/// Theirs is down(f(gate) up). swiglu: f is silu. relu2: with one matrix as both, relu(u) u is relu(u)^2.
void put_feed_forward(const Writer& w, const std::string& block, const std::string& ours) {
  const bool gated = w.from.options().activation == Activation::swiglu;
  const auto copy = [&](const std::string& name, const std::string& our_name) {
    w.to.copy(block + "mlp." + name + ".weight", parameter(w.from, ours + "mlp." + our_name + ".weight"));
    if (const auto bias = find_parameter(w.from, ours + "mlp." + our_name + ".bias"))
      w.to.copy(block + "mlp." + name + ".bias", *bias);
  };
  copy("gate_proj", gated ? "c_gate" : "c_fc");
  copy("up_proj", "c_fc");
  copy("down_proj", "c_proj");
}

void put_llama(const Writer& w) {
  w.to.copy("model.embed_tokens.weight", parameter(w.from, "transformer.wte.weight"));
  for (std::int64_t layer = 0; layer < w.from.options().n_layer; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".";
    const std::string ours = "transformer.h." + std::to_string(layer) + ".";
    w.norm(block + "input_layernorm", ours + "ln_1");
    w.norm(block + "post_attention_layernorm", ours + "ln_2");
    put_attention(w, block, ours);
    put_feed_forward(w, block, ours);
  }
  w.norm("model.norm", "transformer.ln_f");
  if (!w.from.options().tie_weights) w.to.copy("lm_head.weight", parameter(w.from, "lm_head.weight"));
}

Json llama_config(const ModelConfig& options) {
  const bool qwen3 = options.qk_norm;
  Json json = {{"architectures", {qwen3 ? "Qwen3ForCausalLM" : "LlamaForCausalLM"}},
               {"model_type", qwen3 ? "qwen3" : "llama"},
               {"hidden_size", options.n_embd},
               {"num_hidden_layers", options.n_layer},
               {"num_attention_heads", options.n_head},
               {"num_key_value_heads", options.n_head},
               {"head_dim", head_width(options)},
               {"intermediate_size", mlp_width(options)},
               {"max_position_embeddings", options.block_size},
               {"hidden_act", options.activation == Activation::swiglu ? "silu" : "relu"},
               {"rms_norm_eps", options.norm_eps},
               {"rope_theta", options.rope_base},  // for transformers 4; 5 reads the next
               {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", options.rope_base}}},
               {"attention_bias", attention_has_bias(options)},
               {"attention_dropout", dropout_rate(options, Place::attention)}};
  qwen3 ? json["use_sliding_window"] = false : json["mlp_bias"] = has_bias(options, Place::mlp);
  return json;
}

// ---- the files

Json config_json(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  const bool gpt2 = nearest_architecture(options) == Architecture::gpt2;
  Json json = gpt2 ? gpt2_config(options) : llama_config(options);
  json["vocab_size"] = model.vocabulary().size();
  json["tie_word_embeddings"] = options.tie_weights;
  json["initializer_range"] = options.init_std;
  json["bos_token_id"] = json["eos_token_id"] = json["pad_token_id"] = nullptr;
  json["use_cache"] = true;
  json["torch_dtype"] = json["dtype"] = "float32";
  return json;
}

/// What `sample` does by itself; top_k 0 is theirs for all symbols too.
Json generation_json(const ExportedModel& model) {
  const SampleConfig& sample = model.config().sample;
  Json json = {{"do_sample", sample.temperature > 0}, {"use_cache", true}};
  if (sample.temperature > 0) {
    json["temperature"] = sample.temperature;
    json["top_k"] = sample.top_k;
    json["top_p"] = sample.top_p;
    if (sample.min_p > 0) json["min_p"] = sample.min_p;
  }
  json["bos_token_id"] = json["eos_token_id"] = json["pad_token_id"] = nullptr;
  return json;
}

Json tokenizer_config_json(const ExportedModel& model) {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"clean_up_tokenization_spaces", false},
          {"model_max_length", model.options().block_size}};
}

std::string card(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  const bool bytes = model.vocabulary().units() == Units::bytes;
  std::string text = "---\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n# " + model.config().name +
                     "\n\nA language model that reads and writes one " + (bytes ? "byte" : "character") +
                     " at a time, trained by chargpt: " + std::to_string(model.state().parameters) + " parameters, " +
                     std::to_string(model.vocabulary().size()) + " symbols, a context of " +
                     std::to_string(options.block_size) + ", " + std::to_string(model.state().step) + " steps.";
  const bool averaged = model.model.weights() == Weights::averaged;
  const double val_loss = averaged ? model.state().averaged_val_loss : model.state().val_loss;
  if (std::isfinite(val_loss)) {
    char loss[32];
    std::snprintf(loss, sizeof loss, "%.4f", val_loss);
    text += std::string(" Validation loss: ") + loss + " nats per " + (bytes ? "byte" : "character") + ".";
  }
  text +=
      "\n\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\ntokenizer = "
      "AutoTokenizer.from_pretrained(FOLDER)\nmodel = AutoModelForCausalLM.from_pretrained(FOLDER)\nids = "
      "tokenizer(PROMPT, return_tensors=\"pt\")\nprint(tokenizer.decode(model.generate(**ids, "
      "max_new_tokens=100)[0]))\n```\n\nA character that is not among its symbols is an error of the tokenizer.\n";
  return text + (options.position == Position::learned
                     ? "Prompt and continuation together fit its context: it has no positions beyond.\n"
                     : "Beyond its context it goes on with positions that it was never trained on.\n");
}

std::string text_of(const Json& json) {
  return json.dump(2) + "\n";
}

}  // namespace

std::vector<std::string> write_huggingface(const ExportedModel& model, OutputFolder& folder) {
  refuse_obstacle(model.options(), obstacle_to_architecture, "--format huggingface");
  TensorList tensors;
  const Writer writer{model, tensors};
  nearest_architecture(model.options()) == Architecture::gpt2 ? put_gpt2(writer) : put_llama(writer);
  folder.write("config.json", text_of(config_json(model)));
  folder.write("generation_config.json", text_of(generation_json(model)));
  folder.write("tokenizer.json", text_of(tokenizer_json(model.vocabulary())));
  folder.write("tokenizer_config.json", text_of(tokenizer_config_json(model)));
  folder.write("README.md", card(model));
  folder.write("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, tensors.views()); });
  return {};
}

}  // namespace chargpt
