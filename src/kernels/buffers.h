// Memory of the engine and the decoder: aligned, in one piece, with rows at a distance that suits the cache. Knows no
// model.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/bf16.h"

namespace chargpt::cpu {

constexpr std::int64_t line = 16;  ///< floats of a cache line

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

/// Distance between rows of `width` floats: whole cache lines, and no multiple of 512 bytes, which would put the rows
/// of a column into the same few sets of the cache.
long row_stride(long width);
/// The same of rows of Half, and of rows of pairs of them, filled up to whole panels.
long half_stride(long width);
long pair_stride(long width);

/// Memory aligned to cache lines, zeroed once.
class Floats {
 public:
  explicit Floats(std::int64_t count = 0);
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Free> data_;
};

/// Hands out pieces of one allocation, `slack` floats behind each; without one, counts.
struct Layout {
  float* base;
  std::int64_t slack;
  std::int64_t used = 0;

  float* take(std::int64_t floats);
  float* rows(std::int64_t count, long width) { return take(count * row_stride(width)); }
  Half* halves(std::int64_t count) { return reinterpret_cast<Half*>(take((count + 1) / 2)); }
};

}  // namespace chargpt::cpu
