#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"

namespace chargpt {
namespace {

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
};

// In the format's own order, which sorts by alignment.
constexpr std::array<ElementType, 15> element_types = {{{"BOOL", 1},
                                                        {"U8", 1},
                                                        {"I8", 1},
                                                        {"F8_E5M2", 1},
                                                        {"F8_E4M3", 1},
                                                        {"I16", 2},
                                                        {"U16", 2},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I32", 4},
                                                        {"U32", 4},
                                                        {"F32", 4},
                                                        {"F64", 8},
                                                        {"I64", 8},
                                                        {"U64", 8}}};

TensorEntry entry_of(const std::string& name, const StrictObject& fields) {
  const std::vector<std::int64_t> offsets = fields.sizes("data_offsets", 2);
  if (offsets.size() != 2) fields.refuse("data_offsets", "two numbers");
  return {.name = name,
          .dtype = fields.text("dtype"),
          .shape = fields.sizes("shape", max_tensor_rank),
          .begin = static_cast<std::uint64_t>(offsets[0]),
          .end = static_cast<std::uint64_t>(offsets[1])};
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& source) {
  const std::string header = source + ": the header";
  // The parser would pass over blanks.
  if (json.empty() || json.front() != '{') throw Error(ExitCode::data, header, " is not a JSON object");
  SafetensorsHeader read;
  const nlohmann::json entries = parse_strict_json(json, header);
  for (const auto& [name, entry] : entries.items()) {
    const StrictObject fields(entry, header + "'s '" + printable(name) + "'");
    if (name == metadata_key) {
      for (const auto& [key, value] : entry.items()) read.metadata[key] = fields.text(key);
    } else {
      read.tensors.push_back(entry_of(name, fields));
      if (entry.size() != 3)
        throw Error(ExitCode::data, header, "'s '", printable(name),
                    "' has other fields than dtype, shape and data_offsets");
    }
  }
  return read;
}

std::optional<std::uint64_t> bytes_per_element(std::string_view dtype) {
  const std::size_t rank = dtype_rank(dtype);
  if (rank == element_types.size()) return std::nullopt;
  return element_types[rank].bytes;
}

std::size_t dtype_rank(std::string_view dtype) {
  const auto found = std::find_if(element_types.begin(), element_types.end(),
                                  [&](const ElementType& type) { return type.name == dtype; });
  return static_cast<std::size_t>(found - element_types.begin());
}

std::optional<std::uint64_t> tensor_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  std::optional<std::uint64_t> bytes = bytes_per_element(dtype);
  for (const std::int64_t extent : shape) {
    std::uint64_t product = 0;
    if (!bytes || extent < 0 || __builtin_mul_overflow(*bytes, static_cast<std::uint64_t>(extent), &product))
      return std::nullopt;
    bytes = product;
  }
  return bytes;
}

}  // namespace chargpt
