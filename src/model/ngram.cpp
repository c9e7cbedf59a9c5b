#include "model/ngram.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "inference/dimensions.h"
#include "model/lazy_zeros.h"

namespace chargpt {

using torch::Tensor;

// ---- rows

std::vector<Tensor> ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, const Tensor& ids,
                               const Tensor& before) {
  if (!ids.is_cpu()) return ngram_rows_by_operations(tables, vocab_size, ids, before);
  const std::int64_t B = ids.size(0), T = ids.size(1), P = before.defined() ? before.size(1) : 0;
  const Tensor here = ids.contiguous(), earlier = P > 0 ? before.contiguous() : before;
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < tables.size(); ++i) rows.push_back(at::empty({B, T}, at::kLong));
  std::vector<std::int64_t*> out(tables.size());
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < tables.size(); ++i) out[i] = rows[i].mutable_data_ptr<std::int64_t>() + b * T;
    const std::int64_t* const then = P > 0 ? earlier.const_data_ptr<std::int64_t>() + b * P : nullptr;
    ngram_rows(tables, vocab_size, std::span(here.const_data_ptr<std::int64_t>() + b * T, static_cast<std::size_t>(T)),
               std::span(then, static_cast<std::size_t>(P)), out);
  }
  return rows;
}

namespace {

/// A shift that brings in zeros; the library's brings in the sign bit.
Tensor shifted(const Tensor& h, std::int64_t bits) {
  return h.bitwise_right_shift(bits).bitwise_and((std::int64_t{1} << (64 - bits)) - 1);
}

Tensor mix(Tensor h) {
  h = h.bitwise_xor(shifted(h, 33)) * static_cast<std::int64_t>(first_hash_factor);
  h = h.bitwise_xor(shifted(h, 33)) * static_cast<std::int64_t>(second_hash_factor);
  return h.bitwise_xor(shifted(h, 33));
}

Tensor reduce(const Tensor& h, std::int64_t rows) {
  const Tensor lower = h.bitwise_and(std::int64_t{0xffffffff}) * rows;
  return shifted(shifted(h, 32) * rows + shifted(lower, 32), 32);
}

/// ids preceded by the `past` ids before them, missing ones as vocab_size: (B, past + T).
Tensor with_past(const Tensor& ids, const Tensor& before, std::int64_t past, std::int64_t vocab_size) {
  const std::int64_t held = before.defined() ? std::min(before.size(1), past) : 0;
  std::vector<Tensor> parts{at::full({ids.size(0), past - held}, vocab_size, ids.options())};
  if (held > 0) parts.push_back(before.narrow(1, before.size(1) - held, held));
  parts.push_back(ids);
  return at::cat(parts, 1);
}

}  // namespace

std::vector<Tensor> ngram_rows_by_operations(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                             const Tensor& ids, const Tensor& before) {
  if (tables.empty()) return {};
  const std::int64_t past = tables.back().order - 1;
  const Tensor all = with_past(ids, before, past, vocab_size);
  Tensor hash = at::zeros_like(ids), number = at::zeros_like(ids);
  std::uint64_t value = 1;
  std::int64_t k = 0;
  std::vector<Tensor> rows;
  for (const NgramTable& table : tables) {
    for (; k < table.order; ++k) {
      const Tensor id = all.narrow(1, past - k, ids.size(1));  // (B, T)
      hash = mix(hash.bitwise_xor(id + 1));
      number = number + id * static_cast<std::int64_t>(value);
      value *= static_cast<std::uint64_t>(k == 0 ? vocab_size : vocab_size + 1);
    }
    rows.push_back(table.numbered ? number : reduce(hash, table.rows));
  }
  return rows;
}

// ---- NgramEmbedding

NgramEmbeddingImpl::NgramEmbeddingImpl(const ModelConfig& config, std::int64_t vocab_size)
    : tables_(ngram_tables(config, vocab_size)), vocab_size_(vocab_size), joined_(has_ngram_projection(config)) {
  const std::int64_t width = ngram_width(config);
  for (const NgramTable& table : tables_)
    embeddings_.push_back(register_module(
        std::to_string(table.order),
        torch::nn::Embedding(torch::nn::EmbeddingOptions(table.rows, width)._weight(lazy_zeros({table.rows, width})))));
}

Tensor NgramEmbeddingImpl::forward(const Tensor& ids) {
  const std::vector<Tensor> rows = ngram_rows(tables_, vocab_size_, ids);  // of each: (B, T)
  std::vector<Tensor> found;
  for (std::size_t i = 0; i < rows.size(); ++i) found.push_back(embeddings_[i](rows[i]));  // (B, T) -> (B, T, width)
  if (joined_) return at::cat(found, -1);
  Tensor sum = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) sum = sum + found[i];
  return sum;
}

NgramProjectionImpl::NgramProjectionImpl(const ModelConfig& config)
    : torch::nn::LinearImpl(
          torch::nn::LinearOptions(static_cast<std::int64_t>(config.ngram_orders.size()) * ngram_width(config),
                                   config.n_embd)
              .bias(false)),
      std(1.0 / std::sqrt(static_cast<double>(ngram_width(config)))) {}

}  // namespace chargpt
