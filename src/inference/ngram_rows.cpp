#include "inference/ngram_rows.h"

#include "inference/dimensions.h"

namespace chargpt {
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

namespace {

/// The finaliser of MurmurHash3: every bit of the result depends on every bit of `h`, and no two `h` share one.
std::uint64_t mix(std::uint64_t h) {
  h = (h ^ h >> 33) * first_hash_factor;
  h = (h ^ h >> 33) * second_hash_factor;
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

void ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, std::span<const std::int64_t> ids,
                std::span<const std::int64_t> before, std::span<std::int64_t* const> rows) {
  const std::int64_t T = std::ssize(ids), P = std::ssize(before);
  for (std::int64_t t = 0; t < T; ++t) {
    const auto past = [&](std::int64_t k) {
      if (t >= k) return static_cast<std::uint64_t>(ids[static_cast<std::size_t>(t - k)]);
      return static_cast<std::uint64_t>(P + t >= k ? before[static_cast<std::size_t>(P + t - k)] : vocab_size);
    };
    rows_of_position(tables, static_cast<std::uint64_t>(vocab_size), past,
                     [&](std::size_t table, std::int64_t row) { rows[table][t] = row; });
  }
}

void ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, const WindowBatch& windows,
                std::span<std::int64_t* const> rows) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(windows.T));
  std::vector<std::int64_t*> of_window(rows.begin(), rows.end());
  for (const std::int64_t start : windows.starts) {
    windows.tokens.copy(start, windows.T, ids.data());
    ngram_rows(tables, vocab_size, ids, {}, of_window);
    for (std::int64_t*& place : of_window) place += windows.T;
  }
}

std::span<const std::int64_t* const> WindowRows::find(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                                      const WindowBatch& windows) {
  rows_.resize(tables.size());
  places_.clear();
  std::vector<std::int64_t*> to;
  for (std::vector<std::int64_t>& rows : rows_) {
    rows.resize(static_cast<std::size_t>(windows.numel()));
    places_.push_back(to.emplace_back(rows.data()));
  }
  if (!tables.empty()) ngram_rows(tables, vocab_size, windows, to);
  return places_;
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

}  // namespace chargpt
