#include "kernels/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace chargpt::cpu {
namespace {

constexpr std::int64_t huge_page = 2 * 1024 * 1024 / sizeof(float);  ///< floats

/// Alignment in floats of both ends of an allocation of `count` floats.
std::int64_t unit_of(std::int64_t count) {
  return count >= huge_page ? huge_page : cache_line;
}

}  // namespace

long row_stride(long width) {
  const std::int64_t floats = rounded_up(width, cache_line);
  return static_cast<long>(floats % 128 == 0 ? floats + cache_line : floats);
}

long bf16_stride(long width) {
  return 2 * row_stride((width + 1) / 2);
}

long vnni_stride(long width) {
  return 2 * row_stride(rounded_up(width, 2 * cache_line));
}

AlignedFloats::AlignedFloats(std::int64_t count) : size_(count) {
  if (count == 0) return;
  const std::int64_t unit = unit_of(count);  // large allocations use whole huge pages
  const std::size_t bytes = static_cast<std::size_t>(rounded_up(count, unit)) * sizeof(float);
  data_.reset(static_cast<float*>(std::aligned_alloc(static_cast<std::size_t>(unit) * sizeof(float), bytes)));
  if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (count >= huge_page)
    madvise(data_.get(), bytes, MADV_HUGEPAGE);  // a hint; without huge pages only address translation is slower
#endif
  std::memset(data_.get(), 0, bytes);
}

AlignedFloats AlignedFloats::copy() const {
  AlignedFloats other(size_);
  std::ranges::copy(all(), other.data());
  return other;
}

void AlignedFloats::Free::operator()(float* data) const {
  std::free(data);
}

float* BumpAllocator::allocate(std::int64_t floats) {
  float* const piece = base == nullptr ? nullptr : base + used;
  used += rounded_up(floats + slack, cache_line);
  return piece;
}

}  // namespace chargpt::cpu
