#include "model/ngram.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "model/lazy_zeros.h"

namespace chargpt {

using torch::Tensor;

namespace {

/// Whether (V + 1)^(order - 1) * V n-grams, the older ids perhaps missing, have a row each.
bool fits(std::int64_t order, std::int64_t rows, std::int64_t vocab_size) {
  double ngrams = static_cast<double>(vocab_size);  // exact as far as any number of rows goes
  for (std::int64_t n = 1; n < order; ++n) ngrams *= static_cast<double>(vocab_size + 1);
  return ngrams <= static_cast<double>(rows);
}

}  // namespace

std::vector<NgramTable> ngram_tables(const ModelConfig& config, std::int64_t vocab_size) {
  std::vector<NgramTable> tables;
  for (std::size_t i = 0; i < config.ngram_orders.size(); ++i) {
    const std::int64_t order = config.ngram_orders[i], rows = config.ngram_rows[i];
    tables.push_back(
        {order, rows, fits(order, rows, vocab_size), "transformer.ngram." + std::to_string(order) + ".weight"});
  }
  return tables;
}

std::int64_t ngram_width(const ModelConfig& config) {
  return config.ngram_size != 0 ? config.ngram_size : config.n_embd;
}

bool has_ngram_projection(const ModelConfig& config) {
  return !config.ngram_orders.empty() && ngram_width(config) != config.n_embd;
}

std::int64_t count_ngrams(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const std::int64_t rows : config.ngram_rows) count += rows * ngram_width(config);
  if (has_ngram_projection(config))
    count += config.n_embd * ngram_width(config) * static_cast<std::int64_t>(config.ngram_orders.size());
  return count;
}

// ---- rows

namespace {

constexpr std::uint64_t first_factor = 0xff51afd7ed558ccdU, second_factor = 0xc4ceb9fe1a85ec53U;

/// The finaliser of MurmurHash3: every bit of the result depends on every bit of `h`, and no two `h` share one.
std::uint64_t mix(std::uint64_t h) {
  h = (h ^ h >> 33) * first_factor;
  h = (h ^ h >> 33) * second_factor;
  return h ^ h >> 33;
}

/// h scaled from 64 bits to [0, rows): the upper half of the product (Lemire 2019). rows < 2^32.
std::uint64_t reduce(std::uint64_t h, std::uint64_t rows) {
  return ((h >> 32) * rows + ((h & 0xffffffffU) * rows >> 32)) >> 32;
}

/// Rows of one position for all tables, by put(table, row): `past(k)` is the id k places back.
template <class Past, class Put>
void rows_of_position(std::span<const NgramTable> tables, std::uint64_t vocab_size, const Past& past, const Put& put) {
  std::uint64_t hash = 0, number = 0, value = 1;
  std::int64_t k = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (; k < tables[i].order; ++k) {
      const std::uint64_t id = past(k);
      hash = mix(hash ^ (id + 1));
      number += id * value;
      value *= k == 0 ? vocab_size : vocab_size + 1;
    }
    put(i, static_cast<std::int64_t>(tables[i].numbered ? number
                                                        : reduce(hash, static_cast<std::uint64_t>(tables[i].rows))));
  }
}

}  // namespace

std::vector<Tensor> ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, const Tensor& ids,
                               const Tensor& before) {
  if (!ids.is_cpu()) return ngram_rows_by_operations(tables, vocab_size, ids, before);
  const std::int64_t B = ids.size(0), T = ids.size(1), P = before.defined() ? before.size(1) : 0;
  const Tensor here = ids.contiguous(), earlier = before.defined() ? before.contiguous() : before;
  const std::int64_t* const now = here.const_data_ptr<std::int64_t>();
  const std::int64_t* const then = P > 0 ? earlier.const_data_ptr<std::int64_t>() : nullptr;
  std::vector<Tensor> rows;
  std::vector<std::int64_t*> out;
  for (std::size_t i = 0; i < tables.size(); ++i)
    out.push_back(rows.emplace_back(at::empty({B, T}, at::kLong)).mutable_data_ptr<std::int64_t>());
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t) {
      const auto past = [&](std::int64_t k) -> std::uint64_t {
        if (t >= k) return static_cast<std::uint64_t>(now[b * T + t - k]);
        return static_cast<std::uint64_t>(P + t >= k ? then[b * P + P + t - k] : vocab_size);
      };
      rows_of_position(tables, static_cast<std::uint64_t>(vocab_size), past,
                       [&](std::size_t i, std::int64_t row) { out[i][b * T + t] = row; });
    }
  return rows;
}

void last_ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, std::span<const std::int64_t> ids,
                     std::span<std::int64_t> rows) {
  const auto past = [&](std::int64_t k) {
    return static_cast<std::uint64_t>(k < std::ssize(ids) ? ids[ids.size() - 1 - static_cast<std::size_t>(k)]
                                                          : vocab_size);
  };
  rows_of_position(tables, static_cast<std::uint64_t>(vocab_size), past,
                   [&](std::size_t i, std::int64_t row) { rows[i] = row; });
}

namespace {

/// A shift that brings in zeros; the library's brings in the sign.
Tensor shifted(const Tensor& h, std::int64_t bits) {
  return h.bitwise_right_shift(bits).bitwise_and((std::int64_t{1} << (64 - bits)) - 1);
}

Tensor mix(Tensor h) {
  h = h.bitwise_xor(shifted(h, 33)) * static_cast<std::int64_t>(first_factor);
  h = h.bitwise_xor(shifted(h, 33)) * static_cast<std::int64_t>(second_factor);
  return h.bitwise_xor(shifted(h, 33));
}

Tensor reduce(const Tensor& h, std::int64_t rows) {
  const Tensor lower = h.bitwise_and(std::int64_t{0xffffffff}) * rows;
  return shifted(shifted(h, 32) * rows + shifted(lower, 32), 32);
}

/// ids with those before them, `past` in all, missing ones as vocab_size: (B, past + T).
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

Tensor NgramEmbeddingImpl::forward(const Tensor& ids, KeyValueCache* cache) {
  const std::vector<Tensor> rows =
      ngram_rows(tables_, vocab_size_, ids, cache != nullptr ? cache->last_ids : Tensor());  // of each: (B, T)
  if (cache != nullptr) {
    const Tensor seen = cache->last_ids.defined() ? at::cat({cache->last_ids, ids}, 1) : ids;
    const std::int64_t held = std::min(seen.size(1), tables_.back().order - 1);
    cache->last_ids = seen.narrow(1, seen.size(1) - held, held);
  }
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
