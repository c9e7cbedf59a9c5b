#include "model/initialise.h"

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <unordered_set>

#include "model/layers.h"

namespace chargpt {

using torch::Tensor;

namespace {

/// Every module once, parents before children, in the order of registration.
template <class Visitor>
void walk(torch::nn::Module& module, Visitor&& visit) {
  visit(module);
  for (const auto& child : module.children()) walk(*child, visit);
}

/// PyTorch's Linear.reset_parameters: kaiming_uniform(a = sqrt 5), written as PyTorch computes it so that not even the
/// last bit of the bound differs, then the bias.
void reset_linear(const Tensor& weight, const Tensor& bias, std::int64_t fan_in, const at::Generator& generator) {
  const double in = static_cast<double>(fan_in);
  const double gain = std::sqrt(2.0 / (1.0 + std::pow(std::sqrt(5.0), 2)));
  const double weight_bound = std::sqrt(3.0) * (gain / std::sqrt(in));
  const double bias_bound = 1.0 / std::sqrt(in);
  if (weight.defined()) weight.uniform_(-weight_bound, weight_bound, generator);
  if (bias.defined()) bias.uniform_(-bias_bound, bias_bound, generator);
}

void draw_normal(const Tensor& weight, const Tensor& bias, double std, const at::Generator& generator) {
  if (weight.defined()) weight.normal_(0.0, std, generator);
  if (bias.defined()) bias.zero_();
}

/// The layers whose output is added to the residual stream.
std::unordered_set<const torch::nn::Module*> residual_layers(torch::nn::Module& module) {
  std::unordered_set<const torch::nn::Module*> layers;
  walk(module, [&](torch::nn::Module& m) {
    const auto* block = m.as<BlockImpl>();
    if (block == nullptr) return;
    if (!block->attn->c_proj.is_empty()) layers.insert(block->attn->c_proj.get());
    if (!block->mlp.is_empty()) layers.insert(block->mlp->c_proj.get());
  });
  return layers;
}

/// 2 L branches are summed into the residual stream: scaled keeps its variance near that of one.
double residual_std(const ModelConfig& config) {
  switch (config.residual_init) {
    case ResidualInit::scaled:
      return config.init_std / std::sqrt(2.0 * static_cast<double>(config.n_layer));
    case ResidualInit::zero:
      return 0.0;
    case ResidualInit::plain:
      return config.init_std;
  }
  TORCH_INTERNAL_ASSERT(false, "residual initialisation without a row here");
}

}  // namespace

void initialise_pytorch(torch::nn::Module& module, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  walk(module, [&](torch::nn::Module& m) {
    if (auto* embedding = m.as<torch::nn::EmbeddingImpl>()) embedding->weight.normal_(0.0, 1.0, generator);
    if (auto* linear = m.as<torch::nn::LinearImpl>())
      reset_linear(linear->weight, linear->bias, linear->options.in_features(), generator);
    if (auto* head = m.as<HeadImpl>()) reset_linear(head->weight, head->bias, head->n_embd, generator);
    if (auto* norm = m.as<NormLayerImpl>()) norm->reset_parameters();
  });
}

void initialise_gpt2(torch::nn::Module& module, const ModelConfig& config, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  const auto residual = residual_layers(module);
  const auto std_of = [&](torch::nn::Module& m) {
    return residual.contains(&m) ? residual_std(config) : config.init_std;
  };
  walk(module, [&](torch::nn::Module& m) {
    if (auto* embedding = m.as<torch::nn::EmbeddingImpl>()) embedding->weight.normal_(0.0, config.init_std, generator);
    if (auto* linear = m.as<torch::nn::LinearImpl>()) draw_normal(linear->weight, linear->bias, std_of(m), generator);
    if (auto* head = m.as<HeadImpl>()) draw_normal(head->weight, head->bias, config.init_std, generator);
    if (auto* norm = m.as<NormLayerImpl>()) norm->reset_parameters();
  });
}

}  // namespace chargpt
