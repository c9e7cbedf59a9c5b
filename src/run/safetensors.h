// The safetensors format: 8 bytes of header size, a JSON header, the bytes of the tensors. A file is hostile until
// parsed. No torch. Source: github.com/huggingface/safetensors, "Format".
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
  std::span<const std::byte> bytes;  ///< row-major, little-endian; of a file that was read perhaps not aligned: copy it
};

/// Tensors by name, in the order of their bytes, which belong to somebody else.
class Tensors {
 public:
  void add(TensorView tensor);
  bool empty() const { return all_.empty(); }
  const std::vector<TensorView>& all() const { return all_; }
  /// nullptr if there is none of that name.
  const TensorView* find(const std::string& name) const;

 private:
  std::vector<TensorView> all_;
  std::map<std::string, std::size_t> indices_;  ///< of names in all_
};

/// Tensors of a checkpoint that are read only to continue a training; they come last in its file.
inline constexpr std::string_view optimizer_prefix = "optimizer.";

/// How much of a file is read: its header; also what precedes the optimizer's tensors; or all of it.
enum class FilePart { header, weights, all };

/// A parsed file. Strict: the tensors fill the file without gaps, each as long as its dtype and shape say. Errors:
/// missing, io, data naming the file and what is wrong with it.
class SafetensorsFile {
 public:
  SafetensorsFile() = default;
  /// Reads it into memory, where nobody can change it.
  explicit SafetensorsFile(const std::filesystem::path& path, FilePart part = FilePart::all,
                           Links links = Links::follow);
  /// Memory that outlives this object. `source` names it in messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& source);

  /// Those that were read.
  const Tensors& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// All that was read: the size of the header, the header, the tensors.
  std::string_view bytes() const { return bytes_; }
  /// The header alone.
  std::string_view header() const { return header_; }

 private:
  struct Entry;
  std::vector<Entry> parse(std::string_view start, std::uint64_t data_bytes, const std::string& source);
  static void check_layout(std::span<const Entry> entries, std::uint64_t data_bytes, const std::string& source);
  void take(std::string_view bytes, std::size_t start, std::vector<Entry> entries);
  std::unique_ptr<const std::string> own_;  ///< stays in one place when this object is moved
  std::string_view bytes_, header_;
  Tensors tensors_;
  std::map<std::string, std::string> metadata_;
};

/// "(65, 128)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The tensor of that name. Error data, naming `source`, what is expected and what is there.
const TensorView& expect_tensor(const Tensors& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape);

/// Error diverged (80), naming `source` and the tensor, where one of a model's weights is NaN or infinite: whatever is
/// computed from them would be too.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name);

/// After every tensor of a model was found: error data, naming `source`, where the file has another one than
/// `expected`.
void expect_no_more(const Tensors& file, const std::string& source, const std::set<std::string>& expected);

/// The order in which the reference implementation writes tensors: by alignment, largest first, then by name.
std::vector<TensorView> reference_order(std::span<const TensorView> tensors);

/// The size of the header and the header of a file with these tensors, in this order, padded to 8. `__metadata__`
/// always has {"format":"pt"}. Error internal if a tensor's bytes are not those of dtype and shape, or a name is there
/// twice.
std::string safetensors_header(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata);

// Files of chargpt's own have the number of their format in the metadata, texts or JSON under other names, and two
// checksums: CRC-32 (zlib's) in eight hexadecimal digits, computed with both as zeros.
inline constexpr const char* sum_of_read = "crc_read";  ///< of what precedes the first of the optimizer's tensors
inline constexpr const char* sum_of_all = "crc_all";    ///< of the whole file

/// A newer version of the program made this. Another checkpoint may be readable, but is not the one that was meant.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// safetensors_header() with format and checksums added to the metadata.
std::string checked_header(std::span<const TensorView> tensors, std::map<std::string, std::string> metadata);
/// NewerFormat, or Error data, naming `source`, for another format, and if a checksum of what was read is missing or
/// differs.
void check_own(const SafetensorsFile& file, FilePart read, const std::string& source);
/// A field of the metadata. Error data, naming `source`, if it is missing; of own_json also if it is not strict JSON.
const std::string& own_text(const SafetensorsFile& file, const std::string& name, const std::string& source);
nlohmann::json own_json(const SafetensorsFile& file, const std::string& name, const std::string& source);

/// A header of safetensors_header() or checked_header(), and the tensors that it was made of.
void write_safetensors(const ByteSink& sink, std::string_view header, std::span<const TensorView> tensors);
/// The same with the header that these tensors and this metadata make.
void write_safetensors(const ByteSink& sink, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace chargpt
