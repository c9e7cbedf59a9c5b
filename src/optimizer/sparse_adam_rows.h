// The arithmetic of sparse_adam on plain arrays. Knows no tensor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

struct SparseAdamFactors {
  float beta2, eps;
  float step;  ///< rate * sqrt(1 - beta2^t)
  float kept;  ///< of the weights by decay: 1 - rate * weight_decay
};

/// One touched row and where it occurs: `occurrences` are places in the list of gradients, rising.
struct TouchedRow {
  std::int64_t row;
  std::span<const std::int32_t> occurrences;
};

/// The rows named by a list that may repeat them, rising, each with its places in the list. At most 2^31 - 1 places.
class TouchedRows {
 public:
  explicit TouchedRows(std::span<const std::int64_t> rows);
  std::int64_t size() const { return static_cast<std::int64_t>(distinct_.size()); }
  TouchedRow operator[](std::int64_t i) const;
  const std::vector<std::int64_t>& distinct() const { return distinct_; }

 private:
  std::vector<std::int64_t> distinct_;
  std::vector<std::int32_t> first_, places_;  ///< of distinct row i: places_[first_[i] .. first_[i + 1])
};

/// Updates rows [begin, end) of `touched`; all arrays row-major, `width` wide: values and moment the tables, gradients
/// one row for each place.
void update_rows(const TouchedRows& touched, std::int64_t begin, std::int64_t end, float* values, float* moment,
                 const float* gradients, std::int64_t width, const SparseAdamFactors& factors);

}  // namespace chargpt
