// Row operations of a model other than matrix products. Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

// ---- Elementwise
//
// y += x, y *= x, y = x; one row added to all rows (a bias), and the sum of all rows (its gradient); the sum of the
// threads' gradient buffers together with its squared norm, for gradient clipping.

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

void broadcast_row(long rows, long width, const float* row, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) { put(y + i, row != nullptr ? get(row + i) : splat(0)); });
}

void add_column_sums(long rows, long width, const float* x, long ldx, float* sums) {
  for (long r = 0; r < rows; ++r, x += ldx)
    for_each_vector(width, [&](long i, auto get, auto put) { put(sums + i, get(sums + i) + get(x + i)); });
}

double sum_buffers(float* to, const float* const* others, long count, long n) {
  double squares = 0;
  constexpr long block = 4096;  // in floats; sums within a block are float32, the sum of blocks is float64
  for (long begin = 0; begin < n; begin += block) {
    Vector partial{};
    const long length = n - begin < block ? n - begin : block;
    for_each_vector(length, [&](long i, auto get, auto put) {
      Vector total = get(to + begin + i);
      for (long other = 0; other < count; ++other) total += get(others[other] + begin + i);
      put(to + begin + i, total);
      partial += total * total;
    });
    squares += static_cast<double>(reduce_add(partial));
  }
  return squares;
}

// ---- Norms
//
// Layer and RMS normalisation of rows x (C), forward and backward:
//
//   layernorm  y = (x - mean(x)) rstd gain + bias,  rstd = 1 / sqrt(var(x) + eps)
//   rmsnorm    y = x rstd gain + bias,              rstd = 1 / sqrt(mean(x^2) + eps)
//
//   With n = (x - mean) rstd and g = dy gain:  dx = rstd (g - mean(g) - n mean(g n)), for rmsnorm without mean(g);
//   dgain = sum over rows of dy n,  dbias = sum over rows of dy.
//
// Sources: Ba, Kiros & Hinton, "Layer Normalization" (2016); Zhang & Sennrich, "Root Mean Square Layer Normalization"
// (2019).

inline float row_mean(NormKind kind, const float* x, long width) {
  if (kind == NormKind::rmsnorm) return 0;
  return row_sum(x, width, [](Vector v) { return v; }) / static_cast<float>(width);
}

void norm(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias,
          float eps, float* y, long ldy, float* stats) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy, stats += 2) {
    const float mean = row_mean(kind, x, width);
    const float variance =
        row_sum(x, width, [mean](Vector v) { return (v - mean) * (v - mean); }) / static_cast<float>(width);
    const float rstd = 1.0F / __builtin_sqrtf(variance + eps);
    stats[0] = mean;
    stats[1] = rstd;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector v = (get(x + i) - mean) * rstd;
      if (gain != nullptr) v *= get(gain + i);
      if (bias != nullptr) v += get(bias + i);
      put(y + i, v);
    });
  }
}

void norm_backward(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain,
                   const float* stats, const float* dy, long lddy, float* dx, long lddx, float* dgain, float* dbias) {
  for (long r = 0; r < rows; ++r, x += ldx, dy += lddy, dx += lddx, stats += 2) {
    const float mean = stats[0], rstd = stats[1];
    Vector sum_g{}, sum_gn{};
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * rstd, d = get(dy + i);
      if (dgain != nullptr) put(dgain + i, get(dgain + i) + d * n);
      if (dbias != nullptr) put(dbias + i, get(dbias + i) + d);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      sum_g += g;  // load_partial sets the missing elements of dy to 0
      sum_gn += g * n;
    });
    const float mean_g = kind == NormKind::layernorm ? reduce_add(sum_g) / static_cast<float>(width) : 0;
    const float mean_gn = reduce_add(sum_gn) / static_cast<float>(width);
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector n = (get(x + i) - mean) * rstd, d = get(dy + i);
      const Vector g = gain != nullptr ? d * get(gain + i) : d;
      put(dx + i, get(dx + i) + (g - mean_g - n * mean_gn) * rstd);
    });
  }
}

