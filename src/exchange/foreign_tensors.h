// The tensors of another program's safetensors file as float32 of ours. Knows no architecture.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "exchange/imported_model.h"

namespace chargpt {

class ForeignTensors {
 public:
  /// `source` names the file in messages. Every name that is asked for begins with `prefix`, where the file's do.
  ForeignTensors(const SafetensorsFile& file, std::string source, std::string prefix);

  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Values of a tensor of F32, F16 or BF16, by the name `ours`. Error data unless it is there, of that shape and type,
  /// every number finite.
  ImportedTensor read(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& ours);
  /// Named, but not used: buffers, and what is tied to another tensor.
  void ignore(const std::string& name);
  /// After the last. Error data where the file has another tensor.
  void expect_no_more() const;
  const std::string& source() const { return source_; }

 private:
  const TensorView* find(const std::string& name) const;
  const SafetensorsFile& file_;
  std::string source_, prefix_;
  std::set<std::string> asked_;
};

/// A matrix (a, b) as (b, a).
ImportedTensor transposed(const ImportedTensor& matrix);
/// Tensors of equal width below one another.
ImportedTensor stacked(const std::vector<ImportedTensor>& parts, const std::string& name);
/// These rows of a matrix or vector, in this order.
ImportedTensor in_order(const ImportedTensor& matrix, const std::vector<std::int64_t>& rows);
/// Whether every number is `value`.
bool all_equal(const ImportedTensor& tensor, float value);

}  // namespace chargpt
