// The JSON header of a safetensors file. Knows no file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// As the header says it; not yet compared with the file's size.
struct TensorEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes of the data section
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// A tenth of the format's limit: enough for 100,000 tensors, and it bounds what a damaged length can allocate.
inline constexpr std::uint64_t max_header_bytes = 10'000'000;
inline constexpr std::size_t max_tensor_rank = 16;
inline constexpr const char* metadata_key = "__metadata__";

/// Strict: Error data naming `source` for anything but unique names with exactly dtype, shape and data_offsets, and one
/// optional __metadata__ of strings.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& source);

/// Bytes of one element; none for a dtype that is not known.
std::optional<std::uint64_t> bytes_per_element(std::string_view dtype);

/// Place of a dtype in the order that files are sorted by: the more alignment, the later.
std::size_t dtype_rank(std::string_view dtype);

/// Bytes of a tensor; none where the dtype is not known, an extent is negative or the product does not fit 64 bits.
std::optional<std::uint64_t> tensor_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape);

}  // namespace chargpt