// ---- Queries and keys
//
// Queries and keys, head by head: RMS norm without gain (QK-norm), then rotation by position (RoPE). The features x_i
// and x_(i + hs/2) of a head x (hs) are a pair (a, b), rotated at position p by t = p base^(-2i / hs):
//
//   x = x rstd,  rstd = 1 / sqrt(mean(x^2) + eps)
//   (a, b) = (a cos t - b sin t, b cos t + a sin t)
//
//   Rotation preserves dot products, so the norm's gradient, (dx - x mean(dx x)) rstd, is computed from rotated x and
//   dx, and then rotated back by -t.
//
// Sources: Henry et al., "Query-Key Normalization for Transformers" (2020); Su et al., "RoFormer" (2021).

/// (a, b) of the two halves -> (a cos - b sin, b cos + a sin); `direction` -1 rotates back.
inline void rotate(float* x, long hs, const float* cosines, const float* sines, float direction) {
  const long half = hs / 2;
  for_each_vector(half, [&](long i, auto get, auto put) {
    const Vector a = get(x + i), b = get(x + half + i);
    const Vector c = get(cosines + i), s = get(sines + i) * direction;
    put(x + i, a * c - b * s);
    put(x + half + i, b * c + a * s);
  });
}

void qk_norm_rope(long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* rstd,
                  const float* cosines, const float* sines) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      float* const head = x + r * ldx + h * hs;
      if (rstd != nullptr) {
        const float square = row_sum(head, hs, [](Vector v) { return v * v; }) / static_cast<float>(hs);
        const float head_rstd = rstd[r * heads + h] = 1.0F / __builtin_sqrtf(square + eps);
        for_each_vector(hs, [&](long i, auto get, auto put) { put(head + i, get(head + i) * head_rstd); });
      }
      if (cosines != nullptr) rotate(head, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), 1);
    }
}

void qk_norm_rope_backward(long rows, long T, long heads, long hs, const float* x, long ldx, const float* rstd,
                           const float* cosines, const float* sines, float* dx, long lddx) {
  for (long r = 0; r < rows; ++r)
    for (long h = 0; h < heads; ++h) {
      const float* const head = x + r * ldx + h * hs;
      float* const gradient = dx + r * lddx + h * hs;
      if (rstd != nullptr) {
        Vector dot{};
        for_each_vector(hs, [&](long i, auto get, auto) { dot += get(head + i) * get(gradient + i); });
        const float mean = reduce_add(dot) / static_cast<float>(hs), head_rstd = rstd[r * heads + h];
        for_each_vector(hs, [&](long i, auto get, auto put) {
          put(gradient + i, (get(gradient + i) - get(head + i) * mean) * head_rstd);
        });
      }
      if (cosines != nullptr) rotate(gradient, hs, cosines + r % T * (hs / 2), sines + r % T * (hs / 2), -1);
    }
}

// ---- Activations
//
// Elementwise activations y = f(x). Each replaces x by f'(x): f and f' share their exponential, and backward is only a
// multiplication.
//
//   gelu       f = x Phi(x)             f' = Phi(x) + x phi(x), of the normal distribution
//   gelu_tanh  f = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2
//   relu       f = max(x, 0)            f' = 1 for x > 0, else 0
//   relu2      f = max(x, 0)^2          f' = 2 max(x, 0)
//   silu       f = x sigmoid(x)         f' = sigmoid(x) + f (1 - sigmoid(x))
//   swiglu     y = x silu(gate)         dx = dy silu(gate), dgate = dy x silu'(gate)
//
// Sources: Hendrycks & Gimpel, "Gaussian Error Linear Units" (2016); So et al., "Primer" (2021) for relu2; Shazeer,
// "GLU Variants Improve Transformer" (2020) for swiglu.

struct ValueAndDerivative {
  Vector value, derivative;
};

