// Passes over rows: norms, activations, sums, rotation, dropout, cross-entropy. Included after vector.inl, once per
// instruction set. Knows no tensor and no model.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

// ---- norms

/// Sum over one row of f(element).
template <class F>
inline float row_sum(const float* x, long width, F&& f) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) total += f(load(x + i));
  if (i < width) total += only_first(f(load_some(x + i, width - i)), width - i);
  return sum(total);
}

inline float row_mean(RowNorm kind, const float* x, long width) {
  if (kind == RowNorm::rmsnorm) return 0;
  return row_sum(x, width, [](Vector v) { return v; }) / static_cast<float>(width);
}

void norm(RowNorm kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias,
          float eps, float* y, long ldy, float* statistics) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy, statistics += 2) {
    const float mean = row_mean(kind, x, width);
    const float variance =
        row_sum(x, width, [mean](Vector v) { return (v - mean) * (v - mean); }) / static_cast<float>(width);
    const float inverse = 1.0F / __builtin_sqrtf(variance + eps);
    statistics[0] = mean;
    statistics[1] = inverse;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector v = (get(x + i) - mean) * inverse;
      if (gain != nullptr) v *= get(gain + i);
      if (bias != nullptr) v += get(bias + i);
      put(y + i, v);
    });
  }
}

/// With n = (x - mean) / deviation and g = dy gain: dx = (g - mean(g) - n mean(g n)) / deviation, without mean(g) for
/// rmsnorm.
void norm_backward(RowNorm kind, long rows, long width, const float* x, long ldx, const float* gain,
                   const float* statistics, const float* dy, long lddy, float* dx, long lddx, float* dgain,
                   float* dbias) {
  for (long r = 0; r < rows; ++r, x += ldx, dy += lddy, dx += lddx, statistics += 2) {
    const float mean = statistics[0], inverse = statistics[1];
    Vector sum_g{}, sum_gn{};
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * inverse, d = get(dy + i);
      if (dgain != nullptr) put(dgain + i, get(dgain + i) + d * n);
      if (dbias != nullptr) put(dbias + i, get(dbias + i) + d);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      sum_g += g;  // what lies behind a short row is 0 in dy
      sum_gn += g * n;
    });
    const float mean_g = kind == RowNorm::layernorm ? sum(sum_g) / static_cast<float>(width) : 0;
    const float mean_gn = sum(sum_gn) / static_cast<float>(width);
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * inverse, d = get(dy + i);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      put(dx + i, get(dx + i) + (g - mean_g - n * mean_gn) * inverse);
    });
  }
}

// ---- activations

struct Bent {
  Vector value, slope;
};

/// x Phi(x); with z = |x| / sqrt 2, 1 - Phi(|x|) = erfc(z) / 2 and the density share e^(-z z).
inline Bent gelu(Vector x) {
  const Vector size = x < 0 ? -x : x;
  const Vector z = size * 0.707106781F;
  const Vector bell = exponential(-z * z);
  const Vector tail = 0.5F * bell * scaled_erfc(z);
  const Vector below = x < 0 ? tail : 1.0F - tail;
  return {x * below, below + x * bell * 0.398942280F};
}

inline Bent gelu_tanh(Vector x) {
  const Vector square = x * x;
  const Sigmoid s = sigmoid(1.59576912F * x * (1.0F + 0.044715F * square));  // (1 + tanh y) / 2 = sigmoid(2 y)
  return {x * s.value, s.value + x * s.value * s.rest * 1.59576912F * (1.0F + 0.134145F * square)};
}

inline Bent silu(Vector x) {
  const Sigmoid s = sigmoid(x);
  return {x * s.value, s.value + x * s.value * s.rest};
}

inline Bent relu(Vector x) {
  return {x < 0 ? splat(0) : x, x > 0 ? splat(1) : splat(0)};  // in this order a NaN stays one
}

inline Bent relu2(Vector x) {
  const Vector positive = x < 0 ? splat(0) : x;
  return {positive * positive, positive + positive};
}

template <class Function>
inline void bend(long rows, long width, float* x, long ldx, float* y, long ldy, Function&& function) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Bent bent = function(get(x + i));
      put(y + i, bent.value);
      put(x + i, bent.slope);
    });
}

void curve(Curve kind, long rows, long width, float* x, long ldx, float* y, long ldy) {
  switch (kind) {
    case Curve::gelu:
      return bend(rows, width, x, ldx, y, ldy, [](Vector v) { return gelu(v); });
    case Curve::gelu_tanh:
      return bend(rows, width, x, ldx, y, ldy, [](Vector v) { return gelu_tanh(v); });
    case Curve::relu:
      return bend(rows, width, x, ldx, y, ldy, [](Vector v) { return relu(v); });
    case Curve::relu2:
      return bend(rows, width, x, ldx, y, ldy, [](Vector v) { return relu2(v); });
    case Curve::silu:
      return bend(rows, width, x, ldx, y, ldy, [](Vector v) { return silu(v); });
  }
}

void gated(long rows, long width, float* x, float* gate, long ld, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ld, gate += ld, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector value = get(x + i);
      const Bent open = silu(get(gate + i));
      put(y + i, value * open.value);
      put(x + i, open.value);
      put(gate + i, value * open.slope);
    });
}

// ---- sums and copies

void add(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(y + i) + get(x + i)); });
}

void multiply(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(y + i) * get(x + i)); });
}

