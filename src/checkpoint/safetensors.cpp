#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "checkpoint/safetensors_header.h"

namespace chargpt {
namespace {

constexpr std::size_t size_field = 8;

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

/// Error data unless the tensors, in order, fill [0, size) without gap or overlap and each is as long as its shape
/// says.
void check_layout(const std::vector<TensorEntry>& tensors, std::uint64_t size, const std::string& source) {
  std::uint64_t place = 0;
  for (const TensorEntry& tensor : tensors) {
    const std::string where = source + ": tensor '" + printable(tensor.name) + "' ";
    if (!bytes_per_element(tensor.dtype))
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
  std::sort(order.begin(), order.end(), [](const TensorView& a, const TensorView& b) {
    const std::size_t rank_a = dtype_rank(a.dtype), rank_b = dtype_rank(b.dtype);
    return rank_a != rank_b ? rank_a > rank_b : a.name < b.name;
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
              ", so the model gives no numbers; use another checkpoint (--checkpoint)");
}

void expect_no_more(const SafetensorsFile& file, const std::string& source, const std::set<std::string>& expected) {
  for (const TensorView& tensor : file.tensors())
    if (!expected.contains(tensor.name))
      throw Error(ExitCode::data, source, " has a tensor that this model has not: ", tensor.name,
                  "; it belongs to another model");
}

void SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& source) {
  const std::string_view text = header_text(bytes, source);
  const std::span<const std::byte> data = bytes.subspan(size_field + text.size());
  SafetensorsHeader header = parse_safetensors_header(text, source);
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(header.tensors, data.size(), source);
  metadata_ = std::move(header.metadata);
  for (TensorEntry& entry : header.tensors) {
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
