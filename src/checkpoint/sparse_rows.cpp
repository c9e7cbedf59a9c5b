#include "checkpoint/sparse_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::ostringstream text;
  text << '(';
  for (std::size_t i = 0; i < shape.size(); ++i) text << (i ? ", " : "") << shape[i];
  text << ')';
  return text.str();
}

[[noreturn]] void refuse(const std::string& source, const std::string& name, const std::string& what) {
  throw Error(ExitCode::data, source + ": tensor " + printable(name) + " " + what);
}

bool any_bit(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 8> line{};  // a cache line at a time: most rows show in their first that they are not zero
  std::size_t i = 0;
  for (; i + sizeof line <= bytes.size(); i += sizeof line) {
    std::memcpy(line.data(), bytes.data() + i, sizeof line);
    if (std::accumulate(line.begin(), line.end(), std::uint64_t{0}, std::bit_or<>())) return true;
  }
  return std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.end(),
                     [](std::byte byte) { return byte != std::byte{0}; });
}

/// Makes a row zero, leaving memory that is zero untouched: it may never have been written.
void clear(std::span<std::byte> row) {
  if (any_bit(row)) std::fill(row.begin(), row.end(), std::byte{0});
}

std::vector<std::int64_t> read_rows(const TensorView& view, std::int64_t limit, const std::string& source) {
  std::vector<std::int64_t> rows(view.bytes.size() / sizeof(std::int64_t));
  if (!rows.empty()) std::memcpy(rows.data(), view.bytes.data(), view.bytes.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] < 0 || rows[i] >= limit || (i > 0 && rows[i] <= rows[i - 1]))
      refuse(source, view.name,
             "has row " + std::to_string(rows[i]) + " at place " + std::to_string(i) +
                 "; rows must rise and be less than " + std::to_string(limit) + ": the file is damaged");
  return rows;
}

std::set<std::string> read_packed(const SafetensorsFile& file, const TensorView& numbers, const std::string& source,
                                  const std::string& name, const std::vector<std::int64_t>& shape,
                                  std::span<std::byte> out) {
  if (numbers.dtype != "I64" || numbers.shape.size() != 1)
    refuse(source, numbers.name, "is " + numbers.dtype + " " + shape_text(numbers.shape) + " and should be I64 (n)");
  const std::vector<std::int64_t> rows = read_rows(numbers, shape[0], source);
  const auto values = expect_tensor(file, source, values_name(name), "F32", {std::ssize(rows), shape[1]}).bytes;
  const std::size_t width = static_cast<std::size_t>(shape[1]) * sizeof(float);
  std::size_t next = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape[0]); ++row) {
    const std::span<std::byte> place = out.subspan(row * width, width);
    if (next == rows.size() || rows[next] != static_cast<std::int64_t>(row))
      clear(place);
    else
      std::memcpy(place.data(), values.data() + next++ * width, width);
  }
  return {numbers.name, values_name(name)};
}

}  // namespace

std::string rows_name(const std::string& name) {
  return name + ".rows";
}
std::string values_name(const std::string& name) {
  return name + ".values";
}

std::vector<std::int64_t> nonzero_rows(std::span<const std::byte> table, std::size_t row_bytes) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < table.size() / row_bytes; ++row)
    if (any_bit(table.subspan(row * row_bytes, row_bytes))) rows.push_back(static_cast<std::int64_t>(row));
  return rows;
}

bool worth_packing(std::int64_t stored, std::int64_t rows, std::int64_t width) {
  const auto bytes = static_cast<std::int64_t>(sizeof(float)) * width;
  return stored * (bytes + static_cast<std::int64_t>(sizeof(std::int64_t))) < rows * bytes;
}

const TensorView& expect_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                const std::string& dtype, const std::vector<std::int64_t>& shape) {
  const TensorView* found = file.find(name);
  const std::string expected = dtype + " " + shape_text(shape);
  if (!found)
    throw Error(ExitCode::data, source + " has no tensor " + name + " (" + expected + "); it belongs to another model");
  if (found->dtype != dtype || found->shape != shape)
    throw Error(ExitCode::data, source + ": tensor " + name + " is " + found->dtype + " " + shape_text(found->shape) +
                                    " and should be " + expected + "; it belongs to another model");
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
  throw Error(ExitCode::diverged, source + ": tensor " + name + " holds " + (std::isnan(*first) ? "NaN" : "infinity") +
                                      " at place " + std::to_string(first - weights.begin()) +
                                      ", so the model gives no numbers; use another checkpoint (--checkpoint)");
}

std::set<std::string> read_tensor(const SafetensorsFile& file, const std::string& source, const std::string& name,
                                  const std::vector<std::int64_t>& shape, std::span<std::byte> out) {
  const TensorView* rows = file.find(rows_name(name));
  if (rows && shape.size() == 2 && !file.find(name)) return read_packed(file, *rows, source, name, shape, out);
  const auto whole = expect_tensor(file, source, name, "F32", shape).bytes;
  if (!whole.empty()) std::memcpy(out.data(), whole.data(), whole.size());
  return {name};
}

}  // namespace chargpt
