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

/// A tensor as the header has it.
struct TensorEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes of the data section
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

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

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Of the header, from the first 8 bytes of a file of `file_bytes`; compared by subtraction, as sums of hostile sizes
/// may wrap.
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

constexpr std::string_view zeros = "00000000";  // in place of a checksum while sums are computed

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t so_far = 0) {
  return static_cast<std::uint32_t>(::crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string digits_of(std::uint32_t sum) {
  return formatted("%08" PRIx32, sum);
}

/// Puts the digits of a checksum into a header, whose strings cannot contain its unescaped quotes.
void set_sum(std::string& header, const std::string& name, std::string_view digits) {
  const std::string field = "\"" + name + "\":\"";
  const std::size_t found = header.find(field);
  if (found != std::string::npos) header.replace(found + field.size(), digits.size(), digits);
}

struct Sums {
  std::uint32_t read = 0, all = 0;
};

/// Of the size field and the header, both checksums as zeros, and of the tensors.
Sums sums_of(std::string start, std::span<const TensorView> tensors) {
  for (const char* name : {sum_of_read, sum_of_all}) set_sum(start, name, zeros);
  Sums sums{.read = crc32_of(as_bytes(start))};
  sums.all = sums.read;
  bool is_read = true;
  for (const TensorView& tensor : tensors) {
    is_read = is_read && !tensor.name.starts_with(optimizer_prefix);
    sums.all = crc32_of(tensor.bytes, sums.all);
    if (is_read) sums.read = sums.all;
  }
  return sums;
}

/// Error data unless the metadata has this checksum.
void check_sum(const SafetensorsFile& file, const std::string& name, std::uint32_t sum, const std::string& source) {
  const auto said = file.metadata().find(name);
  if (said == file.metadata().end()) throw Error(ExitCode::data, source, " has no checksum '", name, "'");
  if (said->second != digits_of(sum))
    throw Error(ExitCode::data, source, " is damaged: its checksum ", name, " is ", digits_of(sum),
                ", and the file says ", printable(said->second, 20));
}

SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes, const std::string& source) {
  SafetensorsHeader header;
  header.entries = read_header(json, source + ": the header", header.metadata);
  std::ranges::sort(header.entries, {}, [](const TensorEntry& entry) { return std::pair(entry.begin, entry.end); });
  check_layout(header.entries, data_bytes, source);
  return header;
}

/// Appends exactly `count` bytes. Error data if the file ends before them.
void read_more(const Descriptor& file, std::uint64_t count, const std::filesystem::path& path, std::string& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + count);
  for (std::size_t at = begin; at < bytes.size();) {
    const std::size_t got = read_some(file, std::span(bytes).subspan(at), path);
    if (got == 0) throw Error(ExitCode::data, path, " was cut short while it was read");
    at += got;
  }
}

/// The size field and the header; the rest of the file may follow.
std::string read_start(const Descriptor& file, std::uint64_t file_bytes, const std::filesystem::path& path) {
  std::string bytes;
  read_more(file, std::min<std::uint64_t>(size_field, file_bytes), path, bytes);
  read_more(file, header_bytes(bytes, file_bytes, printable_path(path)), path, bytes);
  return bytes;
}

Tensors tensors_in(std::string_view data, const SafetensorsHeader& header) {
  Tensors tensors;
  for (const TensorEntry& entry : header.entries)
    if (entry.end <= data.size())
      tensors.add({entry.name, entry.dtype, entry.shape, as_bytes(data.substr(entry.begin, entry.end - entry.begin))});
  return tensors;
}

}  // namespace

void Tensors::add(TensorView tensor) {
  indices_[tensor.name] = all_.size();
  all_.push_back(std::move(tensor));
}

const TensorView* Tensors::find(const std::string& name) const {
  const auto found = indices_.find(name);
  return found == indices_.end() ? nullptr : &all_[found->second];
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(open_regular_file(path, Links::follow), path, "") {}

SafetensorsFile::SafetensorsFile(const Descriptor& file, const std::filesystem::path& path, std::string_view end) {
  const std::uint64_t file_bytes = file_size(file, path);
  std::string bytes = read_start(file, file_bytes, path);
  const std::size_t start = bytes.size();
  SafetensorsHeader header =
      parse_header(std::string_view(bytes).substr(size_field), file_bytes - start, printable_path(path));
  const auto last = std::ranges::find_if(
      header.entries, [&](const TensorEntry& entry) { return !end.empty() && entry.name.starts_with(end); });
  read_more(file, last == header.entries.end() ? file_bytes - start : last->begin, path, bytes);
  own_ = std::make_unique<const std::string>(std::move(bytes));
  keep(*own_, start, header);
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t start = size_field + header_bytes(text, text.size(), source);
  keep(text, start, parse_header(text.substr(size_field, start - size_field), text.size() - start, source));
}

void SafetensorsFile::keep(std::string_view bytes, std::size_t start, const SafetensorsHeader& header) {
  bytes_ = bytes;
  header_ = bytes.substr(size_field, start - size_field);
  tensors_ = tensors_in(bytes.substr(start), header);
  metadata_ = header.metadata;
}

std::map<std::string, std::string> read_metadata(const std::filesystem::path& path) {
  const Descriptor file = open_regular_file(path);
  const std::uint64_t file_bytes = file_size(file, path);
  const std::string start = read_start(file, file_bytes, path);
  return parse_header(std::string_view(start).substr(size_field), file_bytes - start.size(), printable_path(path))
      .metadata;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + joined(sizes, ", ") + ")";
}

const TensorView& expect_tensor(const Tensors& file, const std::string& source, const std::string& name,
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

void expect_no_more(const Tensors& file, const std::string& source, const std::set<std::string>& expected) {
  for (const TensorView& tensor : file.all())
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

std::string checked_header(std::span<const TensorView> tensors, std::map<std::string, std::string> metadata) {
  for (const char* name : {sum_of_read, sum_of_all}) metadata[name] = zeros;
  std::string header = safetensors_header(tensors, metadata);
  const Sums sums = sums_of(header, tensors);
  set_sum(header, sum_of_read, digits_of(sums.read));
  set_sum(header, sum_of_all, digits_of(sums.all));
  return header;
}

void check_sums(const SafetensorsFile& file, bool whole, const std::string& source) {
  const std::size_t start = size_field + file.header().size();
  const Sums sums = sums_of(std::string(file.bytes().substr(0, start)), file.tensors().all());
  check_sum(file, sum_of_read, sums.read, source);
  if (whole) check_sum(file, sum_of_all, sums.all, source);
}

void write_safetensors(const ByteSink& sink, std::string_view header, std::span<const TensorView> tensors) {
  sink(as_bytes(header));
  for (const TensorView& tensor : tensors) sink(tensor.bytes);
}

void write_safetensors(const ByteSink& sink, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_safetensors(sink, safetensors_header(tensors, metadata), tensors);
}

}  // namespace chargpt
