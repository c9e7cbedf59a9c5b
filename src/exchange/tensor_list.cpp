#include "exchange/tensor_list.h"

#include <algorithm>
#include <utility>

namespace chargpt {

void TensorList::copy(const std::string& name, const NamedParameter& parameter) {
  rows(name, parameter, 0, parameter.shape.front());
}

void TensorList::rows(const std::string& name, const NamedParameter& parameter, std::int64_t first,
                      std::int64_t count) {
  std::vector<std::int64_t> shape = parameter.shape;
  const std::int64_t width = parameter.numel() / shape.front();
  shape.front() = count;
  const std::span values(parameter.values + first * width, static_cast<std::size_t>(count * width));
  views_.push_back({name, "F32", std::move(shape), std::as_bytes(values)});
}

void TensorList::transposed(const std::string& name, const NamedParameter& parameter) {
  const std::int64_t rows = parameter.shape.at(0), columns = parameter.shape.at(1);
  const std::span<float> to = own(name, {columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to[static_cast<std::size_t>(j * rows + i)] = parameter.values[i * columns + j];
}

void TensorList::constant(const std::string& name, std::vector<std::int64_t> shape, float value) {
  std::ranges::fill(own(name, std::move(shape)), value);
}

std::span<float> TensorList::own(const std::string& name, std::vector<std::int64_t> shape) {
  std::size_t numel = 1;
  for (const std::int64_t size : shape) numel *= static_cast<std::size_t>(size);
  std::vector<float>& values = memory_.emplace_back(numel);  // its numbers stay where they are when memory_ grows
  views_.push_back({name, "F32", std::move(shape), std::as_bytes(std::span(values))});
  return values;
}

}  // namespace chargpt
