// Where another program keeps each of our parameters: one table for each layout, read in both directions; and the
// tensors of its safetensors file as float32 of ours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/layers.h"
#include "network/model.h"
#include "run/safetensors.h"

namespace chargpt {

/// A tensor and its values.
struct OwnTensor {
  std::string name, dtype = "F32";
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  ///< row-major, little-endian
};
/// A tensor of zeros of that shape.
OwnTensor float_tensor(std::string name, std::vector<std::int64_t> shape);
std::span<float> floats(OwnTensor& tensor);
std::span<const float> floats(const OwnTensor& tensor);
std::vector<TensorView> views_of(const std::vector<OwnTensor>& tensors);

/// A layer of ours and its name there; queries, keys and values may have three.
struct LayerNames {
  std::string_view ours;  ///< "attn.c_proj"
  std::array<std::string_view, 3> theirs;
};

struct Layout {
  std::string_view block{};                      ///< "model.layers.": what precedes the number of a block
  std::span<const LayerNames> layers{};          ///< empty: all have the names they have here
  std::vector<std::string_view> buffers{};       ///< of each block, in files of older versions: no parameters
  bool turned = false;                           ///< linear layers have weights (in, out)
  std::array<std::string_view, 2> head_gains{};  ///< of each block, over the features of a head, where ours are 1
};

/// A tensor of theirs and the parameter of ours that it is, or is a part of.
struct LayoutRow {
  std::string theirs;
  Parameter ours;  ///< without a name: a gain that is 1, for which we have no parameter
  std::int64_t part = 0, parts = 1;
  bool turned = false;
};

/// `theirs`: the options of our model that has a parameter wherever theirs has one.
std::vector<LayoutRow> rows_of(const Layout& layout, const ModelConfig& theirs, std::int64_t symbols);

/// What is to be written, row by row. Where the model lacks a gain or a bias, the 1 or 0 that does the same.
std::vector<OwnTensor> tensors_as_theirs(const InferenceModel& model, const std::vector<LayoutRow>& rows);

class ForeignTensors {
 public:
  /// Reads the file; errors as SafetensorsFile. Every name that is asked for begins with `prefix`, where the file's do.
  explicit ForeignTensors(const std::filesystem::path& path, std::string prefix = "");

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
  const std::string& source() const { return source_; }

 private:
  const TensorView* find(const std::string& name) const;
  SafetensorsFile file_;
  std::string source_, prefix_;
  std::set<std::string> asked_;
};

/// Whether every number is `value`.
bool all_equal(const OwnTensor& tensor, float value);

/// How to read: symbols are `symbols[id]` there for our id; `shared_heads` of keys and values belong to `heads`.
struct ReadingOrder {
  std::span<const std::int64_t> symbols;
  std::int64_t heads = 1, shared_heads = 1;
};
/// The parameters that the rows make. Error data where two rows that are one parameter differ, or a constant is not 1;
/// else as ForeignTensors::read.
std::vector<OwnTensor> tensors_as_ours(ForeignTensors& tensors, const std::vector<LayoutRow>& rows,
                                       const ReadingOrder& order);

}  // namespace chargpt
