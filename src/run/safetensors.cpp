#include "run/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "run/strict_json.h"

namespace chargpt {
namespace {

constexpr std::size_t size_field = 8, max_tensor_rank = 16;
/// A tenth of the format's limit: enough for 100,000 tensors, and it bounds what a damaged length can allocate.
constexpr std::uint64_t max_header_bytes = 10'000'000;
constexpr const char* metadata_key = "__metadata__";

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
};

/// In the format's own order, which sorts by alignment.
constexpr ElementType element_types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                                         {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                         {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

/// The end of the list for a dtype that is not known.
const ElementType* type_of(std::string_view dtype) {
  return std::ranges::find(element_types, dtype, &ElementType::name);
}

/// Bytes of a tensor; none where the dtype is not known, an extent is negative or the product does not fit 64 bits.
std::optional<std::uint64_t> tensor_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  const ElementType* const type = type_of(dtype);
  if (type == std::end(element_types)) return std::nullopt;
  std::uint64_t bytes = type->bytes;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  return bytes;
}

/// A tensor as the header has it; not yet compared with the file's size.
struct TensorEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes of the data section
};

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The header's bytes; the sizes are compared by subtraction, as sums of hostile sizes may wrap.
std::string_view header_text(std::span<const std::byte> bytes, const std::string& source) {
  const std::string no_file = source + " is no safetensors file: ";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < size_field) throw Error(ExitCode::data, no_file, "shorter than 8 bytes");
  const std::uint64_t size = from_little_endian(text.substr(0, size_field));
  if (size > max_header_bytes)
    throw Error(ExitCode::data, no_file, "a header of ", size, " bytes; the limit is ", max_header_bytes);
  if (size > text.size() - size_field)
    throw Error(ExitCode::data, no_file, "a header of ", size, " bytes in a file of ", text.size(),
                "; it may have been cut short");
  return text.substr(size_field, size);
}

TensorEntry entry_of(const std::string& name, const StrictObject& fields) {
  const std::vector<std::int64_t> offsets = fields.sizes("data_offsets", 2);
  if (offsets.size() != 2) fields.refuse("data_offsets", "two numbers");
  return {.name = name,
          .dtype = fields.text("dtype"),
          .shape = fields.sizes("shape", max_tensor_rank),
          .begin = static_cast<std::uint64_t>(offsets[0]),
          .end = static_cast<std::uint64_t>(offsets[1])};
}

/// Strict: Error data naming `header` for anything but unique names with exactly dtype, shape and data_offsets, and one
/// optional __metadata__ of strings.
std::vector<TensorEntry> read_header(std::string_view json, const std::string& header,
                                     std::map<std::string, std::string>& metadata) {
  // The parser would pass over blanks.
  if (!json.starts_with('{')) throw Error(ExitCode::data, header, " is not a JSON object");
  std::vector<TensorEntry> tensors;
  const nlohmann::json entries = parse_strict_json(json, header);
  for (const auto& [name, entry] : entries.items()) {
    const StrictObject fields(entry, header + "'s '" + printable(name) + "'");
    if (name == metadata_key) {
      for (const auto& [key, value] : entry.items()) metadata[key] = fields.text(key);
    } else {
      tensors.push_back(entry_of(name, fields));
      if (entry.size() != 3)
        throw Error(ExitCode::data, header, "'s '", printable(name),
                    "' has other fields than dtype, shape and data_offsets");
    }
  }
  return tensors;
}

/// Error data unless the tensors, in order, fill [0, size) without gap or overlap and each is as long as its shape
/// says.
void check_layout(const std::vector<TensorEntry>& tensors, std::uint64_t size, const std::string& source) {
  std::uint64_t place = 0;
  for (const TensorEntry& tensor : tensors) {
    const std::string where = source + ": tensor '" + printable(tensor.name) + "' ";
    if (type_of(tensor.dtype) == std::end(element_types))
      throw Error(ExitCode::data, where, "has the unknown dtype '", printable(tensor.dtype, 20), "'");
    if (tensor.begin != place || tensor.end < tensor.begin || tensor.end > size)
      throw Error(ExitCode::data, where, "lies at bytes ", tensor.begin, " to ", tensor.end,
                  ", which leaves a gap, overlaps another or passes ", size, ", the end");
    if (tensor_bytes(tensor.dtype, tensor.shape) != tensor.end - tensor.begin)
      throw Error(ExitCode::data, where, "has ", tensor.end - tensor.begin,
                  " bytes, which is not what its shape and dtype take");
    place = tensor.end;
  }
  if (place != size) throw Error(ExitCode::data, source, ": ", size - place, " bytes after the last tensor");
}

