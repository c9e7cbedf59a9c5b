// Vectors of floats as wide as the instruction set that the including file is compiled for, by the compiler's own
// vector types, without intrinsics. All of it is in an unnamed namespace and does not use the standard library, so the
// linker cannot merge functions of different instruction sets. Independent of tensors and models.
#pragma once

#include <cstdint>

namespace chargpt::cpu {
namespace {

#if defined(__AVX512F__)
constexpr long lanes = 16;
constexpr int registers = 32;
#elif defined(__AVX__)
constexpr long lanes = 8;
constexpr int registers = 16;
#else
constexpr long lanes = 4;
#if defined(__aarch64__)
constexpr int registers = 32;  // NEON is in every aarch64 processor
#else
constexpr int registers = 16;
#endif
#endif

using Vector = float __attribute__((vector_size(lanes * sizeof(float))));
using IntVector = std::int32_t __attribute__((vector_size(lanes * sizeof(std::int32_t))));

inline Vector splat(float value) {
  return value - Vector{};  // not + 0, which turns -0 into 0
}

inline Vector load(const float* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void store(float* to, Vector v) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// Loads the first `count` < lanes floats and sets the other lanes to `rest`.
inline Vector load_partial(const float* from, long count, float rest = 0) {
  Vector v = splat(rest);
  __builtin_memcpy(&v, from, static_cast<unsigned long>(count) * sizeof(float));
  return v;
}

inline void store_partial(float* to, Vector v, long count) {
  __builtin_memcpy(to, &v, static_cast<unsigned long>(count) * sizeof(float));
}

/// Calls body(offset, load, store) over [0, n): whole vectors, then the rest.
template <class Body>
inline __attribute__((always_inline)) void for_each_vector(long n, Body&& body) {
  long i = 0;
  for (; i + lanes <= n; i += lanes)
    body(
        i, [](const float* p) { return load(p); }, [](float* p, Vector v) { store(p, v); });
  if (const long left = n - i; left > 0)
    body(
        i, [left](const float* p) { return load_partial(p, left); },
        [left](float* p, Vector v) { store_partial(p, v, left); });
}

inline Vector max(Vector a, Vector b) {
  return a > b ? a : b;
}
inline Vector min(Vector a, Vector b) {
  return a < b ? a : b;
}

/// Correctly rounded root of each element; compiles to one instruction if errno need not be set.
inline Vector sqrt(Vector v) {
  Vector roots;
  for (int i = 0; i < lanes; ++i) roots[i] = __builtin_sqrtf(v[i]);
  return roots;
}

inline Vector as_floats(IntVector v) {
  Vector result;
  __builtin_memcpy(&result, &v, sizeof v);
  return result;
}
inline IntVector as_ints(Vector v) {
  IntVector result;
  __builtin_memcpy(&result, &v, sizeof v);
  return result;
}

/// All bits set in the lanes below `count`.
inline IntVector lane_mask(long count) {
  IntVector index;
  for (int i = 0; i < lanes; ++i) index[i] = i;
  return index < static_cast<std::int32_t>(count);
}

/// v in the lanes below `count`, `rest` in the others.
inline Vector keep_first(Vector v, long count, float rest = 0) {
  return lane_mask(count) ? v : splat(rest);
}

/// v with lanes i and i xor D swapped.
template <int D>
inline Vector shuffle_xor(Vector v) {
#if defined(__clang__)
  Vector result;
  for (int i = 0; i < lanes; ++i) result[i] = v[i ^ D];
  return result;
#else
  IntVector order;
  for (int i = 0; i < lanes; ++i) order[i] = i ^ D;
  return __builtin_shuffle(v, order);
#endif
}

/// Combines all lanes into one number, always in the same order.
template <class Combine>
inline float reduce(Vector v, Combine&& combine) {
  if constexpr (lanes > 8) v = combine(v, shuffle_xor<8>(v));
  if constexpr (lanes > 4) v = combine(v, shuffle_xor<4>(v));
  v = combine(v, shuffle_xor<2>(v));
  v = combine(v, shuffle_xor<1>(v));
  return v[0];
}
inline float reduce_add(Vector v) {
  return reduce(v, [](Vector a, Vector b) { return a + b; });
}
inline float reduce_max(Vector v) {
  return reduce(v, [](Vector a, Vector b) { return max(a, b); });
}

/// Sum of f(element) over one row.
template <class F>
inline float row_sum(const float* x, long width, F&& f) {
  Vector total{};
  long i = 0;
  for (; i + lanes <= width; i += lanes) total += f(load(x + i));
  if (i < width) total += keep_first(f(load_partial(x + i, width - i)), width - i);
  return reduce_add(total);
}

#if !defined(__clang__)
/// In every square of 2 Distance rows and lanes, swaps the upper right quadrant and the lower left one; then recurses
/// into larger squares.
template <int Distance>
inline __attribute__((always_inline)) void swap_quadrants(Vector (&rows)[lanes]) {
  IntVector upper, lower;  // lane numbers of the second row continue after those of the first
  for (int l = 0; l < lanes; ++l) {
    upper[l] = (l & Distance) == 0 ? l : static_cast<int>(lanes) + l - Distance;
    lower[l] = (l & Distance) == 0 ? l + Distance : static_cast<int>(lanes) + l;
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if ((i & Distance) != 0) continue;
    const Vector a = rows[i], b = rows[i + Distance];
    rows[i] = __builtin_shuffle(a, b, upper);
    rows[i + Distance] = __builtin_shuffle(a, b, lower);
  }
  if constexpr (2 * Distance < lanes) swap_quadrants<2 * Distance>(rows);
}
#endif

/// Transposes a square of lanes x lanes floats.
inline void transpose_block(const float* x, long ldx, float* to, long ldt) {
#if defined(__clang__)
  for (long c = 0; c < lanes; ++c)
    for (long r = 0; r < lanes; ++r) to[c * ldt + r] = x[r * ldx + c];
#else
  Vector rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) rows[i] = load(x + i * ldx);
  swap_quadrants<1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store(to + i * ldt, rows[i]);
#endif
}

/// Transposes x (rows, columns) to (columns, rows).
inline void transpose(long rows, long columns, const float* x, long ldx, float* to, long ldt) {
  const long whole_rows = rows / lanes * lanes, whole_columns = columns / lanes * lanes;
  for (long c = 0; c < whole_columns; c += lanes)
    for (long r = 0; r < whole_rows; r += lanes) transpose_block(x + r * ldx + c, ldx, to + c * ldt + r, ldt);
  for (long c = 0; c < columns; ++c)
    for (long r = c < whole_columns ? whole_rows : 0; r < rows; ++r) to[c * ldt + r] = x[r * ldx + c];
}

/// e^x with a relative error below 2e-7. Clamped: below -87.3 the smallest normal number, above 88.3 nearly the
/// largest. x = n ln 2 + r with |r| <= ln 2 / 2; e^r is a polynomial whose coefficients are fitted for the smallest
/// relative error.
inline Vector exp(Vector x) {
  x = min(splat(88.3F), max(splat(-87.3F), x));  // this order preserves a NaN
  const Vector magic = splat(12582912.0F);       // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Vector shifted = x * 1.44269504F + magic;
  const Vector n = shifted - magic;
  const Vector r = (x - n * 0.693145752F) - n * 1.42860677e-6F;  // ln 2 in two parts
  Vector p = splat(1.3836846e-3F);
  p = p * r + 8.3748158e-3F;
  p = p * r + 4.1668226e-2F;
  p = p * r + 0.16666420F;
  p = p * r + 0.49999992F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return as_floats(as_ints(p) + (as_ints(shifted) << 23));
}

struct Sigmoid {
  Vector value, complement;  ///< 1 / (1 + e^-x), and 1 - value without cancellation
};
inline Sigmoid sigmoid(Vector x) {
  const Vector e = exp(-x);
  const Vector value = 1.0F / (1.0F + e);
  return {value, e * value};
}

/// The scaled complementary error function, erfc(z) e^(z z), for z >= 0, with a relative error below 5e-7: t P(t) with
/// t = 1 / (1 + 0.3 z), the form of Abramowitz & Stegun 7.1.26 with more terms, fitted over z in [0, 9.5].
inline Vector erfcx(Vector z) {
  const Vector t = 1.0F / (1.0F + 0.3F * z);
  Vector p = splat(-0.129434068F);
  p = p * t + 0.485096388F;
  p = p * t - 0.511226311F;
  p = p * t + 0.546394892F;
  p = p * t - 0.0936311453F;
  p = p * t + 0.214436236F;
  p = p * t + 0.14848244F;
  p = p * t + 0.170691934F;
  p = p * t + 0.169189615F;
  return p * t;
}

}  // namespace
}  // namespace chargpt::cpu
