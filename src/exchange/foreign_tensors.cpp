#include "exchange/foreign_tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
float from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 0x3FF);
  float value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return half >> 15 != 0 ? -value : value;
}

float from_bfloat16(std::uint16_t upper_half) {
  return std::bit_cast<float>(std::uint32_t{upper_half} << 16);
}

template <class Convert>
void convert(std::span<const std::byte> bytes, std::span<float> to, Convert&& to_float) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
    to[i] = to_float(half);
  }
}

}  // namespace

ForeignTensors::ForeignTensors(const std::filesystem::path& path, std::string asking, std::string prefix)
    : file_(path), source_(printable_path(path)), asking_(std::move(asking)), prefix_(std::move(prefix)) {}

void ForeignTensors::expect_at_least(std::int64_t count) const {
  if (std::ssize(file_.tensors()) < count)
    throw Error(ExitCode::data, source_, " has ", file_.tensors().size(), " tensors, too few for a model of ", count,
                " layers");
}

const TensorView* ForeignTensors::find(const std::string& name) const {
  if (const TensorView* const found = file_.find(name)) return found;
  // A bare model, without its head, has names without the prefix.
  return name.starts_with(prefix_) ? file_.find(name.substr(prefix_.size())) : nullptr;
}

OwnTensor ForeignTensors::read(const std::string& name, const std::vector<std::int64_t>& shape,
                               const std::string& ours) {
  const TensorView* const found = find(name);
  if (found == nullptr)
    throw Error(ExitCode::data, source_, " has no tensor ", name, ", which its ", asking_, " asks for");
  if (found->shape != shape)
    throw Error(ExitCode::data, source_, ": tensor ", name, " has shape ", printable(shape_text(found->shape)),
                ", and its ", asking_, " asks for ", shape_text(shape));
  if (found->dtype != "F32" && found->dtype != "F16" && found->dtype != "BF16")
    throw Error(ExitCode::data, source_, ": tensor ", name, " is of type ", printable(found->dtype, 20),
                "; chargpt reads F32, F16 and BF16");
  asked_.insert(found->name);
  OwnTensor tensor = float_tensor(ours, shape);
  if (found->dtype == "F32") std::ranges::copy(found->bytes, tensor.bytes.begin());
  if (found->dtype == "F16") convert(found->bytes, floats(tensor), from_half);
  if (found->dtype == "BF16") convert(found->bytes, floats(tensor), from_bfloat16);
  if (const auto bad = std::ranges::find_if(floats(tensor), [](float value) { return !std::isfinite(value); });
      bad != floats(tensor).end())
    throw Error(ExitCode::diverged, source_, ": tensor ", name, " holds ", std::isnan(*bad) ? "NaN" : "infinity",
                ", so the model gives no numbers");
  return tensor;
}

void ForeignTensors::ignore(const std::string& name) {
  if (const TensorView* const found = find(name)) asked_.insert(found->name);
}

void ForeignTensors::expect_no_more() const {
  chargpt::expect_no_more(file_, source_, asked_);
}

OwnTensor transposed(const OwnTensor& matrix) {
  const std::int64_t rows = matrix.shape.at(0), columns = matrix.shape.at(1);
  OwnTensor turned = float_tensor(matrix.name, {columns, rows});
  const auto from = floats(matrix);
  const auto to = floats(turned);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to[static_cast<std::size_t>(j * rows + i)] = from[static_cast<std::size_t>(i * columns + j)];
  return turned;
}

void append_rows(OwnTensor& tensor, const OwnTensor& more) {
  tensor.shape.front() += more.shape.front();
  tensor.bytes.insert(tensor.bytes.end(), more.bytes.begin(), more.bytes.end());
}

OwnTensor in_order(const OwnTensor& matrix, std::span<const std::int64_t> rows) {
  OwnTensor ordered{matrix.name, matrix.dtype, matrix.shape, {}};
  const std::size_t width = matrix.bytes.size() / static_cast<std::size_t>(matrix.shape.front());
  ordered.shape.front() = std::ssize(rows);
  ordered.bytes.reserve(rows.size() * width);
  for (const std::int64_t row : rows) {
    const auto begin = matrix.bytes.begin() + row * static_cast<std::ptrdiff_t>(width);
    ordered.bytes.insert(ordered.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return ordered;
}

bool all_equal(const OwnTensor& tensor, float value) {
  return std::ranges::all_of(floats(tensor), [value](float one) { return one == value; });
}

}  // namespace chargpt
