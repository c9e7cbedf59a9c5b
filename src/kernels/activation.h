// Activations y = f(x), element by element. Each leaves f'(x) in place of x: f and f' share their exponential, so
// backward is a multiplication.
//
//   gelu       f = x Phi(x)             f' = Phi(x) + x phi(x), of the normal distribution
//   gelu_tanh  f = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2
//   relu       f = max(x, 0)            f' = 1 for x > 0, else 0
//   relu2      f = max(x, 0)^2          f' = 2 max(x, 0)
//   silu       f = x sigmoid(x)         f' = sigmoid(x) + f (1 - sigmoid(x))
//   swiglu     y = x silu(gate)         dx = dy silu(gate), dgate = dy x silu'(gate)
//
// Sources: Hendrycks & Gimpel, "Gaussian Error Linear Units" (2016); So et al., "Primer" (2021) for relu2; Shazeer,
// "GLU Variants Improve Transformer" (2020) for swiglu. Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

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
  return {x < 0 ? splat(0) : x, x > 0 ? splat(1) : splat(0)};  // in this order a NaN stays one
}

inline ValueAndDerivative relu2(Vector x) {
  const Vector positive = x < 0 ? splat(0) : x;
  return {positive * positive, positive + positive};
}

template <class Function>
inline void apply_activation(long rows, long width, float* x, long ldx, float* y, long ldy, Function&& function) {
  for (long r = 0; r < rows; ++r, x += ldx, y += ldy)
    for_each_vector(width, [&](long i, auto get, auto put) {
      const ValueAndDerivative f = function(get(x + i));
      put(y + i, f.value);
      put(x + i, f.derivative);
    });
}

void activation(ActivationKind kind, long rows, long width, float* x, long ldx, float* y, long ldy) {
  switch (kind) {
    case ActivationKind::gelu:
      return apply_activation(rows, width, x, ldx, y, ldy, [](Vector v) { return gelu(v); });
    case ActivationKind::gelu_tanh:
      return apply_activation(rows, width, x, ldx, y, ldy, [](Vector v) { return gelu_tanh(v); });
    case ActivationKind::relu:
      return apply_activation(rows, width, x, ldx, y, ldy, [](Vector v) { return relu(v); });
    case ActivationKind::relu2:
      return apply_activation(rows, width, x, ldx, y, ldy, [](Vector v) { return relu2(v); });
    case ActivationKind::silu:
      return apply_activation(rows, width, x, ldx, y, ldy, [](Vector v) { return silu(v); });
  }
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

}  // namespace
}  // namespace chargpt::cpu
