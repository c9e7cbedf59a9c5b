// Updates of weights in one pass over flat buffers. AdamW, Adam with decoupled weight decay:
//
//   g = scale gradient,  m = m + (1 - beta1) (g - m),  v = beta2 v + (1 - beta2) g^2,
//   w = kept w - step m / (sqrt(v) inverse_root + eps)
//
// and Nesterov momentum, which Muon applies before it makes a matrix orthogonal:
//
//   m = kept m + fresh gradient,  ahead = kept m + fresh gradient,  w = shrunk w
//
// The result for an element does not depend on its offset in the buffer, so threads may split a buffer at any point.
// Sources: Loshchilov & Hutter (2019), "Decoupled weight decay regularization"; Sutskever et al. (2013), "On the
// importance of initialization and momentum in deep learning". Compiled once per instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

void adamw(const AdamwFactors& by, long n, const float* gradients, float* values, float* moment1, float* moment2) {
  for_each_vector(n, [&](long i, auto get, auto put) {
    const Vector g = get(gradients + i) * by.scale;
    const Vector m = get(moment1 + i) + (g - get(moment1 + i)) * by.fresh1;
    const Vector v = get(moment2 + i) * by.beta2 + g * g * by.fresh2;
    put(moment1 + i, m);
    put(moment2 + i, v);
    put(values + i, get(values + i) * by.kept - m * by.step / (sqrt(v) * by.inverse_root + by.eps));
  });
}

void nesterov(const NesterovFactors& by, long n, const float* gradients, float* values, float* moment, float* ahead) {
  for_each_vector(n, [&](long i, auto get, auto put) {
    const Vector g = get(gradients + i) * by.fresh;
    const Vector m = get(moment + i) * by.kept + g;
    put(moment + i, m);
    put(ahead + i, m * by.kept + g);
    put(values + i, get(values + i) * by.shrunk);
  });
}

/// y += weight (x - y).
void lerp(float weight, long n, const float* x, float* y) {
  for_each_vector(n, [&](long i, auto get, auto put) { put(y + i, get(y + i) + (get(x + i) - get(y + i)) * weight); });
}

}  // namespace
}  // namespace chargpt::cpu
