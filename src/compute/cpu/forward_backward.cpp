#include "compute/cpu/forward_backward.h"

#include <algorithm>
#include <cstring>

namespace chargpt::cpu {

// ---- memory

void Worker::lay_out(BumpAllocator& layout) {
  Forward::lay_out(layout);
  const std::int64_t rows = sequences_ * T_;
  const long C = plan_.width, J = plan_.joined, H = plan_.hidden;
  if (halves()) {
    paired_x_ = layout.bf16((rows + 1) / 2 * vnni_stride(widest()));
    paired_dy_ = layout.bf16((rows + 1) / 2 * vnni_stride(widest()));
  }
  djoined_ = layout.rows(rows, plan_.ngram_proj.in);
  dx_ = layout.rows(rows, C);
  dh_ = layout.rows(rows, C);
  dqkv_ = layout.rows(rows, 3 * J);
  do_ = layout.rows(rows, J);
  dg_ = layout.rows(rows, H);
  dgate_ = plan_.gated ? layout.rows(rows, H) : nullptr;
}

// ---- layers

/// The gradient that reaches a branch whose output was dropped: dx times the mask.
const float* Worker::branch_gradient(double rate, std::uint32_t mask, const Share& chunk) {
  if (rate <= 0 || chunk.seed == nullptr) return dx_;
  const long ld = row_stride(plan_.width);
  k_.copy(rows_, plan_.width, dx_, ld, branch_, ld);
  drop(rate, mask, chunk, branch_);
  return branch_;
}

/// dw (out, in) (+)= dy^T x
void Worker::product_at(long out, long in, const float* dy, long lddy, const float* x, long ldx, float* dw) const {
  if (!halves()) return k_.matmul_transposed_a(out, in, rows_, dy, lddy, x, ldx, k_.panel_width, dw, in, worked_);
  const Bf16Kernels& half = *plan_.half;
  half.to_vnni(rows_, out, dy, lddy, paired_dy_, vnni_stride(out));
  half.to_vnni(rows_, in, x, ldx, paired_x_, vnni_stride(in));
  half.matmul_transposed_a(out, in, rows_, paired_dy_, vnni_stride(out), paired_x_, vnni_stride(in),
                           2 * half.panel_width, dw, in, worked_);
}

/// dW += dy^T x, db += sum of dy, dx (+)= dy W
void Worker::apply_backward(const LinearPlan& layer, const float* x, long ldx, const float* dy, long lddy, float* dx,
                            long lddx, bool add) {
  product_at(layer.out, layer.in, dy, lddy, x, ldx, gradient(layer.weight));
  if (layer.bias.there()) k_.add_column_sums(rows_, layer.out, dy, lddy, gradient(layer.bias));
  product(layer.in, layer.out, dy, lddy, layer.backward, dx, lddx, add);
}

/// dx += the gradient of the norm's input.
void Worker::normalise_backward(const NormPlan& norm, const float* x, const float* statistics, const float* dy,
                                float* dx) {
  const long ld = row_stride(plan_.width);
  if (plan_.norm)
    k_.norm_backward(*plan_.norm, rows_, plan_.width, x, ld, value(norm.gain), statistics, dy, ld, dx, ld,
                     gradient(norm.gain), gradient(norm.bias));
  else
    k_.add(rows_, plan_.width, dy, ld, dx, ld);
}

/// dx_ to the rows that were looked up.
void Worker::look_up_backward(const Share& chunk) {
  const long ld = row_stride(plan_.width), ldj = row_stride(plan_.ngram_proj.in);
  const bool joined = plan_.ngram_proj.out > 0;
  if (joined) apply_backward(plan_.ngram_proj, joined_, ldj, dx_, ld, djoined_, ldj, false);
  for (std::size_t i = 0; i < plan_.tables.size(); ++i)
    if (joined)
      leave_rows(chunk, i, djoined_ + static_cast<long>(i) * plan_.table_width, ldj);
    else
      leave_rows(chunk, i, dx_, ld);
}

/// dy (rows, width) is the gradient of the rows of one table.
void Worker::leave_rows(const Share& chunk, std::size_t table, const float* dy, long lddy) {
  const long W = plan_.table_width;
  const std::int64_t first = chunk.first * chunk.T;
  if (plan_.tables[table].row_sparse) {
    float* const to = chunk.row_gradients[table];
    return to != nullptr ? k_.copy(rows_, W, dy, lddy, to + first * W, W) : void();
  }
  float* const dense = gradient(plan_.tables[table].weight);
  for (long r = 0; r < rows_; ++r) k_.add(1, W, dy + r * lddy, lddy, dense + chunk.rows[table][first + r] * W, W);
}

void Worker::embed_backward(const Share& chunk) {
  const long C = plan_.width, ld = row_stride(C);
  drop(plan_.dropout.embedding, 0, chunk, dx_);
  if (!plan_.tables.empty()) look_up_backward(chunk);
  float* const tokens = gradient(plan_.wte);
  float* const positions = gradient(plan_.wpe);
  for (long r = 0; r < rows_; ++r) {
    k_.add(1, C, dx_ + r * ld, ld, tokens + chunk.inputs[r] * C, C);
    if (positions != nullptr) k_.add(1, C, dx_ + r * ld, ld, positions + r % chunk.T * C, C);
  }
}

void Worker::heads_backward(const BlockRecord& record, long layer, const Share& chunk) {
  const long J = plan_.joined;
  for_each_head(record, layer, chunk, [&](const Head& head) {
    float* const dq = dqkv_ + head.qkv;
    k_.attention_backward(head.shape, head.q, head.q + J, head.q + 2 * J, record.o + head.o, head.softmax, do_ + head.o,
                          dq, dq + J, dq + 2 * J, head.shape.ld, head.mask, head.first, scratch_);
  });
}

void Worker::attend_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  const long C = plan_.width, J = plan_.joined, ldc = row_stride(C), ldj = row_stride(J), ldq = row_stride(3 * J);
  const float* const branch = branch_gradient(plan_.dropout.attention_output, mask_of(layer, 1), chunk);
  if (block.c_proj.out > 0)
    apply_backward(block.c_proj, record.o, ldj, branch, ldc, do_, ldj, false);
  else
    k_.copy(rows_, C, branch, ldc, do_, ldj);
  heads_backward(record, layer, chunk);
  k_.qk_norm_rope_backward(rows_, chunk.T, 2 * plan_.heads, plan_.head_size, record.qkv, ldq, record.inverse,
                           plan_.rope ? plan_.cosines.data() : nullptr, plan_.sines.data(), dqkv_, ldq);
  apply_backward(block.c_attn, record.h1, ldc, dqkv_, ldq, dh_, ldc, false);
  normalise_backward(block.ln_1, record.x, record.statistics1, dh_, dx_);
}

