#include "compute/cpu/buffers.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace chargpt::cpu {

long row_stride(long width) {
  const std::int64_t floats = rounded_up(width, line);
  return static_cast<long>(floats % 128 == 0 ? floats + line : floats);
}

long half_stride(long width) {
  return 2 * row_stride((width + 1) / 2);
}

long pair_stride(long width) {
  return 2 * row_stride(rounded_up(width, 2 * line));
}

Floats::Floats(std::int64_t count) {
  if (count == 0) return;
  const auto bytes = static_cast<std::size_t>(rounded_up(count, line)) * sizeof(float);
  data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
  if (!data_) throw std::bad_alloc();
  std::memset(data_.get(), 0, bytes);
}

void Floats::Free::operator()(float* data) const {
  std::free(data);
}

float* Layout::take(std::int64_t floats) {
  float* const piece = base == nullptr ? nullptr : base + used;
  used += rounded_up(floats + slack, line);
  return piece;
}

}  // namespace chargpt::cpu
