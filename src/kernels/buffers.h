// Memory of the engine and the decoder: aligned, with cache-friendly row strides. Independent of models.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "kernels/bf16.h"

namespace chargpt::cpu {

constexpr std::int64_t cache_line = 16;  ///< floats per cache line

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

/// Row stride for rows of `width` floats: whole cache lines, and not a multiple of 512 bytes, because such a stride
/// maps a column to only a few cache sets.
long row_stride(long width);
/// Row strides in Bf16 for plain rows and for rows in VNNI layout (bf16.h), which are padded to whole panels.
long bf16_stride(long width);
long vnni_stride(long width);

/// Memory aligned to cache lines and initialized with zeros. Pages that nothing touches take no memory.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count = 0);
  float* data() const { return data_; }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<float> all() const { return {data(), static_cast<std::size_t>(size_)}; }
  AlignedFloats copy() const;

 private:
  std::unique_ptr<void, void (*)(void*)> block_{nullptr, std::free};
  float* data_ = nullptr;  ///< the first aligned place in the block
  std::int64_t size_ = 0;
};

/// Splits one allocation into pieces, each followed by `slack` floats; if `base` is null, only counts the floats.
struct BumpAllocator {
  float* base;
  std::int64_t slack;
  std::int64_t used = 0;

  float* allocate(std::int64_t floats);
  float* rows(std::int64_t count, long width) { return allocate(count * row_stride(width)); }
  Bf16* bf16(std::int64_t count) { return reinterpret_cast<Bf16*>(allocate((count + 1) / 2)); }
};

}  // namespace chargpt::cpu
