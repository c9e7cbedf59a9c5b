// Tables of the last n ids as modules: what a short context says is looked up rather than computed. Knows no training
// and no text.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "inference/ngram_rows.h"
#include "model/language_model.h"

namespace chargpt {

/// inference/ngram_rows.h for tensors: the row of the n-gram that ends at each of `ids` (B, T) int64, for each table,
/// (B, T) int64. `before` (B, any) holds the ids before the first, or is undefined.
std::vector<torch::Tensor> ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                      const torch::Tensor& ids, const torch::Tensor& before = {});

/// The same with the library's operations, on any device: what CUDA runs, and what tests compare with.
std::vector<torch::Tensor> ngram_rows_by_operations(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                                    const torch::Tensor& ids, const torch::Tensor& before = {});

/// Shape: ids (B, T) -> (B, T, C), the sum of every table's row, or, with a projection, (B, T, orders * width),
/// the rows side by side. Parameters: `<order>.weight` (rows, width), zero at first. Source: the n-gram embeddings of
/// recipes known since fastText (Bojanowski et al. 2017), here at the input of a transformer.
class NgramEmbeddingImpl : public torch::nn::Module {
 public:
  NgramEmbeddingImpl(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids);

 private:
  std::vector<NgramTable> tables_;
  std::vector<torch::nn::Embedding> embeddings_;
  std::int64_t vocab_size_;
  bool joined_;
};
TORCH_MODULE(NgramEmbedding);

/// Projects the joined narrow rows to the width of the model. Its first weights are N(0, 1 / width), so that changing a
/// table moves the model as far as changing rows that are added. They must not be zero, as the tables are: then neither
/// could learn.
/// Shape: (B, T, orders * width) -> (B, T, C). Parameters: `weight` (C, orders * width).
class NgramProjectionImpl : public torch::nn::LinearImpl {
 public:
  explicit NgramProjectionImpl(const ModelConfig& config);
  double std;
};
TORCH_MODULE(NgramProjection);

}  // namespace chargpt
