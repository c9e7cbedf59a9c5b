// The safetensors format: 8 bytes of header size, a JSON header, the bytes of the tensors. A file is untrusted input
// until it is parsed. Independent of LibTorch. Source: github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace chargpt {

struct TensorView {
  std::string name;
  std::string dtype;  ///< "F32", "F16", "BF16", "I64", …
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major, little-endian; may be unaligned in a file that was read: copy it
};

/// Tensors by name, in the order of their bytes. Another object owns the bytes.
class Tensors {
 public:
  void add(TensorView tensor);
  bool empty() const { return all_.empty(); }
  const std::vector<TensorView>& all() const { return all_; }
  /// Returns nullptr if there is no tensor of that name.
  const TensorView* find(const std::string& name) const;

 private:
  std::vector<TensorView> all_;
  std::map<std::string, std::size_t> indices_;  ///< from a name to its index in all_
};

/// Tensors that only a resumed training reads; they come last in a checkpoint.
inline constexpr std::string_view optimizer_prefix = "optimizer.";

/// How much of a file to read: the header, all before the optimizer's tensors, or the whole file.
enum class FilePart { header, weights, all };

/// A parsed file. The tensors must fill it without gaps, each as long as its dtype and shape say. Errors: missing; io;
/// data, naming the file and the fault.
class SafetensorsFile {
 public:
  SafetensorsFile() = default;
  /// Copies the file into memory, where no other process can change it.
  explicit SafetensorsFile(const std::filesystem::path& path, FilePart part = FilePart::all,
                           Links links = Links::follow);
  /// Parses bytes that must outlive this object. `source`: their name in messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& source);

  /// The tensors that were read.
  const Tensors& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// All bytes that were read: header size, header, tensors.
  std::string_view bytes() const { return bytes_; }
  /// The JSON header alone.
  std::string_view header() const { return header_; }

 private:
  struct Entry;
  std::vector<Entry> parse(std::string_view start, std::uint64_t data_bytes, const std::string& source);
  static void check_layout(std::span<const Entry> entries, std::uint64_t data_bytes, const std::string& source);
  void take(std::string_view bytes, std::size_t start, std::vector<Entry> entries);
  std::unique_ptr<const std::string> own_;  ///< its address stays when this object moves
  std::string_view bytes_, header_;
  Tensors tensors_;
  std::map<std::string, std::string> metadata_;
};

/// "(65, 128)".
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The tensor `name`. Error data, naming `source` and both shapes, if it is missing or has another dtype or shape.
const TensorView& expect_tensor(const Tensors& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape);

/// Error diverged (80), naming `source` and the tensor, if one of a model's weights is NaN or infinite: every result
/// would be, too.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name);

/// Error data, naming `source`, if the file has a tensor that is not in `expected`. Call it after all of a model's
/// tensors were found.
void expect_no_more(const Tensors& file, const std::string& source, const std::set<std::string>& expected);

/// Sorts tensors as the reference implementation writes them: by alignment, largest first, then by name.
std::vector<TensorView> reference_order(std::span<const TensorView> tensors);

/// The header size and header of a file with these tensors in this order, padded to a multiple of 8 bytes.
/// `__metadata__` always contains {"format":"pt"}. Error internal if a tensor's size contradicts its dtype and shape,
/// or a name occurs twice.
std::string safetensors_header(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata);

// The metadata of chargpt's own files has a format number, other fields (text or JSON), and two checksums: CRC-32 (as
// in zlib) in eight hexadecimal digits, computed while both fields are zeros.
inline constexpr const char* sum_of_read = "crc_read";  ///< of all before the optimizer's first tensor
inline constexpr const char* sum_of_all = "crc_all";    ///< of the whole file

/// A newer program wrote the file. Older checkpoints may be readable, but the user meant this one.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// safetensors_header() with format number and checksums in the metadata.
std::string checked_header(std::span<const TensorView> tensors, std::map<std::string, std::string> metadata);
/// Checks the format number and the checksums of what was read. Errors, naming `source`: NewerFormat; data if the
/// format is unknown or a checksum is missing or different.
void check_own(const SafetensorsFile& file, FilePart read, const std::string& source);
/// A field of the metadata. Error data, naming `source`, if it is missing or, for own_json, not strict JSON.
const std::string& own_text(const SafetensorsFile& file, const std::string& name, const std::string& source);
nlohmann::json own_json(const SafetensorsFile& file, const std::string& name, const std::string& source);

/// Writes a header from safetensors_header() or checked_header(), and the tensors that it describes.
void write_safetensors(const ByteSink& sink, std::string_view header, std::span<const TensorView> tensors);
/// Writes these tensors with safetensors_header(tensors, metadata).
void write_safetensors(const ByteSink& sink, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace chargpt
