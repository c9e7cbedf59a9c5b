#include "inference/model_weights.h"

namespace chargpt::cpu {

void pack_weights(const Plan& plan, const ModelWeights& weights, const Bf16Kernels* bf16, int part, int parts) {
  const long panel_width = bf16 != nullptr ? bf16->panel_width : plan.kernels->panel_width;
  // B (K, N) of a matmul; `transposed`: weight is (N, K).
  const auto pack = [&](const float* weight, long K, long N, bool transposed, std::int64_t place) {
    const long panels = (N + panel_width - 1) / panel_width;
    const long first = panels * part / parts, last = panels * (part + 1) / parts;
    float* const packed = weights.packed.data() + place;
    if (bf16 != nullptr)
      bf16->pack(first, last, K, N, weight, transposed, reinterpret_cast<Bf16*>(packed));
    else
      plan.kernels->pack(first, last, K, N, weight, transposed, packed);
  };
  for (const LinearPlan* layer : linear_layers(plan)) {
    const float* const weight = layer->weight.in(weights.values);
    pack(weight, layer->in, layer->out, /*transposed=*/true, layer->packed_forward);
    if (plan.packing == Packing::both)
      pack(weight, layer->out, layer->in, /*transposed=*/false, layer->packed_backward);
  }
}

}  // namespace chargpt::cpu