/// With z = |x| / sqrt 2, 1 - Phi(|x|) = erfc(z) / 2 and the density phi(x) share e^(-z z).
inline ValueAndDerivative gelu(Vector x) {
  const Vector size = x < 0 ? -x : x;
  const Vector z = size * 0.707106781F;
  const Vector density = exp(-z * z);
  const Vector tail = 0.5F * density * erfcx(z);
  const Vector cdf = x < 0 ? tail : 1.0F - tail;
  return {x * cdf, cdf + x * density * 0.398942280F};
}

inline ValueAndDerivative gelu_tanh(Vector x) {
  const Vector square = x * x;
  const Sigmoid s = sigmoid(1.59576912F * x * (1.0F + 0.044715F * square));  // (1 + tanh y) / 2 = sigmoid(2 y)
  return {x * s.value, s.value + x * s.value * s.complement * 1.59576912F * (1.0F + 0.134145F * square)};
}

inline ValueAndDerivative silu(Vector x) {
  const Sigmoid s = sigmoid(x);
  return {x * s.value, s.value + x * s.value * s.complement};
}

inline ValueAndDerivative relu(Vector x) {
  return {x < 0 ? splat(0) : x, x > 0 ? splat(1) : splat(0)};  // this order preserves a NaN
}

inline ValueAndDerivative relu2(Vector x) {
  const Vector positive = x < 0 ? splat(0) : x;
  return {positive * positive, positive + positive};
}

template <ValueAndDerivative (*function)(Vector)>
inline void apply(long rows, long width, float* x, long ldx, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) {
      const ValueAndDerivative f = function(get(x + i));
      put(y + i, f.value);
      put(x + i, f.derivative);
    });
}

void activation(ActivationKind kind, long rows, long width, float* x, long ldx, float* y, long ldy) {
  // In the order of ActivationKind.
  constexpr decltype(&apply<gelu>) by_kind[] = {apply<gelu>, apply<gelu_tanh>, apply<relu>, apply<relu2>, apply<silu>};
  by_kind[static_cast<int>(kind)](rows, width, x, ldx, y, ldy);
}

void swiglu(long rows, long width, float* x, float* gate, long ld, float* y, long ldy) {
  for (long r = 0; r < rows; ++r, x += ld, gate += ld, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) {
      const Vector value = get(x + i);
      const ValueAndDerivative f = silu(get(gate + i));
      put(y + i, value * f.value);
      put(x + i, f.value);
      put(gate + i, value * f.derivative);
    });
}

// ---- Convolutions
//
// Short causal convolutions of each channel over the tokens of a window, added to their input:
//
//   y_t = x_t + sum over j of w_j x_(t-j),  for j from 0 to taps - 1 within the window
//   dx_t = dy_t + sum over j of w_j dy_(t+j),  dw_j = sum over t of dy_t x_(t-j)
//
// w (taps, C). Sources: So et al., "Primer" (2021); Allen-Zhu, "Physics of language models: part 4.1, canon layers"
// (2025).

void convolve(long rows, long seen, long width, long taps, const float* x, long ldx, const float* w, float* y,
              long ldy) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy) {
    const long reach = seen + r + 1 < taps ? seen + r + 1 : taps;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum = get(x + i);
      for (long j = 0; j < reach; ++j) sum += get(w + j * width + i) * get(x - j * ldx + i);
      put(y + i, sum);
    });
  }
}

void convolve_backward(long rows, long width, long taps, const float* x, long ldx, const float* w, const float* dy,
                       long lddy, float* dx, long lddx, float* dw) {
  for (long r = 0; r < rows; ++r) {
    const long reach = rows - r < taps ? rows - r : taps;
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum = get(dy + r * lddy + i);
      for (long j = 0; j < reach; ++j) sum += get(w + j * width + i) * get(dy + (r + j) * lddy + i);
      put(dx + r * lddx + i, sum);
    });
  }
  for (long j = 0; j < taps; ++j)
    for_each_vector(width, [&](long i, auto get, auto put) {
      Vector sum{};
      for (long r = j; r < rows; ++r) sum += get(dy + r * lddy + i) * get(x + (r - j) * ldx + i);
      put(dw + j * width + i, get(dw + j * width + i) + sum);
    });
}

