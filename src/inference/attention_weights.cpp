#include "inference/attention_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inference/forward.h"
#include "inference/one_window.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

/// A forward pass of one chunk whose attention weights are kept: computed anew from queries, keys and the statistics of
/// each row's softmax, as in training's backward pass, since attention itself holds no more than a tile of them.
class WatchedForward : private cpu::Forward {
 public:
  WatchedForward(const cpu::Plan& plan, std::int64_t T)
      : Forward(plan, cpu::kernels()),
        weights_of_window_{.layers = plan.n_layer, .heads = plan.n_head, .T = T, .values = {}},
        transposed_keys_(plan.head_size * cpu::row_stride(T) + k_.slack) {
    weights_of_window_.values.resize(static_cast<std::size_t>(plan.n_layer * plan.n_head * T * T));
    prepare(1, T);
  }

  void read(const cpu::WeightPointers& weights, const cpu::BatchSlice& window) {
    weights_ = &weights;
    forward(window);
  }
  AttentionWeights take_weights() { return std::move(weights_of_window_); }

 private:
  void attended(const cpu::BlockActivations& acts, long layer, const cpu::BatchSlice& window) override {
    float* to = weights_of_window_.values.data() + layer * plan_.n_head * window.windows.T * window.windows.T;
    if (!plan_.causal)
      return void(std::fill_n(to, window.windows.T * window.windows.T, 1.0F / static_cast<float>(window.windows.T)));
    for_each_head(acts, layer, window, [&](const Head& head) {
      write_weights(head, to);
      to += window.windows.T * window.windows.T;
    });
  }

  /// One head's, (T, T): exp(scale q k^T - max) / sum over what each row sees, and zeros.
  void write_weights(const Head& head, float* to) {
    const cpu::HeadShape& shape = head.shape;
    const long stride = cpu::row_stride(shape.T);
    const float* const keys = head.q + plan_.attention_width;
    k_.transpose(shape.T, shape.hs, keys, shape.ld, transposed_keys_.data(), stride);
    k_.matmul(shape.T, shape.T, shape.hs, head.q, shape.ld, transposed_keys_.data(), stride, k_.panel_width, to,
              shape.T, false);
    for (long i = 0; i < shape.T; ++i) {
      const float max_scaled = head.softmax_stats[2 * i], inverse_sum = head.softmax_stats[2 * i + 1];
      float* const row = to + i * shape.T;
      for (long j = 0; j <= i; ++j) row[j] = std::exp(row[j] * shape.scale - max_scaled) * inverse_sum;
      std::fill(row + i + 1, row + shape.T, 0.0F);
    }
  }

  AttentionWeights weights_of_window_;
  cpu::AlignedFloats transposed_keys_;  ///< (hs, T)
};

}  // namespace

AttentionWeights attention_weights(const InferenceModel& model, std::span<const std::int64_t> ids) {
  const cpu::OneWindow window(model, ids);
  WatchedForward forward(model.plan(), std::ssize(ids));
  forward.read(window.weights(), window.slice());
  return forward.take_weights();
}

}  // namespace chargpt