std::vector<TensorView> sorted(std::span<const TensorView> tensors) {
  std::vector<TensorView> order(tensors.begin(), tensors.end());
  std::ranges::sort(order, [](const TensorView& a, const TensorView& b) {
    const ElementType *type_a = type_of(a.dtype), *type_b = type_of(b.dtype);
    return type_a != type_b ? type_a > type_b : a.name < b.name;
  });
  return order;
}

std::string header_of(const std::vector<TensorView>& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header[metadata_key] = {{"format", "pt"}};
  for (const auto& [key, value] : metadata) header[metadata_key][key] = value;
  std::uint64_t place = 0;
  for (const TensorView& tensor : tensors) {
    if (tensor_bytes(tensor.dtype, tensor.shape) != tensor.bytes.size() || header.contains(tensor.name))
      throw Error(ExitCode::internal, "tensor '", tensor.name, "' of dtype ", tensor.dtype, " with ",
                  tensor.bytes.size(), " bytes cannot be written");
    const std::uint64_t end = place + tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {place, end}}};
    place = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(read_regular_file(path, UINT64_MAX, Links::follow), printable_path(path)) {}

SafetensorsFile::SafetensorsFile(std::string bytes, const std::string& source)
    : bytes_(std::make_unique<const std::string>(std::move(bytes))) {
  parse(std::as_bytes(std::span(*bytes_)), source);
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& source) {
  parse(bytes, source);
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &tensors_[found->second];
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + joined(sizes, ", ") + ")";
}

const TensorView& expect_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape) {
  const TensorView* found = file.find(name);
  const std::string expected = dtype + " " + shape_text(shape);
  if (!found)
    throw Error(ExitCode::data, source, " has no tensor ", name, " (", expected, "); it belongs to another model");
  if (found->dtype != dtype || found->shape != shape)
    throw Error(ExitCode::data, source, ": tensor ", name, " is ", found->dtype, " ", shape_text(found->shape),
                " and should be ", expected, "; it belongs to another model");
  return *found;
}

// NaN and infinity are the numbers whose exponent has all bits set; a loop without a way out of it is quick.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name) {
  constexpr std::uint32_t exponent = 0x7f800000;
  const auto is_bad = [](float weight) { return (std::bit_cast<std::uint32_t>(weight) & exponent) == exponent; };
  std::uint32_t bad = 0;
  for (const float weight : weights) bad |= static_cast<std::uint32_t>(is_bad(weight));
  if (bad == 0) return;
  const auto first = std::ranges::find_if(weights, is_bad);
  throw Error(ExitCode::diverged, source, ": tensor ", name, " holds ", std::isnan(*first) ? "NaN" : "infinity",
              " at place ", first - weights.begin(),
              ", so the model cannot be used; use another checkpoint (--checkpoint)");
}

void expect_no_more(const SafetensorsFile& file, const std::string& source, const std::set<std::string>& expected) {
  for (const TensorView& tensor : file.tensors())
    if (!expected.contains(tensor.name))
      throw Error(ExitCode::data, source, " has a tensor that this model lacks: ", tensor.name,
                  "; it belongs to another model");
}

void SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view text = header_text(bytes, source);
  const std::span<const std::byte> data = bytes.subspan(size_field + text.size());
  std::vector<TensorEntry> entries = read_header(text, source + ": the header", metadata_);
  std::ranges::sort(entries, {}, [](const TensorEntry& entry) { return std::pair(entry.begin, entry.end); });
  check_layout(entries, data.size(), source);
  for (TensorEntry& entry : entries) {
    places_[entry.name] = tensors_.size();
    tensors_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                        data.subspan(entry.begin, entry.end - entry.begin)});
  }
}

void write_safetensors(const ByteSink& sink, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<TensorView> order = sorted(tensors);
  const std::string header = header_of(order, metadata);
  std::string size;
  for (std::size_t i = 0; i < size_field; ++i) size += static_cast<char>(header.size() >> (8 * i) & 0xFFU);
  sink(as_bytes(size));
  sink(as_bytes(header));
  for (const TensorView& tensor : order) sink(tensor.bytes);
}

}  // namespace chargpt
