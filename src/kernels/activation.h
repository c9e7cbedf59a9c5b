// Activations y = f(x), element by element. Each leaves f'(x) in place of x: f and f' share their exponential, so
// backward is a multiplication.
//
//   gelu       f = x Phi(x)                                  f' = Phi(x) + x phi(x), Phi and phi of the normal
//   distribution gelu_tanh  f = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2 relu
//   f = max(x, 0)                                 f' = 1 for x > 0, else 0 relu2      f = max(x, 0)^2 f' = 2 max(x, 0)
//   silu       f = x sigmoid(x)                              f' = sigmoid(x) + f (1 - sigmoid(x))
//   swiglu     y = x silu(gate)                              dx = dy silu(gate), dgate = dy x silu'(gate)
//
// Sources: Hendrycks & Gimpel, "Gaussian Error Linear Units" (2016); So et al., "Primer" (2021) for relu2; Shazeer,
// "GLU Variants Improve Transformer" (2020) for swiglu. Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

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

}  // namespace
}  // namespace chargpt::cpu
