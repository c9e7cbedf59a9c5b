// The tensors of another program's safetensors file as float32 of ours. Knows no architecture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "exchange/imported_model.h"

namespace chargpt {

class ForeignTensors {
 public:
  /// Reads the file; errors as SafetensorsFile. In messages `asking` names the one that tells which tensors it should
  /// have. Every name that is asked for begins with `prefix`, where the file's do.
  ForeignTensors(const std::filesystem::path& path, std::string asking, std::string prefix = "");

  /// Error data where the file has fewer tensors: so many layers are not to be believed.
  void expect_at_least(std::int64_t count) const;
  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Values of a tensor of F32, F16 or BF16, by the name `ours`. Error data unless it is there, of that shape and type,
  /// every number finite.
  OwnTensor read(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& ours);
  /// Named, but not used: buffers, and what is tied to another tensor.
  void ignore(const std::string& name);
  /// After the last. Error data where the file has another tensor.
  void expect_no_more() const;
  const SafetensorsFile& file() const { return file_; }
  const std::string& source() const { return source_; }

 private:
  const TensorView* find(const std::string& name) const;
  SafetensorsFile file_;
  std::string source_, asking_, prefix_;
  std::set<std::string> asked_;
};

/// A matrix (a, b) as (b, a).
OwnTensor transposed(const OwnTensor& matrix);
/// Puts `more`, of equal width, below a matrix or vector.
void append_rows(OwnTensor& tensor, const OwnTensor& more);
/// These rows of a matrix or vector, in this order.
OwnTensor in_order(const OwnTensor& matrix, std::span<const std::int64_t> rows);
/// Whether every number is `value`.
bool all_equal(const OwnTensor& tensor, float value);

}  // namespace chargpt
