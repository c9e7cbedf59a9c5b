#include "run/safetensors.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
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
#include "report/format.h"
#include "run/strict_json.h"

namespace chargpt {

namespace {

constexpr std::size_t size_field = 8, max_tensor_rank = 16;
/// A tenth of the format's limit: enough for 100,000 tensors, and it bounds what a damaged length can allocate.
constexpr std::uint64_t max_header_bytes = 10'000'000;
constexpr const char *metadata_key = "__metadata__", *format_key = "chargpt";
constexpr std::int64_t current_format = 1;

/// The tensors that a header describes, by begin and end of their bytes in the data section.
using Layout = std::multimap<std::pair<std::uint64_t, std::uint64_t>, TensorView>;

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
};

/// Sorted by alignment, as in the format's reference implementation.
constexpr ElementType element_types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                                         {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                         {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

/// The end of element_types for an unknown dtype.
const ElementType* type_of(std::string_view dtype) {
  return std::ranges::find(element_types, dtype, &ElementType::name);
}

/// The size of a tensor in bytes; nullopt if the dtype is unknown, an extent is negative or the product overflows 64
/// bits.
std::optional<std::uint64_t> tensor_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  const ElementType* const type = type_of(dtype);
  if (type == std::end(element_types)) return std::nullopt;
  std::uint64_t bytes = type->bytes;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  return bytes;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The size of the JSON header, from the first 8 bytes of a file of `file_bytes`. The comparison subtracts, because a
/// sum of malicious sizes may wrap around.
std::size_t header_bytes(std::string_view start, std::uint64_t file_bytes, const std::string& source) {
  const std::string no_file = source + " is not a safetensors file: ";
  if (start.size() < size_field) throw Error(ExitCode::data, no_file, "shorter than 8 bytes");
  const std::uint64_t size = from_little_endian(start.substr(0, size_field));
  if (size > max_header_bytes)
    throw Error(ExitCode::data, no_file, "a header of ", size, " bytes; the limit is ", max_header_bytes);
  if (size > file_bytes - size_field)
    throw Error(ExitCode::data, no_file, "a header of ", size, " bytes in a file of ", file_bytes,
                "; it may have been cut short");
  return size;
}

/// Appends exactly `count` bytes. Error data if the file ends before them.
void read_more(const Descriptor& file, std::uint64_t count, const std::filesystem::path& path, std::string& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + count);
  if (read_fully(file, std::span(bytes).subspan(begin), path) < count)
    throw Error(ExitCode::data, path, " was cut short while it was read");
}

constexpr std::string_view zeros = "00000000";  // in place of a checksum while sums are computed

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t so_far = 0) {
  return static_cast<std::uint32_t>(::crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Writes a checksum's digits into the header. Strings in it cannot match the field, because their quotes are escaped.
void set_sum(std::string& header, const std::string& name, std::string_view digits) {
  const std::string field = "\"" + name + "\":\"";
  const std::size_t found = header.find(field);
  if (found != std::string::npos) header.replace(found + field.size(), digits.size(), digits);
}

/// Both checksums, by name: of size field and header, with zeros in place of the digits, and of the tensors.
std::vector<std::pair<std::string, std::string>> sums_of(std::string start, std::span<const TensorView> tensors) {
  for (const char* name : {sum_of_read, sum_of_all}) set_sum(start, name, zeros);
  std::uint32_t all = crc32_of(as_bytes(start)), read = all;
  bool is_read = true;
  for (const TensorView& tensor : tensors) {
    is_read = is_read && !tensor.name.starts_with(optimizer_prefix);
    all = crc32_of(tensor.bytes, all);
    if (is_read) read = all;
  }
  return {{sum_of_read, formatted("%08" PRIx32, read)}, {sum_of_all, formatted("%08" PRIx32, all)}};
}

/// The tensors must fill the data without gap or overlap, and each must be as long as its shape says.
void check_layout(const Layout& layout, std::uint64_t data_bytes, const std::string& source) {
  std::uint64_t place = 0;
  for (const auto& [offsets, tensor] : layout) {
    const auto [begin, end] = offsets;
    const auto where = [&, &name = tensor.name] { return source + ": tensor '" + printable(name) + "' "; };
    if (type_of(tensor.dtype) == std::end(element_types))
      throw Error(ExitCode::data, where(), "has the unknown dtype '", printable(tensor.dtype, 20), "'");
    if (begin != place || end < begin || end > data_bytes)
      throw Error(ExitCode::data, where(), "lies at bytes ", begin, " to ", end,
                  ", which leaves a gap, overlaps another or passes ", data_bytes, ", the end");
    if (tensor_bytes(tensor.dtype, tensor.shape) != end - begin)
      throw Error(ExitCode::data, where(), "has ", end - begin, " bytes, which is not what its shape and dtype take");
    place = end;
  }
  if (place != data_bytes)
    throw Error(ExitCode::data, source, ": ", data_bytes - place, " bytes after the last tensor");
}

/// Parses the header and stores its metadata in `file`. Requires unique names, exactly the fields dtype, shape and
/// data_offsets, and at most one __metadata__ of strings. `start`: the size of the header and the header.
Layout parse_header(std::string_view start, std::uint64_t data_bytes, SafetensorsFile& file) {
  const std::string header = file.source + ": the header";
  const std::string_view json = start.substr(size_field);
  // The format wants '{' first; the parser would skip white space.
  if (!json.starts_with('{')) throw Error(ExitCode::data, header, " is not a JSON object");
  Layout layout;
  const nlohmann::json all = parse_strict_json(json, header);
  for (const auto& [name, value] : all.items()) {
    const StrictObject fields(value, header + "'s '" + printable(name) + "'");
    if (name == metadata_key) {
      for (const auto& [key, text] : value.items()) file.metadata[key] = fields.text(key);
      continue;
    }
    const std::vector<std::int64_t> offsets = fields.sizes("data_offsets", 2, 2);
    layout.insert(
        {{offsets[0], offsets[1]}, {name, fields.text("dtype"), fields.sizes("shape", 0, max_tensor_rank), {}}});
    if (value.size() != 3)
      throw Error(ExitCode::data, fields.source(), " has other fields than dtype, shape and data_offsets");
  }
  check_layout(layout, data_bytes, file.source);
  return layout;
}

/// Stores the bytes that were read, the first `start` of which precede the data, and the tensors within them.
void take(std::string_view bytes, std::size_t start, Layout layout, SafetensorsFile& file) {
  file.start = bytes.substr(0, start);
  for (auto& [offsets, tensor] : layout) {
    if (offsets.second > bytes.size() - start) return;
    tensor.bytes = as_bytes(bytes.substr(start + offsets.first, offsets.second - offsets.first));
    file.tensors.push_back(std::move(tensor));
  }
}

/// The header size and header, padded to a multiple of 8 bytes.
std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header[metadata_key] = {{"format", "pt"}};
  for (const auto& [key, value] : metadata) header[metadata_key][key] = value;
  std::uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    if (tensor_bytes(tensor.dtype, tensor.shape) != tensor.bytes.size() || header.contains(tensor.name))
      throw Error(ExitCode::internal, "tensor '", tensor.name, "' of dtype ", tensor.dtype, " with ",
                  tensor.bytes.size(), " bytes cannot be written");
    const std::uint64_t end = begin + tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = json_text(header, -1, "");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string size;
  for (std::size_t i = 0; i < size_field; ++i) size += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return size + text;
}

}  // namespace

const TensorView* find_tensor(const Tensors& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorView::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path, FilePart part, Links links) {
  const Descriptor opened = open_regular_file(path, links);
  const std::uint64_t file_bytes = file_size(opened, path);
  const auto bytes = std::make_shared<std::string>();
  SafetensorsFile file{.source = printable_path(path), .part = part, .owner = bytes};
  read_more(opened, std::min<std::uint64_t>(size_field, file_bytes), path, *bytes);
  read_more(opened, header_bytes(*bytes, file_bytes, file.source), path, *bytes);
  const std::size_t start = bytes->size();
  Layout layout = parse_header(*bytes, file_bytes - start, file);
  const auto unread = std::ranges::find_if(layout, [part](const auto& entry) {
    return part == FilePart::header || (part == FilePart::weights && entry.second.name.starts_with(optimizer_prefix));
  });
  read_more(opened, unread == layout.end() ? file_bytes - start : unread->first.first, path, *bytes);
  take(*bytes, start, std::move(layout), file);
  return file;
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t start = size_field + header_bytes(all, all.size(), source);
  SafetensorsFile file{.source = source};
  take(all, start, parse_header(all.substr(0, start), all.size() - start, file), file);
  return file;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + joined(sizes, ", ") + ")";
}

const TensorView& expect_tensor(const Tensors& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape) {
  const TensorView* found = find_tensor(file, name);
  const std::string expected = dtype + " " + shape_text(shape);
  if (!found)
    throw Error(ExitCode::data, source, " has no tensor ", name, " (", expected, "); it belongs to another model");
  if (found->dtype != dtype || found->shape != shape)
    throw Error(ExitCode::data, source, ": tensor ", name, " is ", found->dtype, " ", shape_text(found->shape),
                " and should be ", expected, "; it belongs to another model");
  return *found;
}

// NaN and infinity are the numbers with all exponent bits set. Without an early exit the loop can be vectorised.
void expect_finite(std::span<const float> weights, const std::string& source, const std::string& name) {
  constexpr std::uint32_t exponent = 0x7f800000;
  const auto is_bad = [](float weight) { return (std::bit_cast<std::uint32_t>(weight) & exponent) == exponent; };
  std::uint32_t bad = 0;
  for (const float weight : weights) bad |= static_cast<std::uint32_t>(is_bad(weight));
  if (bad == 0) return;
  const auto first = std::ranges::find_if(weights, is_bad);
  throw Error(ExitCode::diverged, source, ": tensor ", name, " holds ", std::isnan(*first) ? "NaN" : "infinity",
              " at place ", first - weights.begin(), ", so the model cannot be used; use another checkpoint");
}

void expect_no_more(const Tensors& file, const std::string& source, const std::set<std::string>& expected) {
  for (const TensorView& tensor : file)
    if (!expected.contains(tensor.name))
      throw Error(ExitCode::data, source, " has a tensor that this model lacks: ", tensor.name,
                  "; it belongs to another model");
}

std::vector<TensorView> reference_order(std::span<const TensorView> tensors) {
  std::vector<TensorView> order(tensors.begin(), tensors.end());
  std::ranges::sort(order, [](const TensorView& a, const TensorView& b) {
    const ElementType *type_a = type_of(a.dtype), *type_b = type_of(b.dtype);
    return type_a != type_b ? type_a > type_b : a.name < b.name;
  });
  return order;
}

std::string checked_header(std::span<const TensorView> tensors, std::map<std::string, std::string> metadata) {
  metadata.try_emplace(format_key, std::to_string(current_format));
  for (const char* name : {sum_of_read, sum_of_all}) metadata[name] = zeros;
  std::string header = safetensors_header(tensors, metadata);
  for (const auto& [name, digits] : sums_of(header, tensors)) set_sum(header, name, digits);
  return header;
}

void check_own(const SafetensorsFile& file) {
  const std::string& format = own_text(file, format_key);
  const std::int64_t version = parsed_number<std::int64_t>(format).value_or(0);
  if (version > current_format)
    throw NewerFormat(ExitCode::data, file.source, ": format ", version,
                      ", made by a newer chargpt; this one reads format ", current_format);
  if (version < 1) throw Error(ExitCode::data, file.source, ": unknown format '", printable(format, 20), "'");
  if (file.part == FilePart::header) return;
  for (const auto& [name, digits] : sums_of(std::string(file.start), file.tensors))
    if (const std::string& said = own_text(file, name);
        said != digits && (name == sum_of_read || file.part == FilePart::all))
      throw Error(ExitCode::data, file.source, " is damaged: its checksum ", name, " is ", digits,
                  ", and the file says ", printable(said, 20));
}

const std::string& own_text(const SafetensorsFile& file, const std::string& name) {
  const auto found = file.metadata.find(name);
  if (found == file.metadata.end())
    throw Error(ExitCode::data, file.source, " is not a chargpt file of this kind: its metadata has no '", name, "'");
  return found->second;
}

nlohmann::json own_json(const SafetensorsFile& file, const std::string& name) {
  return parse_strict_json(own_text(file, name), file.source + ": " + name);
}

void write_safetensors(const ByteSink& sink, std::string_view header, std::span<const TensorView> tensors) {
  sink(as_bytes(header));
  for (const TensorView& tensor : tensors) sink(tensor.bytes);
}

std::string safetensors_bytes(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  std::string bytes = safetensors_header(tensors, metadata);
  for (const TensorView& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace chargpt
