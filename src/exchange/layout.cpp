#include "exchange/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "network/model_types.h"

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

/// A tensor of zeros with that shape.
OwnTensor float_tensor(std::string name, std::vector<std::int64_t> shape) {
  const auto numel = static_cast<std::size_t>(numel_of(shape));
  return {std::move(name), std::move(shape), std::vector<float>(numel)};
}

/// Transposes a matrix (a, b) to (b, a).
OwnTensor transposed(const OwnTensor& matrix) {
  const std::int64_t rows = matrix.shape.at(0), columns = matrix.shape.at(1);
  OwnTensor turned = float_tensor(matrix.name, {columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      turned.values[static_cast<std::size_t>(j * rows + i)] = matrix.values[static_cast<std::size_t>(i * columns + j)];
  return turned;
}

/// Selects rows of a matrix or vector, in this order.
OwnTensor in_order(const OwnTensor& matrix, std::span<const std::int64_t> rows) {
  OwnTensor ordered{matrix.name, matrix.shape, {}};
  const std::ptrdiff_t width = std::ssize(matrix.values) / matrix.shape.front();
  ordered.shape.front() = std::ssize(rows);
  for (const std::int64_t row : rows) {
    const auto begin = matrix.values.begin() + row * width;
    ordered.values.insert(ordered.values.end(), begin, begin + width);
  }
  return ordered;
}

/// Their names for "transformer.h.3.attn.c_attn.weight": those of layer attn.c_attn in block 3, each with ".weight".
std::vector<std::string> their_names(const Layout& layout, const std::string& ours) {
  if (layout.layers.empty()) return {ours};
  constexpr std::string_view outside = "transformer.", blocks = "transformer.h.";
  const bool in_block = ours.starts_with(blocks);
  const std::size_t number = blocks.size();
  const std::size_t begin = in_block ? ours.find('.', number) + 1 : ours.starts_with(outside) ? outside.size() : 0;
  const std::size_t end = ours.rfind('.');
  const auto found = std::ranges::find(layout.layers, ours.substr(begin, end - begin), &LayerNames::ours);
  if (found == layout.layers.end()) throw Error(ExitCode::internal, "a layout has no place for ", ours);
  const std::string block = in_block ? line_of(layout.block, ours.substr(number, begin - number)) : "";
  std::vector<std::string> names;
  for (const std::string_view theirs : found->theirs)
    if (!theirs.empty()) names.push_back(line_of(block, theirs, ours.substr(end)));
  return names;
}

/// The shape of their tensor, before transposing.
std::vector<std::int64_t> shape_of(const LayoutRow& row) {
  std::vector<std::int64_t> shape = row.ours.shape;
  shape[0] /= row.parts;
  return shape;
}

OwnTensor as_theirs(const InferenceModel& model, std::span<const Parameter> parameters, const LayoutRow& row) {
  const auto found = std::ranges::find(parameters, row.ours.name, &Parameter::name);
  OwnTensor tensor = float_tensor(row.theirs, shape_of(row));
  const std::span<float> values = tensor.values;
  if (found != parameters.end()) {
    std::copy_n(found->at(model.values()) + row.part * std::ssize(values), values.size(), values.begin());
  } else if (row.ours.role == ParameterRole::gain || row.ours.role == ParameterRole::bias) {
    std::ranges::fill(values, row.ours.role == ParameterRole::gain ? 1.F : 0.F);
  } else {
    throw Error(ExitCode::internal, "a model to export has no parameter ", row.ours.name);
  }
  return row.turned ? transposed(tensor) : tensor;
}

OwnTensor as_ours(ForeignTensors& tensors, const LayoutRow& row, const ReadingOrder& order) {
  std::vector<std::int64_t> shape = shape_of(row);
  if (row.ours.counts_symbols) return in_order(tensors.read(row.theirs, shape, row.ours.name), order.symbols);
  if (row.turned) return transposed(tensors.read(row.theirs, {shape[1], shape[0]}, row.ours.name));
  if (row.part == 0 || order.shared_heads == order.heads) return tensors.read(row.theirs, shape, row.ours.name);
  // If several heads share keys and values, each gets a copy.
  const std::int64_t rows = shape[0], head = rows / order.heads, sharing = order.heads / order.shared_heads;
  std::vector<std::int64_t> copies;
  for (std::int64_t row_of_ours = 0; row_of_ours < rows; ++row_of_ours)
    copies.push_back(row_of_ours / head / sharing * head + row_of_ours % head);
  shape[0] /= sharing;
  return in_order(tensors.read(row.theirs, shape, row.ours.name), copies);
}

}  // namespace

std::vector<TensorView> views_of(const std::vector<OwnTensor>& tensors) {
  std::vector<TensorView> views;
  for (const OwnTensor& tensor : tensors)
    views.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(std::span(tensor.values))});
  return views;
}

