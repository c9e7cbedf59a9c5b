// Memory of the engine and the decoder: aligned, in one piece, with row strides that suit the cache. Knows no model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/bf16.h"

namespace chargpt::cpu {

constexpr std::int64_t cache_line = 16;  ///< floats of a cache line

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

/// Distance between rows of `width` floats: whole cache lines, and no multiple of 512 bytes, which would put the rows
/// of a column into the same few sets of the cache.
long row_stride(long width);
/// The same for rows of Bf16, and for rows in VNNI layout (bf16.h), filled up to whole panels.
long bf16_stride(long width);
long vnni_stride(long width);

/// Memory aligned to cache lines, zeroed once.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count = 0);
  float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<float> all() const { return {data(), static_cast<std::size_t>(size_)}; }
  AlignedFloats copy() const;

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Free> data_;
  std::int64_t size_ = 0;
};

/// Hands out pieces of one allocation, `slack` floats behind each; without one, only counts.
struct BumpAllocator {
  float* base;
  std::int64_t slack;
  std::int64_t used = 0;

  float* allocate(std::int64_t floats);
  float* rows(std::int64_t count, long width) { return allocate(count * row_stride(width)); }
  Bf16* bf16(std::int64_t count) { return reinterpret_cast<Bf16*>(allocate((count + 1) / 2)); }
};

}  // namespace chargpt::cpu
