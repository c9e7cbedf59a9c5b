// Writing; see formats.h. nanoGPT's model has GPT-2's layout with our names and shapes.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "exchange/architecture.h"
#include "exchange/formats.h"
#include "exchange/layout.h"
#include "inference/dimensions.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

/// Its biases and its dropout are everywhere or nowhere.
std::optional<Obstacle> obstacle_to_places(const ModelConfig& config) {
  for (const Place place : {Place::attention, Place::attention_output, Place::mlp, Place::norm})
    if (config.bias && !has_bias(config, place))
      return Obstacle{"bias_places", "nanoGPT has biases in attention, its output, mlp and norm, or none"};
  for (const Place place : {Place::embedding, Place::attention, Place::attention_output, Place::mlp})
    if (config.dropout > 0 && dropout_rate(config, place) == 0)
      return Obstacle{"dropout_places", "nanoGPT drops at the embedding, attention, its output and mlp, or nowhere"};
  return std::nullopt;
}

std::optional<Obstacle> obstacle_to_nanogpt(const ModelConfig& config) {
  if (config.type == "gpt" && config.position != Position::learned)
    return Obstacle{"position", "nanoGPT's positions are learned"};
  if (const auto obstacle = obstacle_to_architecture(config)) return obstacle;
  if (config.activation != Activation::gelu) return Obstacle{"activation", "nanoGPT's is gelu"};
  if (mlp_width(config) != 4 * config.n_embd) return Obstacle{"mlp_size", "nanoGPT's is 4 * n_embd"};
  if (!config.norm_gain) return Obstacle{"norm_gain", "nanoGPT's norms have gains, which it would train"};
  if (config.norm_eps != 1e-5) return Obstacle{"norm_eps", "nanoGPT's is 1e-5"};
  if (config.attention_scale != AttentionScale::head)
    return Obstacle{"attention_scale", "nanoGPT scales scores by the head size"};
  if (!config.tie_weights) return Obstacle{"tie_weights", "nanoGPT's head is its token embedding"};
  return obstacle_to_places(config);
}

/// Why AdamW of nanoGPT cannot go on with the moments; empty where it can.
std::string reason_without_moments(const ExportedModel& model) {
  const Config& config = model.config();
  if (model.model.weights() == Weights::averaged) return "the averaged weights have none (--weights trained have)";
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

Json config_of_train_py(const ExportedModel& model) {
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

Json model_args(const ExportedModel& model) {
  const ModelConfig& options = model.options();
  return {{"n_layer", options.n_layer},       {"n_head", options.n_head}, {"n_embd", options.n_embd},
          {"block_size", options.block_size}, {"bias", options.bias},     {"vocab_size", model.vocabulary().size()},
          {"dropout", options.dropout}};
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

std::vector<std::string> write_nanogpt(const ExportedModel& model, OutputFolder& folder) {
  if (model.vocabulary().document() >= 0)
    throw Error(
        ExitCode::usage,
        "--format nanogpt cannot hold this model: its text has documents, and meta.pkl has no token that begins "
        "and ends them; huggingface and gguf have one");
  refuse_obstacle(model.options(), obstacle_to_nanogpt, "--format nanogpt");
  if (model.vocabulary().units() == Units::bytes)
    throw Error(
        ExitCode::usage,
        "--format nanogpt cannot hold this model: data.units = \"bytes\", and the symbols of meta.pkl are characters");
  Json symbols = Json::array();
  for (const char32_t character : model.vocabulary().code_points()) symbols.push_back(utf8_of(character));
  const std::vector<OwnTensor> tensors =
      tensors_as_theirs(model.model, rows_of({}, model.options(), model.vocabulary().size()));
  std::vector<std::string> notices = differences(model);
  const std::string without = reason_without_moments(model);
  if (!without.empty()) notices.push_back("no state of an optimizer, so train.py cannot go on: " + without);
  folder.write("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, views_of(tensors)); });
  if (without.empty())
    folder.write("optimizer.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, moments_of(model)); });
  folder.write("nanogpt.json", json_text({{"format", "nanogpt"},
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
