#include "kernels/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
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

// calloc does not write to pages that the system has just zeroed, and a thread's pages come from its own memory bank.
AlignedFloats::AlignedFloats(std::int64_t count) : size_(count) {
  if (count == 0) return;
  const std::size_t unit = unit_of(count) * sizeof(float), bytes = rounded_up(count, unit_of(count)) * sizeof(float);
  std::size_t room = bytes + unit;
  block_.reset(std::calloc(1, room));
  if (!block_) throw std::bad_alloc();
  void* start = block_.get();
  data_ = static_cast<float*>(std::align(unit, bytes, start, room));
#ifdef MADV_HUGEPAGE
  if (count >= huge_page) madvise(data_, bytes, MADV_HUGEPAGE);  // a hint: without it address translation is slower
#endif
}

AlignedFloats AlignedFloats::copy() const {
  AlignedFloats other(size_);
  std::ranges::copy(all(), other.data());
  return other;
}

float* BumpAllocator::allocate(std::int64_t floats) {
  float* const piece = base == nullptr ? nullptr : base + used;
  used += rounded_up(floats + slack, cache_line);
  return piece;
}

}  // namespace chargpt::cpu
