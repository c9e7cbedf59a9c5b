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

using Words = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));
using Pairs = std::uint64_t __attribute__((vector_size(lanes * sizeof(std::uint64_t))));

struct Product {
  Words high, low;
};

inline Product wide_product(Words a, std::uint32_t b) {
  const Pairs full = __builtin_convertvector(a, Pairs) * std::uint64_t{b};
  return {__builtin_convertvector(full >> 32, Words), __builtin_convertvector(full, Words)};
}

/// base/random.h's philox for `lanes` consecutive counters at once: word w of block l at word[w][l].
struct Blocks {
  Words word[4];
};
inline Blocks philox_blocks(std::uint64_t first_block, const DropoutWords& words) {
  Words c0, c1;
  for (long l = 0; l < lanes; ++l) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(l);
    c0[l] = static_cast<std::uint32_t>(block);
    c1[l] = static_cast<std::uint32_t>(block >> 32);
  }
  Words c2 = Words{} + words.layer, c3{};
  std::uint32_t k0 = words.key[0], k1 = words.key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const Product even = wide_product(c0, 0xD2511F53), odd = wide_product(c2, 0xCD9E8D57);
    c0 = odd.high ^ c1 ^ k0;
    c1 = odd.low;
    c2 = even.high ^ c3 ^ k1;
    c3 = even.low;
  }
  return {{c0, c1, c2, c3}};
}

/// a0 b0 a1 b1 …: the first half of it, or the second.
template <bool Second>
inline Words alternating(Words a, Words b) {
  Words order;
  for (long l = 0; l < lanes; ++l)
    order[l] = static_cast<std::uint32_t>((Second ? lanes / 2 : 0) + l / 2 + (l % 2) * lanes);
#if defined(__clang__)
  Words result;
  for (long l = 0; l < lanes; ++l) result[l] = order[l] < lanes ? a[order[l]] : b[order[l] - lanes];
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

/// The words of the blocks one after the other: 4 vectors.
inline void in_order(const Blocks& blocks, Words (&out)[4]) {
  const Words(&w)[4] = blocks.word;
  const Words even = alternating<false>(w[0], w[2]), odd = alternating<false>(w[1], w[3]);
  const Words even_end = alternating<true>(w[0], w[2]), odd_end = alternating<true>(w[1], w[3]);
  out[0] = alternating<false>(even, odd);
  out[1] = alternating<true>(even, odd);
  out[2] = alternating<false>(even_end, odd_end);
  out[3] = alternating<true>(even_end, odd_end);
}

void drop_row(const DropoutWords& words, std::uint64_t first, long width, float* x) {
  const auto least = static_cast<std::uint32_t>(words.first_kept);
  const Vector kept = splat(words.kept);
  const long skipped = static_cast<long>(first % 4);  // of the first block, by the row before
  for (long i = -skipped; i < width; i += 4 * lanes) {
    Words random[4];
    in_order(philox_blocks((first + static_cast<std::uint64_t>(i + skipped)) / 4, words), random);
    for (long part = 0; part < 4; ++part) {
      const long begin = i + part * lanes, from = begin < 0 ? -begin : 0;
      const long end = width - begin < lanes ? width - begin : lanes;
      if (end <= from) break;
      const Vector factor = random[part] >= least ? kept : Vector{};
      if (from == 0 && end == lanes)
        store(x + begin, load(x + begin) * factor);
      else
        for (long l = from; l < end; ++l) x[begin + l] *= factor[l];
    }
  }
}

void drop(const DropoutWords& words, std::uint64_t first, long rows, long width, float* x, long ldx) {
  for (long r = 0; r < rows; ++r) drop_row(words, first + static_cast<std::uint64_t>(r * width), width, x + r * ldx);
}

}  // namespace
}  // namespace chargpt::cpu