// ---- Dropout
//
// Inverted dropout: y = x m / (1 - rate), where m is 0 with probability `rate` and else 1. Element i uses word
// i mod 4 of Philox block i / 4, so a mask depends only on its key: backward recomputes it instead of storing
// it.
//
// Sources: Srivastava et al., "Dropout" (2014); Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011) for
// Philox 4x32-10.

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

/// One half of the sequence a0 b0 a1 b1 ...: the second if `Second`, else the first.
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

/// The words of the blocks in order: 4 vectors.
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
  const long skipped = static_cast<long>(first_element % 4);  // words of the first block that the previous row uses
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

// ---- Cross-entropy
//
// Cross-entropy of logits (rows, V), and its gradient, which replaces them:
//
//   loss = log(sum_j e^(logits_j - max)) + max - logits_target
//   dlogits = scale (softmax(logits) - onehot(target))
//
// A row with a negative target does not count: its loss and its gradient are 0.
//
// The target may be a mixture (1 - w) onehot(target) + w q with a distribution q, as in distillation (Hinton, Vinyals &
// Dean 2015). The gradient is linear in the target, so mix_targets adds to that of cross_entropy, with share = scale w:
//
//   dlogits += share (onehot(target) - q)

inline float row_max(const float* x, long width) {
  constexpr float least = -__builtin_inff();
  Vector found = splat(least);
  long i = 0;
  for (; i + lanes <= width; i += lanes) found = max(found, load(x + i));
  if (i < width) found = max(found, load_partial(x + i, width - i, least));
  return reduce_max(found);
}

/// Replaces x by e^(x - shift); returns the sum of the result.
inline float exp_and_sum(float* x, long width, float shift) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) {
    const Vector e = exp(load(x + i) - shift);
    store(x + i, e);
    total += e;
  }
  if (const long left = width - i; left > 0) {
    const Vector e = keep_first(exp(load_partial(x + i, left) - shift), left);
    store_partial(x + i, e, left);
    total += e;
  }
  return reduce_add(total);
}

void cross_entropy(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses) {
  for (long r = 0; r < rows; ++r, logits += ld) {
    if (targets[r] < 0) {
      losses[r] = 0;
      for_each_vector(V, [&](long i, auto, auto put) { put(logits + i, splat(0)); });
      continue;
    }
    const float target_logit = logits[targets[r]], max_logit = row_max(logits, V);
    const float total = exp_and_sum(logits, V, max_logit);
    losses[r] = __builtin_logf(total) + max_logit - target_logit;
    if (scale == 0) continue;
    const float factor = scale / total;
    for_each_vector(V, [&](long i, auto get, auto put) { put(logits + i, get(logits + i) * factor); });
    logits[targets[r]] -= scale;
  }
}

void mix_targets(long rows, long V, const std::int64_t* targets, const float* q, float share, float* dlogits, long ld) {
  for (long r = 0; r < rows; ++r, q += V, dlogits += ld) {
    if (targets[r] < 0) continue;
    for_each_vector(V, [&](long i, auto get, auto put) { put(dlogits + i, get(dlogits + i) - get(q + i) * share); });
    dlogits[targets[r]] += share;
  }
}

void add_softmax(long rows, long V, float* logits, float weight, float* q) {
  for (long r = 0; r < rows; ++r, logits += V, q += V) {
    const float factor = weight / exp_and_sum(logits, V, row_max(logits, V));
    for_each_vector(V, [&](long i, auto get, auto put) { put(q + i, get(q + i) + get(logits + i) * factor); });
  }
}

}  // namespace
}  // namespace chargpt::cpu
