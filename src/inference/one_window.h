// One window of ids as a forward pass takes it: for what looks inside a model. Knows no text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/forward.h"
#include "inference/model.h"
#include "kernels/buffers.h"

namespace chargpt::cpu {

/// The ids and the model's packed weights; must stay where it is.
class OneWindow {
 public:
  /// Of 1 to block_size ids. Error internal for another number of ids, or an id that the model does not have.
  OneWindow(const InferenceModel& model, std::span<const std::int64_t> ids);
  OneWindow(const OneWindow&) = delete;
  OneWindow& operator=(const OneWindow&) = delete;

  const WeightPointers& weights() const { return weights_; }
  const BatchSlice& slice() const { return slice_; }

 private:
  std::vector<std::uint32_t> ids_;
  std::int64_t start_ = 0;
  AlignedFloats packed_;
  WeightPointers weights_;
  BatchSlice slice_;
};

}  // namespace chargpt::cpu