void copy(long rows, long width, const float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, get(x + i)); });
}

void fill(long rows, long width, const float* bias, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, bias != nullptr ? get(bias + i) : splat(0)); });
}

void add_rows(long rows, long width, const float* dy, long lddy, float* dbias) {
  for (long r = 0; r < rows; ++r, dy += lddy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(dbias + i, get(dbias + i) + get(dy + i)); });
}

double sum_buffers(float* to, const float* const* others, long count, long n) {
  double squares = 0;
  constexpr long block = 4096;  // floats, so that a block's squares are summed in float32 and blocks in float64
  for (long begin = 0; begin < n; begin += block) {
    Vector partial{};
    const long length = n - begin < block ? n - begin : block;
    for_each_vector(length, [&](long i, auto get, auto put) {
      Vector total = get(to + begin + i);
      for (long other = 0; other < count; ++other) total += get(others[other] + begin + i);
      put(to + begin + i, total);
      partial += total * total;
    });
    squares += static_cast<double>(sum(partial));
  }
  return squares;
}

// ---- dropout

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

// ---- queries and keys

/// (a, b) of the two halves -> (a cos - b sin, b cos + a sin); `direction` -1 turns back.
inline void rotate(float* x, long hs, const float* cosines, const float* sines, float direction) {
  const long half = hs / 2;
  for_each_vector(half, [&](long i, auto get, auto put) {
    const Vector a = get(x + i), b = get(x + half + i);
    const Vector c = get(cosines + i), s = get(sines + i) * direction;
    put(x + i, a * c - b * s);
    put(x + half + i, b * c + a * s);
  });
}

void turn(long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* inverse, const float* cosines,
          const float* sines) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      float* const head = x + r * ldx + h * hs;
      if (inverse != nullptr) {
        const float square = row_sum(head, hs, [](Vector v) { return v * v; }) / static_cast<float>(hs);
        const float scale = inverse[r * heads + h] = 1.0F / __builtin_sqrtf(square + eps);
        for_each_vector(hs, [&](long i, auto get, auto put) { put(head + i, get(head + i) * scale); });
      }
      if (cosines != nullptr) rotate(head, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), 1);
    }
}

/// Rotation keeps dot products, so the norm's gradient, (d - x mean(d x)) / rms, is taken before turning back.
void turn_backward(long rows, long T, long heads, long hs, const float* x, long ldx, const float* inverse,
                   const float* cosines, const float* sines, float* dx, long lddx) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      const float* const head = x + r * ldx + h * hs;
      float* const gradient = dx + r * lddx + h * hs;
      if (inverse != nullptr) {
        Vector dot{};
        for_each_vector(hs, [&](long i, auto get, auto) { dot += get(head + i) * get(gradient + i); });
        const float mean = sum(dot) / static_cast<float>(hs), scale = inverse[r * heads + h];
        for_each_vector(hs, [&](long i, auto get, auto put) {
          put(gradient + i, (get(gradient + i) - get(head + i) * mean) * scale);
        });
      }
      if (cosines != nullptr) rotate(gradient, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), -1);
    }
}

// ---- softmax

inline float row_largest(const float* x, long width) {
  constexpr float least = -__builtin_inff();
  Vector found = splat(least);
  long i = 0;
  for (; i + lanes <= width; i += lanes) found = larger(found, load(x + i));
  if (i < width) found = larger(found, load_some(x + i, width - i, least));
  return largest(found);
}

/// x = e^(scale x - shift), and their sum.
inline float row_exponentials(float* x, long width, float scale, float shift) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) {
    const Vector e = exponential(load(x + i) * scale - shift);
    store(x + i, e);
    total += e;
  }
  if (const long left = width - i; left > 0) {
    const Vector e = only_first(exponential(load_some(x + i, left) * scale - shift), left);
    store_some(x + i, e, left);
    total += e;
  }
  return sum(total);
}

void cross_entropy(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses) {
  for (long r = 0; r < rows; ++r, logits += ld) {
    const float of_target = logits[targets[r]], most = row_largest(logits, V);
    const float total = row_exponentials(logits, V, 1, most);
    losses[r] = __builtin_logf(total) + most - of_target;
    if (scale == 0) continue;
    const float share = scale / total;
    for_each_vector(V, [&](long i, auto get, auto put) { put(logits + i, get(logits + i) * share); });
    logits[targets[r]] -= scale;
  }
}

// ---- this machine's limit

double burn(long rounds) {
  // Ten different chains: as many as hide the latency of an addition on today's processors, and no two that could be
  // one.
  Vector s0 = splat(0.01F), s1 = s0 + s0, s2 = s1 + s0, s3 = s2 + s0, s4 = s3 + s0, s5 = s4 + s0, s6 = s5 + s0,
         s7 = s6 + s0, s8 = s7 + s0, s9 = s8 + s0;
  const Vector a = splat(0.999F), b = splat(0.001F);
  for (long i = 0; i < rounds; ++i) {
    s0 = s0 * a + b, s1 = s1 * a + b, s2 = s2 * a + b, s3 = s3 * a + b, s4 = s4 * a + b;
    s5 = s5 * a + b, s6 = s6 * a + b, s7 = s7 * a + b, s8 = s8 * a + b, s9 = s9 * a + b;
  }
  volatile float kept = sum(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);
  static_cast<void>(kept);
  return static_cast<double>(rounds) * 10 * 2 * lanes;
}

}  // namespace

}  // namespace chargpt::cpu
