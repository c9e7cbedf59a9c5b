#include "optimizer/sparse_adam_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace chargpt {
namespace {

/// Sum of a row's gradients in the order of their places; its own where there is one only.
const float* summed(const TouchedRow& touched, const float* gradients, std::size_t width, std::vector<float>& sum) {
  const float* const first = gradients + static_cast<std::size_t>(touched.occurrences.front()) * width;
  if (touched.occurrences.size() == 1) return first;
  std::copy_n(first, width, sum.data());
  for (const std::int32_t place : touched.occurrences.subspan(1)) {
    const float* const row = gradients + static_cast<std::size_t>(place) * width;
    for (std::size_t i = 0; i < width; ++i) sum[i] += row[i];
  }
  return sum.data();
}

/// Asks for a row of a table before it is needed: rows lie anywhere, and waiting for memory is most of the work.
void prefetch(const float* row, std::size_t width) {
  constexpr std::size_t floats_of_a_cache_line = 16;
  for (std::size_t i = 0; i < width; i += floats_of_a_cache_line) __builtin_prefetch(row + i, 1);
}

void update_row(float* __restrict values, float* __restrict moment, const float* __restrict gradient, std::size_t width,
                const SparseAdamFactors& factors) {
  for (std::size_t i = 0; i < width; ++i) {
    const float g = gradient[i];
    const float v = factors.beta2 * moment[i] + (1 - factors.beta2) * g * g;
    moment[i] = v;
    values[i] = factors.kept * values[i] - factors.step * g / (std::sqrt(v) + factors.eps);
  }
}

}  // namespace

TouchedRows::TouchedRows(std::span<const std::int64_t> rows) {
  std::vector<std::pair<std::int64_t, std::int32_t>> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = {rows[i], static_cast<std::int32_t>(i)};
  std::sort(order.begin(), order.end());
  places_.reserve(order.size());
  for (const auto& [row, place] : order) {
    if (distinct_.empty() || distinct_.back() != row) {
      distinct_.push_back(row);
      first_.push_back(static_cast<std::int32_t>(places_.size()));
    }
    places_.push_back(place);
  }
  first_.push_back(static_cast<std::int32_t>(places_.size()));
}

TouchedRow TouchedRows::operator[](std::int64_t i) const {
  const auto k = static_cast<std::size_t>(i);
  const auto first = static_cast<std::size_t>(first_[k]), last = static_cast<std::size_t>(first_[k + 1]);
  return {distinct_[k], std::span(places_).subspan(first, last - first)};
}

void update_rows(const TouchedRows& touched, std::int64_t begin, std::int64_t end, float* values, float* moment,
                 const float* gradients, std::int64_t width, const SparseAdamFactors& factors) {
  const auto w = static_cast<std::size_t>(width);
  std::vector<float> sum(w);
  constexpr std::int64_t ahead = 3;
  for (std::int64_t i = begin; i < end; ++i) {
    const TouchedRow row = touched[i];
    const std::size_t offset = static_cast<std::size_t>(row.row) * w;
    if (i + ahead < end) {
      const std::size_t next = static_cast<std::size_t>(touched[i + ahead].row) * w;
      prefetch(values + next, w);
      prefetch(moment + next, w);
    }
    update_row(values + offset, moment + offset, summed(row, gradients, w, sum), w, factors);
  }
}

}  // namespace chargpt