ForeignTensors::ForeignTensors(const std::filesystem::path& path, std::string prefix)
    : file_(read_safetensors(path)), prefix_(std::move(prefix)) {}

const TensorView* ForeignTensors::find(const std::string& name) const {
  if (const TensorView* const found = find_tensor(file_.tensors, name)) return found;
  // A bare model, without its head, has names without the prefix.
  return name.starts_with(prefix_) ? find_tensor(file_.tensors, name.substr(prefix_.size())) : nullptr;
}

OwnTensor ForeignTensors::read(const std::string& name, const std::vector<std::int64_t>& shape,
                               const std::string& ours) {
  const TensorView* const found = find(name);
  if (found == nullptr) throw Error(ExitCode::data, source(), " has no tensor ", name, ", which config.json requires");
  if (found->shape != shape)
    throw Error(ExitCode::data, source(), ": tensor ", name, " has shape ", printable(shape_text(found->shape)),
                ", but config.json requires ", shape_text(shape));
  if (found->dtype != "F32" && found->dtype != "F16" && found->dtype != "BF16")
    throw Error(ExitCode::data, source(), ": tensor ", name, " is of type ", printable(found->dtype, 20),
                "; chargpt reads F32, F16 and BF16");
  asked_.insert(found->name);
  OwnTensor tensor = float_tensor(ours, shape);
  if (found->dtype == "F32") std::ranges::copy(found->bytes, std::as_writable_bytes(std::span(tensor.values)).begin());
  if (found->dtype == "F16") convert(found->bytes, tensor.values, from_half);
  if (found->dtype == "BF16") convert(found->bytes, tensor.values, from_bfloat16);
  expect_finite(tensor.values, source(), name);
  return tensor;
}

void ForeignTensors::ignore(const std::string& name) {
  if (const TensorView* const found = find(name)) asked_.insert(found->name);
}

void ForeignTensors::expect_no_more() const {
  chargpt::expect_no_more(file_.tensors, source(), asked_);
}

std::vector<LayoutRow> rows_of(const Layout& layout, const ModelConfig& theirs, std::int64_t symbols) {
  std::vector<LayoutRow> rows;
  for (const Parameter& info : parameter_list(theirs, symbols)) {
    const std::vector<std::string> names = their_names(layout, info.name);
    const auto parts = std::ssize(names);
    const bool is_linear = info.role == ParameterRole::matrix && info.place != Place::head;
    for (std::int64_t part = 0; part < parts; ++part)
      rows.push_back({.theirs = names[static_cast<std::size_t>(part)],
                      .ours = info,
                      .part = part,
                      .parts = parts,
                      .turned = layout.turned && is_linear});
  }
  for (std::int64_t block = 0; block < theirs.n_layer; ++block)
    for (const std::string_view gain : layout.head_gains)
      rows.push_back({.theirs = line_of(layout.block, block, ".", gain, ".weight"),
                      .ours = {.name = "", .shape = {head_width(theirs)}, .role = ParameterRole::gain}});
  return rows;
}

std::vector<OwnTensor> tensors_as_theirs(const InferenceModel& model, const std::vector<LayoutRow>& rows) {
  const std::vector<Parameter> parameters = parameter_list(model.plan());
  std::vector<OwnTensor> tensors;
  for (const LayoutRow& row : rows) tensors.push_back(as_theirs(model, parameters, row));
  return tensors;
}

std::vector<OwnTensor> tensors_as_ours(ForeignTensors& tensors, const std::vector<LayoutRow>& rows,
                                       const ReadingOrder& order) {
  std::vector<OwnTensor> all;
  for (const LayoutRow& row : rows) {
    OwnTensor tensor = as_ours(tensors, row, order);
    const auto known = std::ranges::find(all, row.ours.name, &OwnTensor::name);
    if (row.ours.name.empty()) {
      if (std::ranges::count(tensor.values, 1.F) < std::ssize(tensor.values))
        throw Error(ExitCode::data, tensors.source(), ": ", row.theirs,
                    " is not all ones; chargpt has no gain there, so it cannot represent this model");
    } else if (row.part > 0) {
      known->shape.front() += tensor.shape.front();
      known->values.insert(known->values.end(), tensor.values.begin(), tensor.values.end());
    } else if (known == all.end()) {
      all.push_back(std::move(tensor));
    } else if (known->values != tensor.values) {
      throw Error(ExitCode::data, tensors.source(), ": ", row.theirs, " differs from ",
                  std::ranges::find(rows, row.ours.name, [](const LayoutRow& one) { return one.ours.name; })->theirs,
                  ", but the model of config.json has one parameter for both");
    }
  }
  return all;
}

}  // namespace chargpt
