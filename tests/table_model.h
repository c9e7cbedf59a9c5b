// A model with a table: a symbol's own row, and that of the pair it makes with the one before.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "engine/engine.h"

namespace chargpt {

/// ids (B, T) -> logits (B, T, V): head(wte[id] + table[row]), row = 2 id + t mod 2 of `rows`, the upper half of which
/// nothing reaches.
class TableModel : public LanguageModel {
 public:
  explicit TableModel(std::int64_t rows = 40, std::int64_t width = 5) : LanguageModel({}, 7) {
    const torch::NoGradGuard no_grad;
    wte = register_module("wte", torch::nn::Embedding(7, width));
    table = register_module("table", torch::nn::Embedding(rows, width));
    head = register_module("head", torch::nn::Linear(torch::nn::LinearOptions(width, 7).bias(false)));
    for (torch::Tensor& parameter : parameters())
      parameter.copy_(torch::sin(torch::arange(1, parameter.numel() + 1, torch::kFloat32)).view(parameter.sizes()));
    table->weight.zero_();
  }
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& /*context*/ = {}) override {
    const torch::Tensor rows = 2 * ids + torch::arange(ids.size(1)) % 2;
    return head(wte(ids) + table(rows));  // (B, T) -> (B, T, V)
  }

  torch::nn::Embedding wte{nullptr}, table{nullptr};
  torch::nn::Linear head{nullptr};
};

/// The table in a group of `rule`, the rest as by default.
inline TrainConfig table_config(UpdateRule rule, double rate = 0.1, double decay = 0) {
  TrainConfig train;
  train.groups = {
      {.match = "table", .learning_rate = rate, .weight_decay = decay, .optimizer = rule, .momentum = 0.95}};
  return train;
}

}  // namespace chargpt
