#include "engine/cpu/table_rows.h"

#include <ATen/ops/empty.h>

#include "inference/ngram_rows.h"

namespace chargpt::cpu {

void TableRows::find(std::span<const WindowBatch> micro_batches) {
  if (plan_.tables.empty()) return;
  first_tokens_.assign(1, 0);
  for (const WindowBatch& windows : micro_batches) first_tokens_.push_back(first_tokens_.back() + windows.numel());
  rows_.clear();
  for (std::size_t table = 0; table < plan_.tables.size(); ++table)
    rows_.push_back(at::empty({first_tokens_.back()}, at::kLong));
  row_places_.clear();
  for (std::size_t batch = 0; batch < micro_batches.size(); ++batch) {
    std::vector<std::int64_t*> places;
    for (const torch::Tensor& rows : rows_)
      places.push_back(rows.mutable_data_ptr<std::int64_t>() + first_tokens_[batch]);
    ngram_rows(plan_.ngrams, plan_.vocab_size, micro_batches[batch], places);
    row_places_.insert(row_places_.end(), places.begin(), places.end());
  }
}

/// Rows that are added have one gradient in all tables: one buffer is enough.
void TableRows::reserve_gradients() {
  if (plan_.tables.empty()) return;
  const bool projected = plan_.ngram_proj.out > 0;
  const std::int64_t tokens = first_tokens_.back();
  const std::int64_t buffers = projected ? std::ssize(plan_.tables) : 1;
  if (!gradients_.defined() || gradients_.size(1) != tokens)
    gradients_ = at::zeros({buffers, tokens, plan_.ngram_width});
  gradient_places_.clear();
  for (std::size_t batch = 0; batch + 1 < first_tokens_.size(); ++batch) {
    bool taken = false;
    for (std::size_t table = 0; table < plan_.tables.size(); ++table) {
      const bool leaves = plan_.tables[table].sparse && (projected || !taken);
      taken = taken || leaves;
      gradient_places_.push_back(
          leaves ? gradients_of(table).mutable_data_ptr<float>() + first_tokens_[batch] * plan_.ngram_width : nullptr);
    }
  }
}

torch::Tensor TableRows::gradients_of(std::size_t table) const {
  return gradients_[plan_.ngram_proj.out > 0 ? static_cast<std::int64_t>(table) : 0];
}

std::span<float> TableRows::all_gradients() const {
  if (!gradients_.defined()) return {};
  return {gradients_.mutable_data_ptr<float>(), static_cast<std::size_t>(gradients_.numel())};
}

void TableRows::give_gradients_to(ParameterArena& arena) const {
  for (std::size_t table = 0; table < plan_.tables.size(); ++table)
    if (plan_.tables[table].sparse)
      arena.groups()[static_cast<std::size_t>(plan_.tables[table].weight.group)].table->gradient = {
          .rows = rows_[table], .values = gradients_of(table)};
}

}  // namespace chargpt::cpu
