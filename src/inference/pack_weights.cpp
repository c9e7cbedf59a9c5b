#include "inference/pack_weights.h"

#include <algorithm>

#include "kernels/buffers.h"

namespace chargpt::cpu {
namespace {

/// B (K, N) of a matmul; `transposed`: weight is (N, K).
struct Matrix {
  const float* weight;
  long K, N;
  bool transposed;
};

void pack(const Matrix& b, PackedType type, const Kernels& kernels, int part, int parts, float* packed) {
  const long panel_width = type == PackedType::bf16_matmul ? bf16_kernels()->panel_width : kernels.panel_width;
  const long panels = (b.N + panel_width - 1) / panel_width;
  const long first = panels * part / parts, last = panels * (part + 1) / parts;
  switch (type) {
    case PackedType::float32:
      return kernels.pack(first, last, b.K, b.N, b.weight, b.transposed, packed);
    case PackedType::bf16_matmul:
      return bf16_kernels()->pack(first, last, b.K, b.N, b.weight, b.transposed, reinterpret_cast<Bf16*>(packed));
  }
}

}  // namespace

void pack_weights(const Plan& plan, const std::vector<const float*>& values, PackedType type, const Kernels& kernels,
                  int part, int parts, float* packed) {
  for (const LinearPlan* layer : linear_layers(plan)) {
    const float* const weight = layer->weight.in(values);
    pack({weight, layer->in, layer->out, true}, type, kernels, part, parts, packed + layer->packed_forward);
    if (plan.packing == Packing::both)
      pack({weight, layer->out, layer->in, false}, type, kernels, part, parts, packed + layer->packed_backward);
  }
}

}  // namespace chargpt::cpu
