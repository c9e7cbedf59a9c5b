#include "inference/attention_weights.h"

#include <algorithm>
#include <cmath>

#include "inference/forward_team.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"

namespace chargpt {

std::vector<float> attention_scores(const cpu::Plan& plan, const cpu::MadeValues& qkv, std::int64_t head) {
  const cpu::Kernels& k = cpu::kernels();
  const long T = qkv.rows, hs = plan.head_size, stride = cpu::row_stride(T);
  const float* const q = qkv.values + head * hs;
  cpu::AlignedFloats keys(hs * stride + k.slack);
  std::vector<float> scores(static_cast<std::size_t>(T * T));
  k.transpose(T, hs, q + plan.attention_width, qkv.stride, keys.data(), stride);
  k.matmul(T, T, hs, q, qkv.stride, keys.data(), stride, k.panel_width, scores.data(), T, false);
  for (float& score : scores) score *= plan.score_scale;
  return scores;
}

void softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float score : row) sum += std::exp(double{score} - largest);
  for (float& score : row) score = static_cast<float>(std::exp(double{score} - largest) / sum);
}

AttentionWeights attention_weights(const InferenceModel& model, std::span<const std::int64_t> ids) {
  const cpu::Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids);
  AttentionWeights weights{.layers = plan.n_layer, .heads = plan.n_head, .T = T, .values = {}};
  cpu::observe(model, ids, [&](cpu::Made made, long, const cpu::MadeValues& qkv) {
    if (made != cpu::Made::qkv) return;
    for (std::int64_t head = 0; head < plan.n_head; ++head) {
      std::vector<float> scores = attention_scores(plan, qkv, head);
      for (std::int64_t t = 0; t < T; ++t) {
        const std::span row = std::span(scores).subspan(static_cast<std::size_t>(t * T), static_cast<std::size_t>(T));
        const std::int64_t seen = plan.causal ? t + 1 : T;
        softmax(row.first(static_cast<std::size_t>(seen)));
        std::ranges::fill(row.subspan(static_cast<std::size_t>(seen)), 0.0F);
      }
      weights.values.insert(weights.values.end(), scores.begin(), scores.end());
    }
  });
  return weights;
}

}  // namespace chargpt
