// Fused multiply-adds in registers alone: how fast this processor does arithmetic at best, which is what the other
// kernels are measured against. Compiled once per instruction set.
#pragma once

#include "kernels/vector.h"

namespace chargpt::cpu {
namespace {

double fma_loop(long rounds) {
  // Ten chains hide the latency of an addition on today's processors; all differ, lest the compiler make two of them
  // one.
  Vector s0 = splat(0.01F), s1 = s0 + s0, s2 = s1 + s0, s3 = s2 + s0, s4 = s3 + s0, s5 = s4 + s0, s6 = s5 + s0,
         s7 = s6 + s0, s8 = s7 + s0, s9 = s8 + s0;
  const Vector a = splat(0.999F), b = splat(0.001F);
  for (long i = 0; i < rounds; ++i) {
    s0 = s0 * a + b, s1 = s1 * a + b, s2 = s2 * a + b, s3 = s3 * a + b, s4 = s4 * a + b;
    s5 = s5 * a + b, s6 = s6 * a + b, s7 = s7 * a + b, s8 = s8 * a + b, s9 = s9 * a + b;
  }
  volatile float used = reduce_add(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);
  static_cast<void>(used);
  return static_cast<double>(rounds) * 10 * 2 * lanes;
}

}  // namespace
}  // namespace chargpt::cpu
