// The teaching notebook's random stream: first weights as PyTorch's own constructors draw them, batches and samples,
// and where in it each model begins.
//
// A model's place in the stream depends only on how many numbers were drawn before it, not on what they were used for.
// So every part starts by skipping to its place, and none has to train those before it.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <memory>

#include "model/layers.h"
#include "model/registry.h"
#include "teaching_models.h"
#include "tinyshakespeare.h"
#include "windows_of.h"

namespace chargpt::seed {

/// PyTorch's Linear.reset_parameters: kaiming_uniform(a = sqrt 5), written as PyTorch computes it so that not even the
/// last bit of the bound differs, then the bias.
inline void reset_linear(const torch::Tensor& weight, const torch::Tensor& bias, std::int64_t fan_in,
                         const at::Generator& generator) {
  const double in = static_cast<double>(fan_in);
  const double gain = std::sqrt(2.0 / (1.0 + std::pow(std::sqrt(5.0), 2)));
  const double weight_bound = std::sqrt(3.0) * (gain / std::sqrt(in));
  const double bias_bound = 1.0 / std::sqrt(in);
  if (weight.defined()) weight.uniform_(-weight_bound, weight_bound, generator);
  if (bias.defined()) bias.uniform_(-bias_bound, bias_bound, generator);
}

/// Every module once, parents before children, in the order of registration.
inline void initialise_pytorch(torch::nn::Module& module, const at::Generator& generator) {
  const torch::NoGradGuard no_grad;
  if (auto* embedding = module.as<torch::nn::EmbeddingImpl>()) embedding->weight.normal_(0.0, 1.0, generator);
  if (auto* linear = module.as<torch::nn::LinearImpl>())
    reset_linear(linear->weight, linear->bias, linear->options.in_features(), generator);
  if (auto* head = module.as<HeadImpl>()) reset_linear(head->weight, head->bias, head->n_embd, generator);
  if (auto* norm = module.as<NormLayerImpl>()) norm->reset_parameters();
  for (const auto& child : module.children()) initialise_pytorch(*child, generator);
}

inline constexpr std::int64_t block_size = 8;
inline constexpr std::int64_t batch_size = 128;
inline constexpr std::int64_t steps_per_run = 1000;

inline std::int64_t vocab_size() {
  return tinyshakespeare().vocabulary().size();
}

/// The notebook's stream and what it draws from it, beside first weights.
class Notebook {
 public:
  Notebook() : generator_(at::make_generator<at::CPUGeneratorImpl>(1337)) {}
  const at::Generator& generator() const { return generator_; }

  torch::Tensor offsets(std::int64_t count) {
    return torch::randint(tinyshakespeare().train().size() - block_size, {count}, generator_, torch::kInt64);
  }

  static WindowBatch windows_at(const torch::Tensor& offsets) {
    torch::Tensor ids = torch::empty({offsets.numel(), block_size + 1}, torch::kInt64);
    for (std::int64_t row = 0; row < offsets.numel(); ++row)
      tinyshakespeare().train().copy(offsets[row].item<std::int64_t>(), block_size + 1,
                                     ids[row].data_ptr<std::int64_t>());
    return windows_of(ids);
  }

  WindowBatch batch(std::int64_t count = batch_size) { return windows_at(offsets(count)); }

  /// `count` ids after a newline, each from the distribution of the last position.
  std::vector<std::int64_t> sample(LanguageModel& model, std::int64_t count) {
    const torch::NoGradGuard no_grad;
    auto ids = torch::zeros({1, 1}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto seen = ids.slice(1, std::max<std::int64_t>(0, ids.size(1) - block_size));
      const auto probabilities = torch::softmax(model.forward(seen).select(1, -1), -1);  // (1, V)
      ids = torch::cat({ids, torch::multinomial(probabilities, 1, false, generator_)}, 1);
    }
    return {ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel()};
  }

  void skip_sample(std::int64_t tokens) {
    const auto uniform = torch::full({1, vocab_size()}, 1.0 / static_cast<double>(vocab_size()));
    for (std::int64_t i = 0; i < tokens; ++i) torch::multinomial(uniform, 1, false, generator_);
  }
  /// The two runs of one of the small models, and the sample after them.
  void skip_training(std::int64_t sampled_tokens) {
    for (std::int64_t step = 0; step < 2 * steps_per_run; ++step) offsets(batch_size);
    skip_sample(sampled_tokens);
  }