void Worker::feed_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  if (!plan_.feed_forward) return;
  const long C = plan_.width, H = plan_.hidden, ldc = row_stride(C), ldh = row_stride(H);
  const float* const branch = branch_gradient(plan_.dropout.mlp, mask_of(layer, 2), chunk);
  apply_backward(block.mlp_proj, record.g, ldh, branch, ldc, dg_, ldh, false);
  if (plan_.gated) {
    k_.copy(rows_, H, dg_, ldh, dgate_, ldh);
    k_.multiply(rows_, H, record.gate, ldh, dgate_, ldh);
  }
  k_.multiply(rows_, H, record.u, ldh, dg_, ldh);
  apply_backward(block.c_fc, record.h2, ldc, dg_, ldh, dh_, ldc, false);
  if (plan_.gated) apply_backward(block.c_gate, record.h2, ldc, dgate_, ldh, dh_, ldc, true);
  normalise_backward(block.ln_2, record.xm, record.statistics2, dh_, dx_);
}

// ---- the whole model

/// logits_ holds their gradient.
void Worker::backward(const Share& chunk) {
  const long C = plan_.width, ld = row_stride(C);
  const bool normed = plan_.final_norm && plan_.norm;
  apply_backward(plan_.head, h_last_, ld, logits_, row_stride(plan_.vocab), normed ? dh_ : dx_, ld, false);
  if (normed) {
    k_.broadcast_row(rows_, C, nullptr, dx_, ld);
    normalise_backward(plan_.ln_f, x_last_, statistics_last_, dh_, dx_);
  }
  for (long layer = plan_.layers - 1; layer >= 0; --layer) {
    const auto at = static_cast<std::size_t>(layer);
    feed_backward(plan_.blocks[at], records_[at], layer, chunk);
    attend_backward(plan_.blocks[at], records_[at], layer, chunk);
  }
  embed_backward(chunk);
  worked_ = true;
}

void Worker::begin(const Weights& weights, std::span<float* const> gradients) {
  weights_ = &weights;
  gradients_.assign(gradients.begin(), gradients.end());
  worked_ = false;
  // Matrices are written by their first product; what is only added to starts at zero.
  const auto clear = [this](const Parameter& p) {
    if (p.there()) std::memset(gradient(p), 0, static_cast<std::size_t>(p.numel) * sizeof(float));
  };
  if (!plan_.tied) clear(plan_.wte);
  clear(plan_.wpe);
  for (const TablePlan& table : plan_.tables)
    if (!table.row_sparse) clear(table.weight);
  for (const BlockPlan& block : plan_.blocks)
    for (const Parameter* p : {&block.ln_1.gain, &block.ln_1.bias, &block.ln_2.gain, &block.ln_2.bias}) clear(*p);
  clear(plan_.ln_f.gain);
  clear(plan_.ln_f.bias);
  for (const LinearPlan* layer : linear_layers(plan_)) clear(layer->bias);
}

double Worker::train(const Share& share) {
  double total = 0;
  for_each_chunk(share, [&](const Share& chunk, std::int64_t) {
    forward(chunk);
    k_.cross_entropy(rows_, plan_.vocab, logits_, row_stride(plan_.vocab), chunk.targets, share.scale, losses_);
    for (long r = 0; r < rows_; ++r) total += static_cast<double>(losses_[r]);
    backward(chunk);
  });
  return total;
}

}  // namespace chargpt::cpu
