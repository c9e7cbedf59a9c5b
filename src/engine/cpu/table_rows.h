// Which rows of the n-gram tables a step reads, and where their gradients are left for the update. Knows no thread.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "inference/plan.h"
#include "inference/window_scorer.h"
#include "parameters/arena.h"

namespace chargpt::cpu {

class TableRows {
 public:
  explicit TableRows(const Plan& plan) : plan_(plan) {}

  /// Finds the rows for the windows of each micro-batch; nothing to do for a model without tables.
  void find(std::span<const WindowBatch> micro_batches);
  /// Makes room for the gradients of the rows found.
  void reserve_gradients();

  /// As BatchSlice wants them.
  std::span<const std::int64_t* const> rows(std::size_t micro_batch) const { return of(row_places_, micro_batch); }
  std::span<float* const> gradients(std::size_t micro_batch) const { return of(gradient_places_, micro_batch); }

  /// The gradients of rows of sparse tables, one behind the other.
  std::span<float> all_gradients() const;
  /// Names the rows and their gradients to the groups.
  void give_gradients_to(ParameterArena& arena) const;

 private:
  template <class Place>
  std::span<Place const> of(const std::vector<Place>& places, std::size_t micro_batch) const {
    const std::size_t tables = plan_.tables.size();
    return places.empty() ? std::span<Place const>() : std::span(places).subspan(micro_batch * tables, tables);
  }
  torch::Tensor gradients_of(std::size_t table) const;

  const Plan& plan_;
  std::vector<torch::Tensor> rows_;              ///< of each table: (tokens of all micro-batches)
  torch::Tensor gradients_;                      ///< (tables that differ, tokens, width)
  std::vector<std::int64_t> first_tokens_;       ///< of each micro-batch
  std::vector<const std::int64_t*> row_places_;  ///< by micro-batch, then table
  std::vector<float*> gradient_places_;
};

}  // namespace chargpt::cpu
