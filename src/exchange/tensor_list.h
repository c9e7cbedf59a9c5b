// Tensors on their way into another program's file: a trained parameter as it is, rows of it, turned, or constants.
// Knows no format.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "inference/model.h"

namespace chargpt {

/// The parameters that are added must outlive it.
class TensorList {
 public:
  void copy(const std::string& name, const NamedParameter& parameter);
  /// Rows `first` to `first + count` of a matrix or vector.
  void rows(const std::string& name, const NamedParameter& parameter, std::int64_t first, std::int64_t count);
  /// A matrix (a, b) as (b, a).
  void transposed(const std::string& name, const NamedParameter& parameter);
  void constant(const std::string& name, std::vector<std::int64_t> shape, float value);
  /// Room for values that the caller fills in.
  std::span<float> own(const std::string& name, std::vector<std::int64_t> shape);

  /// In the order in which they were added; all F32.
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::vector<std::vector<float>> memory_;
};

}  // namespace chargpt
