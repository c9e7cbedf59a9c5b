// Dropout whose masks are a pure function of their key: a resumed step drops what the first one dropped, and evaluation
// disturbs no stream. Knows no layer.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "model/language_model.h"

namespace chargpt {

/// Float32 mask on the CPU, 0 with probability `rate` and else 1 / (1 - rate): element i takes word i mod 4 of Philox
/// block i / 4 under (seed, layer), so that the number of threads makes no difference. `first`: the element that the
/// mask begins with, of a larger one.
torch::Tensor dropout_mask(torch::IntArrayRef shape, double rate, std::uint64_t seed, std::uint32_t layer,
                           std::int64_t first = 0);

/// On other devices than the CPU masks come from the device's own generator, in the order of the calls: sets it to
/// where the masks of `key` begin. Before each forward pass with dropout, or each repeat of one that was recorded.
void seed_dropout(const torch::Device& device, const DropoutKey& key);

/// The dropout of one forward pass: its n-th call draws the n-th mask of the key, on the CPU by dropout_mask. Source:
/// Srivastava et al. (2014), in the inverted form that leaves evaluation alone.
class DropoutPass {
 public:
  /// Null: no dropout; every call returns its input. The key must outlive it.
  explicit DropoutPass(const DropoutKey* key = nullptr) : key_(key) {}
  bool drops(double rate) const { return key_ != nullptr && rate > 0; }
  torch::Tensor operator()(const torch::Tensor& x, double rate);

 private:
  const DropoutKey* key_;
  std::uint32_t layer_ = 0;
};

}  // namespace chargpt
