// Writing; see huggingface.h.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/huggingface.h"
#include "exchange/huggingface_layout.h"
#include "exchange/model_card.h"
#include "inference/dimensions.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

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
               {"attention_bias", has_bias(in_transformers(options, nearest_architecture(options)), Place::attention)},
               {"attention_dropout", dropout_rate(options, Place::attention)}};
  qwen3 ? json["use_sliding_window"] = false : json["mlp_bias"] = has_bias(options, Place::mlp);
  return json;
}

/// The options of modeling_chargpt.py are ours, without those that only training knows.
Json own_config(const Config& config) {
  Json json = to_json(config)["model"];
  for (const char* left_out : {"type", "causal", "tie_weights", "init", "init_std", "residual_init", "decay"})
    json.erase(left_out);
  json["architectures"] = {"ChargptForCausalLM"};
  json["model_type"] = "chargpt";
  json["auto_map"] = {{"AutoConfig", "modeling_chargpt.ChargptConfig"},
                      {"AutoModelForCausalLM", "modeling_chargpt.ChargptForCausalLM"}};
  return json;
}

// ---- the files

/// The id between documents begins and ends a text; there is no padding.
void put_special_tokens(const ExportedModel& model, Json& json) {
  const std::int64_t document = model.vocabulary().document();
  json["bos_token_id"] = json["eos_token_id"] = document < 0 ? Json() : Json(document);
  json["pad_token_id"] = nullptr;
}

Json config_json(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  const Architecture architecture = architecture_of(options);
  Json json = architecture == Architecture::chargpt ? own_config(model.config())
              : architecture == Architecture::gpt2  ? gpt2_config(options)
                                                    : llama_config(options);
  json["vocab_size"] = model.vocabulary().size();
  json["tie_word_embeddings"] = options.tie_weights;
  json["initializer_range"] = options.init_std;
  put_special_tokens(model, json);
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
  put_special_tokens(model, json);
  return json;
}

Json tokenizer_config_json(const ExportedModel& model) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"clean_up_tokenization_spaces", false},
               {"model_max_length", model.options().block_size}};
  if (model.vocabulary().document() >= 0) json["bos_token"] = json["eos_token"] = document_token;
  return json;
}

}  // namespace

std::vector<std::string> write_huggingface(const ExportedModel& model, OutputFolder& folder) {
  refuse_obstacle(model.options(), obstacle_to_gpt, "--format huggingface");
  const Architecture architecture = architecture_of(model.options());
  const std::vector<OwnTensor> tensors = tensors_as_theirs(
      model,
      rows_in_transformers(in_transformers(model.options(), architecture), architecture, model.vocabulary().size()));
  folder.write("config.json", json_text(config_json(model)));
  folder.write("generation_config.json", json_text(generation_json(model)));
  folder.write("tokenizer.json", json_text(tokenizer_json(model.vocabulary())));
  folder.write("tokenizer_config.json", json_text(tokenizer_config_json(model)));
  folder.write("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, views_of(tensors)); });
  folder.write("README.md", model_card(model));
  folder.write("chargpt.json", json_text(config_to_train(model)));
  if (architecture != Architecture::chargpt) return {};
  folder.write("modeling_chargpt.py", modeling_chargpt());
  return {
      "transformers has no class for this model: the folder brings its own, modeling_chargpt.py, so loading it takes "
      "trust_remote_code=True"};
}

}  // namespace chargpt
