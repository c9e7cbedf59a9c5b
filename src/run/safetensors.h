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

/// Tensors with different names, in the order of their bytes. Another object owns the bytes.
using Tensors = std::vector<TensorView>;
/// Returns nullptr if there is no tensor of that name.
const TensorView* find_tensor(const Tensors& tensors, std::string_view name);

/// Tensors that only a resumed training reads; they come last in a checkpoint.
inline constexpr std::string_view optimizer_prefix = "optimizer.";

/// How much of a file to read: the header, all before the optimizer's tensors, or the whole file.
enum class FilePart { header, weights, all };

/// A parsed file. The tensors fill it without gaps, each as long as its dtype and shape say.
struct SafetensorsFile {
  std::string source{};                        ///< its name in messages
  FilePart part = FilePart::all;               ///< what was read
  std::shared_ptr<const std::string> owner{};  ///< of the bytes; null if the caller is
  std::string_view start{};                    ///< header size and header
  std::map<std::string, std::string> metadata{};
  Tensors tensors{};  ///< those that were read
};

/// Copies the file into memory, where no other process can change it. Errors: missing; io; data, naming the file and
/// the fault.
SafetensorsFile read_safetensors(const std::filesystem::path& path, FilePart part = FilePart::all,
                                 Links links = Links::follow);
/// Parses bytes that must outlive the result. `source`: their name in messages. Errors: data.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& source);

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

// The metadata of chargpt's own files has a format number, other fields (text or JSON), and two checksums: CRC-32 (as
// in zlib) in eight hexadecimal digits, computed while both fields are zeros.
inline constexpr const char* sum_of_read = "crc_read";  ///< of all before the optimizer's first tensor
inline constexpr const char* sum_of_all = "crc_all";    ///< of the whole file

/// A newer program wrote the file. Older checkpoints may be readable, but the user meant this one.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// The header size and header of a file with these tensors, with format number and checksums in the metadata. Errors as
/// safetensors_bytes().
std::string checked_header(std::span<const TensorView> tensors, std::map<std::string, std::string> metadata);
/// Checks the format number and the checksums of what was read. Errors, naming the file: NewerFormat; data if the
/// format is unknown or a checksum is missing or different.
void check_own(const SafetensorsFile& file);
/// A field of the metadata. Error data, naming the file, if it is missing or, for own_json, not strict JSON.
const std::string& own_text(const SafetensorsFile& file, const std::string& name);
nlohmann::json own_json(const SafetensorsFile& file, const std::string& name);

/// Writes a header from checked_header(), and the tensors that it describes.
void write_safetensors(const ByteSink& sink, std::string_view header, std::span<const TensorView> tensors);
/// A file with these tensors in this order. `__metadata__` always contains {"format":"pt"}. Error internal if a
/// tensor's size contradicts its dtype and shape, or a name occurs twice.
std::string safetensors_bytes(std::span<const TensorView> tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace chargpt
