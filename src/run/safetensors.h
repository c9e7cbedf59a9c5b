// The safetensors format: 8 bytes of header size, a JSON header, the bytes of the tensors. A file is hostile until
// parsed. No torch. Source: github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace chargpt {

struct TensorView {
  std::string name;
  std::string dtype;  ///< "F32", "F16", "BF16", "I64", …
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major, little-endian; of a file that was read perhaps not aligned: copy it
};

/// A parsed file; the views live as long as it does.
class SafetensorsFile {
 public:
  /// Reads it into memory, where nobody can change it, and parses strictly: tensors lie one after the other and fill
  /// the file, each as long as dtype and shape say. Error missing / io / data naming the file and what is wrong with
  /// it.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// The same of bytes that were read. `source` names them in messages.
  SafetensorsFile(std::string bytes, const std::string& source);
  /// The same from memory that outlives this object (tests, fuzzing); `source` names it in messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& source);
  /// In the order of their bytes.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// nullptr where there is none of that name.
  const TensorView* find(const std::string& name) const;

 private:
  void parse(std::span<const std::byte> bytes, const std::string& source);
  std::unique_ptr<const std::string> bytes_;  ///< in one place, wherever this object is moved
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t> places_;  ///< of names in tensors_
  std::map<std::string, std::string> metadata_;
};

/// "(65, 128)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The tensor of that name. Error data, naming `source`, what is expected and what is there.
const TensorView& expect_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape);

/// Error diverged (80), naming `source` and the tensor, where one of a model's weights is NaN or infinite: whatever is
/// computed from them would be too.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name);

/// After every tensor of a model was found: error data, naming `source`, where the file has another one than
/// `expected`.
void expect_no_more(const SafetensorsFile& file, const std::string& source, const std::set<std::string>& expected);

/// Gives a file's bytes piece by piece, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// The bytes that the reference implementation writes: tensors by alignment, largest first, then by name; the header
/// padded to 8. `__metadata__` always has {"format":"pt"}. Error internal where a tensor's bytes are not those of dtype
/// and shape, or a name is there twice.
void write_safetensors(const ByteSink& sink, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace chargpt
