// Which row of each n-gram table a position reads. Each n-gram has a row, by its number where the table is large enough
// for all, else by a hash; the row of a position depends on ids up to it alone. Knows no weight.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "inference/window_scorer.h"

namespace chargpt {

struct NgramTable {
  std::int64_t order = 2;  ///< n: the id itself and the n - 1 before it
  std::int64_t rows = 1;
  bool numbered = false;  ///< every n-gram has a row of its own
  std::string parameter;  ///< "transformer.ngram.2.weight"
};

/// The tables of a config, in the order of model.ngram_orders; none by default.
std::vector<NgramTable> ngram_tables(const ModelConfig& config, std::int64_t vocab_size);

/// Factors of the finaliser of MurmurHash3.
constexpr std::uint64_t first_hash_factor = 0xff51afd7ed558ccdU, second_hash_factor = 0xc4ceb9fe1a85ec53U;

/// rows[table][t]: the row of the n-gram that ends at ids[t], one sequence. `before` are the ids before the first; what
/// is missing counts as id vocab_size. Numbered: c + V p1 + V (V + 1) p2 + ..., c the id itself, p1 the one before.
/// Hashed: h = mix(h ^ (id + 1)) from 0 over c, p1, ... in 64 bits, mix the finaliser of MurmurHash3; the row is the
/// upper half of h * rows.
void ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, std::span<const std::int64_t> ids,
                std::span<const std::int64_t> before, std::span<std::int64_t* const> rows);

/// The same for each of the windows: rows[table] (B, T).
void ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, const WindowBatch& windows,
                std::span<std::int64_t* const> rows);

/// The rows of windows, found in memory that it keeps.
class WindowRows {
 public:
  /// Of each table the row of every token, (B, T). Good until the next call.
  std::span<const std::int64_t* const> find(std::span<const NgramTable> tables, std::int64_t vocab_size,
                                            const WindowBatch& windows);

 private:
  std::vector<std::vector<std::int64_t>> rows_;  ///< by table
  std::vector<const std::int64_t*> places_;      ///< where they lie
};

/// The same as ngram_rows() for the last position alone: rows (tables) of the n-gram that ends with `ids`.
void last_ngram_rows(std::span<const NgramTable> tables, std::int64_t vocab_size, std::span<const std::int64_t> ids,
                     std::span<std::int64_t> rows);

}  // namespace chargpt