 private:
  at::Generator generator_;
};

using Model = std::shared_ptr<LanguageModel>;

/// A model of the ladder with its weights drawn where the notebook draws them.
inline Model draw_model(Notebook& notebook, const std::string& rung) {
  auto model = make_model(ladder(rung).model, vocab_size(), /*seed=*/0);
  initialise_pytorch(*model, notebook.generator());
  return model;
}

inline torch::nn::Linear draw_linear(Notebook& notebook, std::int64_t in, std::int64_t out, bool bias) {
  torch::nn::Linear layer(torch::nn::LinearOptions(in, out).bias(bias));
  initialise_pytorch(*layer, notebook.generator());
  return layer;
}

/// Draws the weight and bias of that name.
inline void draw_affine(Notebook& notebook, LanguageModel& model, const std::string& name, std::int64_t in,
                        std::int64_t out) {
  const auto layer = draw_linear(notebook, in, out, /*bias=*/true);
  set_parameter(model, name + ".weight", layer->weight);
  set_parameter(model, name + ".bias", layer->bias);
}

inline torch::Tensor draw_embedding(Notebook& notebook, std::int64_t rows, std::int64_t n_embd) {
  torch::nn::Embedding table(rows, n_embd);
  initialise_pytorch(*table, notebook.generator());
  return table->weight;
}

/// The notebook's order differs from ours in one layer, which it never uses: it is drawn before the head.
inline Model draw_masked(Notebook& notebook) {
  auto model = make_model(ladder("masked").model, vocab_size(), /*seed=*/0);
  set_parameter(*model, "wte.weight", draw_embedding(notebook, vocab_size(), 64));
  set_parameter(*model, "wpe.weight", draw_embedding(notebook, block_size, 64));
  draw_linear(notebook, 64, block_size, /*bias=*/true);
  draw_affine(notebook, *model, "lm_head", 64, vocab_size());
  return model;
}

inline void draw_block(Notebook& notebook, LanguageModel& model, const std::string& prefix) {
  const auto key = draw_linear(notebook, 64, 64, false), query = draw_linear(notebook, 64, 64, false),
             value = draw_linear(notebook, 64, 64, false);
  set_parameter(model, prefix + "attn.c_attn.weight", packed(query->weight, key->weight, value->weight));
  draw_affine(notebook, model, prefix + "mlp.c_fc", 64, 256);
  draw_affine(notebook, model, prefix + "mlp.c_proj", 256, 64);
}

/// Ours packs queries, keys and values, the notebook draws keys, queries, values apart.
inline Model draw_transformer(Notebook& notebook) {
  auto model = make_model(ladder("transformer").model, vocab_size(), /*seed=*/0);
  set_parameter(*model, "transformer.wte.weight", draw_embedding(notebook, vocab_size(), 64));
  set_parameter(*model, "transformer.wpe.weight", draw_embedding(notebook, block_size, 64));
  for (const auto* prefix : {"transformer.h.0.", "transformer.h.1.", "transformer.h.2."})
    draw_block(notebook, *model, prefix);
  draw_affine(notebook, *model, "lm_head", 64, vocab_size());
  return model;
}

// Where each model begins in the stream.

inline Model bigram_in_stream(Notebook& notebook) {
  notebook.offsets(4);
  auto model = draw_model(notebook, "bigram");
  notebook.skip_sample(100);
  return model;
}

inline Model average_in_stream(Notebook& notebook) {
  bigram_in_stream(notebook);
  notebook.skip_training(500);
  return draw_model(notebook, "average");
}

inline Model masked_in_stream(Notebook& notebook) {
  average_in_stream(notebook);
  notebook.skip_training(50);
  return draw_masked(notebook);
}

/// Weights of the small attention example between the two models, and its inputs.
struct SmallAttention {
  torch::nn::Linear query, key, value;
  torch::Tensor inputs;
};

inline SmallAttention small_attention_in_stream(Notebook& notebook) {
  masked_in_stream(notebook);
  notebook.skip_training(500);
  const auto draw = [&] { return draw_linear(notebook, 2, 2, /*bias=*/true); };
  return {draw(), draw(), draw(), torch::randn({4, 2}, notebook.generator())};  // in this order
}

inline Model transformer_in_stream(Notebook& notebook) {
  small_attention_in_stream(notebook);
  return draw_transformer(notebook);
}

}  // namespace chargpt::seed
