#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

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

/// Handler of the JSON library's SAX interface. Levels: 1 inside the header, 2 inside a tensor or __metadata__, 3
/// inside shape or data_offsets.
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) {
    if (level_ > 1) refuse("an object where there should be none");
    ++level_;
    fields_.clear();
    return true;
  }
  bool end_object() {
    if (level_ == 2 && !in_metadata_ && fields_.size() != 3) refuse("no dtype, shape or data_offsets");
    --level_;
    return true;
  }
  bool key(std::string& name) {
    if (level_ == 1) return start_entry(name);
    if (!fields_.insert(name).second) refuse("key '" + printable(name) + "' twice");
    if (!in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
      refuse("an unknown key '" + printable(name) + "'");
    field_ = name;
    return true;
  }
  bool start_array(std::size_t) {
    if (level_ != 2 || in_metadata_ || field_ == "dtype") refuse("an array where there should be none");
    ++level_;
    offsets_ = 0;
    return true;
  }
  bool end_array() {
    if (field_ == "data_offsets" && offsets_ != 2) refuse("data_offsets that are not two numbers");
    --level_;
    return true;
  }
  bool number_unsigned(std::uint64_t value) {
    if (level_ != 3) refuse("a number where there should be none");
    field_ == "shape" ? add_extent(value) : add_offset(value);
    return true;
  }
  bool string(std::string& value) {
    if (level_ == 2 && in_metadata_)
      header_.metadata[field_] = value;
    else if (level_ == 2 && field_ == "dtype")
      header_.tensors.back().dtype = value;
    else
      refuse("a string where there should be none");
    return true;
  }
  bool number_integer(std::int64_t) { refuse("a negative number"); }
  bool number_float(double, const std::string&) { refuse("a number that is not whole, or above 64 bits"); }
  bool null() { refuse("null"); }
  bool boolean(bool) { refuse("a boolean"); }
  bool binary(nlohmann::json::binary_t&) { refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    throw Error(ExitCode::data, source_ + ": the header is not JSON at its byte " + std::to_string(position));
  }

 private:
  bool start_entry(const std::string& name) {
    entry_ = name;
    if (!names_.insert(name).second) refuse("its name twice");
    in_metadata_ = name == metadata_key;
    if (!in_metadata_) header_.tensors.push_back({.name = name, .dtype = {}, .shape = {}});
    return true;
  }
  void add_extent(std::uint64_t value) {
    std::vector<std::int64_t>& shape = header_.tensors.back().shape;
    if (shape.size() == max_tensor_rank) refuse("more than " + std::to_string(max_tensor_rank) + " dimensions");
    if (value > std::numeric_limits<std::int64_t>::max()) refuse("a dimension of " + std::to_string(value));
    shape.push_back(static_cast<std::int64_t>(value));
  }
  void add_offset(std::uint64_t value) {
    TensorEntry& tensor = header_.tensors.back();
    if (offsets_ == 2) refuse("data_offsets that are not two numbers");
    (offsets_++ == 0 ? tensor.begin : tensor.end) = value;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    const std::string where = level_ == 0 ? "the header" : "the header's '" + printable(entry_) + "'";
    throw Error(ExitCode::data, source_ + ": " + where + " has " + what);
  }

  const std::string& source_;
  SafetensorsHeader header_;
  int level_ = 0;
  bool in_metadata_ = false;
  std::string entry_, field_;  ///< keys being read at levels 1 and 2
  int offsets_ = 0;            ///< read so far
  std::unordered_set<std::string> names_, fields_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& source) {
  // The library takes NUL for the end of the text and blanks before it for none.
  if (json.empty() || json.front() != '{' || json.find('\0') != std::string_view::npos)
    throw Error(ExitCode::data, source + ": the header is not a JSON object");
  HeaderReader reader(source);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
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
