// Maps our parameters to the tensors of another program: one table per layout, used in both directions. Also converts
// the tensors of its safetensors file to our float32.
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

/// A tensor that owns its values.
struct OwnTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  ///< row-major
};
std::vector<TensorView> views_of(const std::vector<OwnTensor>& tensors);

/// The names of a layer: ours and theirs; queries, keys and values may have three names there.
struct LayerNames {
  std::string_view ours;  ///< "attn.c_proj"
  std::array<std::string_view, 3> theirs;
};

struct Layout {
  std::string_view block{};                    ///< "model.layers.": the prefix of the number of a block
  std::span<const LayerNames> layers{};        ///< empty: all names are the same as ours
  std::vector<std::string_view> buffers{};     ///< per block, in files of older versions; not parameters
  bool turned = false;                         ///< linear layers have weights (in, out)
  std::vector<std::string_view> head_gains{};  ///< per block, over the features of a head; ours are 1
};

/// A tensor of theirs and the parameter of ours that contains it.
struct LayoutRow {
  std::string theirs;
  Parameter ours;  ///< empty name: a gain that must be 1, as we lack that parameter
  std::int64_t part = 0, parts = 1;
  bool turned = false;
};

/// All rows of a model. `theirs`: options of our model with a parameter wherever theirs has one.
std::vector<LayoutRow> rows_of(const Layout& layout, const ModelConfig& theirs, std::int64_t symbols);

/// Makes the tensors to write, one per row. Gains and biases that our model lacks become 1 and 0.
std::vector<OwnTensor> tensors_as_theirs(const InferenceModel& model, const std::vector<LayoutRow>& rows);

class ForeignTensors {
 public:
  /// Opens the file; errors as read_safetensors(). `prefix`: the start of tensor names, which the file may omit.
  explicit ForeignTensors(const std::filesystem::path& path, std::string prefix = "");

  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Reads a tensor of F32, F16 or BF16 and names it `ours`. Throws Error data if it is absent or has another shape or
  /// type, diverged if a number is not finite.
  OwnTensor read(const std::string& name, const std::vector<std::int64_t>& shape, const std::string& ours);
  /// Marks a tensor as known but unused, such as a buffer.
  void ignore(const std::string& name);
  /// Call after the last read. Throws Error data if the file has another tensor.
  void expect_no_more() const;
  const std::string& source() const { return file_.source; }

 private:
  const TensorView* find(const std::string& name) const;
  SafetensorsFile file_;
  std::string prefix_;
  std::set<std::string> asked_;
};

/// Our symbol `id` is their row `symbols[id]`; `heads` query heads share `shared_heads` heads of keys and values.
struct ReadingOrder {
  std::span<const std::int64_t> symbols;
  std::int64_t heads = 1, shared_heads = 1;
};
/// Reads the parameters of all rows. Throws Error data if two rows of one parameter differ or a constant gain is not 1;
/// other errors as ForeignTensors::read().
std::vector<OwnTensor> tensors_as_ours(ForeignTensors& tensors, const std::vector<LayoutRow>& rows,
                                       const ReadingOrder& order);

}  // namespace chargpt
