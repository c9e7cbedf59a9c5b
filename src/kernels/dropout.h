// Dropout in the inverted form: y = x m / (1 - rate), where m = 0 with probability `rate` and else 1. Element i takes
// word i mod 4 of Philox block i / 4, so that a mask is a function of its key and of nothing else: backward draws it
// again instead of keeping it.
//
// Sources: Srivastava et al., "Dropout" (2014); Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011) for
// Philox 4x32-10. Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

using Uint32Vector = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));
using Uint64Vector = std::uint64_t __attribute__((vector_size(lanes * sizeof(std::uint64_t))));

struct WideProduct {
  Uint32Vector high, low;
};

inline WideProduct wide_product(Uint32Vector a, std::uint32_t b) {
  const Uint64Vector full = __builtin_convertvector(a, Uint64Vector) * std::uint64_t{b};
  return {__builtin_convertvector(full >> 32, Uint32Vector), __builtin_convertvector(full, Uint32Vector)};
}

/// base/random.h's philox for `lanes` consecutive counters at once: word w of block l at word[w][l].
struct PhiloxBlocks {
  Uint32Vector word[4];
};
inline PhiloxBlocks philox_blocks(std::uint64_t first_block, const DropoutMask& mask) {
  Uint32Vector c0, c1;
  for (long l = 0; l < lanes; ++l) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(l);
    c0[l] = static_cast<std::uint32_t>(block);
    c1[l] = static_cast<std::uint32_t>(block >> 32);
  }
  Uint32Vector c2 = Uint32Vector{} + mask.layer, c3{};
  std::uint32_t k0 = mask.key[0], k1 = mask.key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const WideProduct even = wide_product(c0, 0xD2511F53), odd = wide_product(c2, 0xCD9E8D57);
    c0 = odd.high ^ c1 ^ k0;
    c1 = odd.low;
    c2 = even.high ^ c3 ^ k1;
    c3 = even.low;
  }
  return {{c0, c1, c2, c3}};
}

/// a0 b0 a1 b1 ...: the first half of it, or the second.
template <bool Second>
inline Uint32Vector interleave(Uint32Vector a, Uint32Vector b) {
  Uint32Vector order;
  for (long l = 0; l < lanes; ++l)
    order[l] = static_cast<std::uint32_t>((Second ? lanes / 2 : 0) + l / 2 + (l % 2) * lanes);
#if defined(__clang__)
  Uint32Vector result;
  for (long l = 0; l < lanes; ++l) result[l] = order[l] < lanes ? a[order[l]] : b[order[l] - lanes];
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

/// The words of the blocks one after the other: 4 vectors.
inline void in_element_order(const PhiloxBlocks& blocks, Uint32Vector (&out)[4]) {
  const Uint32Vector(&w)[4] = blocks.word;
  const Uint32Vector even = interleave<false>(w[0], w[2]), odd = interleave<false>(w[1], w[3]);
  const Uint32Vector even_end = interleave<true>(w[0], w[2]), odd_end = interleave<true>(w[1], w[3]);
  out[0] = interleave<false>(even, odd);
  out[1] = interleave<true>(even, odd);
  out[2] = interleave<false>(even_end, odd_end);
  out[3] = interleave<true>(even_end, odd_end);
}

void dropout_row(const DropoutMask& mask, std::uint64_t first_element, long width, float* x) {
  const auto threshold = static_cast<std::uint32_t>(mask.threshold);
  const Vector scale = splat(mask.scale);
  const long skipped = static_cast<long>(first_element % 4);  // of the first block, by the row before
  for (long i = -skipped; i < width; i += 4 * lanes) {
    Uint32Vector random[4];
    in_element_order(philox_blocks((first_element + static_cast<std::uint64_t>(i + skipped)) / 4, mask), random);
    for (long quarter = 0; quarter < 4; ++quarter) {
      const long begin = i + quarter * lanes, from = begin < 0 ? -begin : 0;
      const long end = width - begin < lanes ? width - begin : lanes;
      if (end <= from) break;
      const Vector factor = random[quarter] >= threshold ? scale : Vector{};
      if (from == 0 && end == lanes)
        store(x + begin, load(x + begin) * factor);
      else
        for (long l = from; l < end; ++l) x[begin + l] *= factor[l];
    }
  }
}

void dropout(const DropoutMask& mask, std::uint64_t first_element, long rows, long width, float* x, long ldx) {
  for (long r = 0; r < rows; ++r)
    dropout_row(mask, first_element + static_cast<std::uint64_t>(r * width), width, x + r * ldx);
}

}  // namespace
}  // namespace chargpt::cpu
