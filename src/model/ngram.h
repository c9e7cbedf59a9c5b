// Tables of the last n ids: what a short context says is looked up rather than computed. Each n-gram has a row, by its
// number where the table is large enough for all, else by a hash; the row of a position depends on ids up to it alone.
// Knows no training and no text.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "model/language_model.h"

namespace chargpt {

struct NgramTable {
  std::int64_t order = 2;  ///< n: the id itself and the n - 1 before it
  std::int64_t rows = 1;
  bool numbered = false;  ///< every n-gram has a row of its own
  std::string parameter;  ///< "transformer.ngram.2.weight"
};

/// The tables of a config, in the order of model.ngram_orders; none by default.
std::vector<NgramTable> ngram_tables(const ModelConfig& config, std::int64_t vocab_size);
/// Width of their rows: ngram_size, or n_embd.
std::int64_t ngram_width(const ModelConfig& config);
/// Rows that are not n_embd wide are joined and projected; those that are, are summed.
bool has_ngram_projection(const ModelConfig& config);
/// Parameters of all tables and of the projection.
std::int64_t count_ngrams(const ModelConfig& config);

/// The row of the n-gram that ends at each of `ids` (B, T) int64, for each table: (B, T) int64. `before` (B, any) holds
/// the ids before the first, or is undefined; what is missing counts as id vocab_size. Numbered: c + V p1 +
/// V (V + 1) p2 + ..., c the id itself, p1 the one before. Hashed: h = mix(h ^ (id + 1)) from 0 over c, p1, ... in 64
/// bits, mix the finaliser of MurmurHash3; the row is the upper half of h * rows.
std::vector<torch::Tensor> ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                      const torch::Tensor& ids, const torch::Tensor& before = {});

/// The same for the last position of one sequence: rows (tables) of the n-gram that ends with `ids`.
void last_ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, std::span<const std::int64_t> ids,
                     std::span<std::int64_t> rows);

/// The same by the library's operations, on any device: what CUDA runs, and what tests compare with.
std::vector<torch::Tensor> ngram_rows_by_operations(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                                    const torch::Tensor& ids, const torch::Tensor& before = {});

/// Shape: ids (B, T) -> (B, T, C), the sum of every table's row, or where there is a projection (B, T, orders * width),
/// the rows side by side. Parameters: `<order>.weight` (rows, width), zero at first. Source: the n-gram embeddings of
/// recipes known since fastText (Bojanowski et al. 2017), here at the input of a transformer.
class NgramEmbeddingImpl : public torch::nn::Module {
 public:
  NgramEmbeddingImpl(const ModelConfig& config, std::int64_t vocab_size);
  /// Takes the ids before these from `cache`, and leaves these there for the next pass; null: there are none.
  torch::Tensor forward(const torch::Tensor& ids, KeyValueCache* cache);

 private:
  std::vector<NgramTable> tables_;
  std::vector<torch::nn::Embedding> embeddings_;
  std::int64_t vocab_size_;
  bool joined_;
};
TORCH_MODULE(NgramEmbedding);

/// What joins narrow rows to the width of the model. Its first weights are N(0, 1 / width), so that a change of a table
/// moves the model as far as a change of rows that are added: the tables are zero, so neither could learn if this were.
/// Shape: (B, T, orders * width) -> (B, T, C). Parameters: `weight` (C, orders * width).
class NgramProjectionImpl : public torch::nn::LinearImpl {
 public:
  explicit NgramProjectionImpl(const ModelConfig& config);
  double std;
};
TORCH_MODULE(NgramProjection);

}  // namespace chargpt
