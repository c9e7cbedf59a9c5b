#include "engine/cpu/forward_backward.h"

#include <algorithm>

namespace chargpt::cpu {

// ---- memory

void ForwardBackward::allocate_buffers(BumpAllocator& memory) {
  Forward::allocate_buffers(memory);
  const std::int64_t rows = max_rows_;
  const long C = plan_.n_embd, A = plan_.attention_width, H = plan_.mlp_width;
  if (plan_.bf16 != nullptr) {
    x_vnni_ = memory.bf16((rows + 1) / 2 * vnni_stride(max_width()));
    dy_vnni_ = memory.bf16((rows + 1) / 2 * vnni_stride(max_width()));
  }
  dx_ = memory.rows(rows, C);
  dnormed_ = memory.rows(rows, C);
  dqkv_ = memory.rows(rows, 3 * A);
  do_ = memory.rows(rows, A);
  dhidden_ = memory.rows(rows, H);
  dgate_ = plan_.swiglu ? memory.rows(rows, H) : nullptr;
}

// ---- layers

/// The gradient of the output of a branch before its dropout: dx times the mask.
const float* ForwardBackward::branch_gradient(Place place, long layer) const {
  if (!drops(place)) return dx_;
  const long ld = row_stride(plan_.n_embd);
  k_.copy(rows_, plan_.n_embd, dx_, ld, branch_, ld);
  dropout(place, layer, branch_);
  return branch_;
}

/// dw (out, in) = dy^T x for the first chunk since begin(), += for later chunks.
void ForwardBackward::weight_backward(long out, long in, const float* dy, long lddy, const float* x, long ldx,
                                      float* dw) const {
  if (plan_.bf16 == nullptr)
    return k_.matmul_transposed_a(out, in, rows_, dy, lddy, x, ldx, k_.panel_width, dw, in, has_gradients_);
  const Bf16Kernels& bf16 = *plan_.bf16;
  bf16.to_vnni(rows_, out, dy, lddy, dy_vnni_, vnni_stride(out));
  bf16.to_vnni(rows_, in, x, ldx, x_vnni_, vnni_stride(in));
  bf16.matmul_transposed_a(out, in, rows_, dy_vnni_, vnni_stride(out), x_vnni_, vnni_stride(in), 2 * bf16.panel_width,
                           dw, in, has_gradients_);
}

/// dW by weight_backward(), db += sum of dy, dx = dy W, or += if `add`.
void ForwardBackward::linear_backward(const LinearParameters& layer, const float* x, long ldx, const float* dy,
                                      long lddy, float* dx, long lddx, bool add) {
  weight_backward(layer.out, layer.in, dy, lddy, x, ldx, gradient(layer.weight));
  if (layer.bias.exists()) k_.add_column_sums(rows_, layer.out, dy, lddy, gradient(layer.bias));
  matmul(rows_, layer.in, layer.out, dy, lddy, layer.packed_backward, dx, lddx, add);
}

/// The gradient of the convolution's input x, from its output's gradient in dnormed_. Returns branch_, or dnormed_ if
/// there is no convolution.
const float* ForwardBackward::convolution_backward(const Parameter& weight, const float* x) {
  if (!weight.exists()) return dnormed_;
  const long ld = row_stride(plan_.n_embd);
  for (const Stretch& stretch : stretches_) {
    const long first = stretch.row * ld;
    k_.convolve_backward(stretch.rows, plan_.n_embd, plan_.conv_width, x + first, ld, value(weight), dnormed_ + first,
                         ld, branch_ + first, ld, gradient(weight));
  }
  return branch_;
}

/// Replaces dx_, the gradient of a norm's output, by the gradient of its input x.
void ForwardBackward::norm_backward(const NormParameters& norm, const float* x, const float* stats) {
  std::swap(dx_, dnormed_);
  k_.broadcast_row(rows_, plan_.n_embd, nullptr, dx_, row_stride(plan_.n_embd));
  add_norm_backward(norm, x, stats, dnormed_);
}

/// dx_ += the gradient of a norm's input x; `dy` is the gradient of its output.
void ForwardBackward::add_norm_backward(const NormParameters& norm, const float* x, const float* stats,
                                        const float* dy) {
  const long ld = row_stride(plan_.n_embd);
  k_.norm_backward(*plan_.norm, rows_, plan_.n_embd, x, ld, value(norm.gain), stats, dy, ld, dx_, ld,
                   gradient(norm.gain), gradient(norm.bias));
}

/// Adds to dx_, the gradient through the residual path, the gradient through the sublayer; `dy`: that of its input.
void ForwardBackward::add_sublayer_backward(const NormParameters& norm, const float* x, const float* stats,
                                            const float* dy) {
  const long ld = row_stride(plan_.n_embd);
  if (plan_.norm_first()) return add_norm_backward(norm, x, stats, dy);
  (plan_.residual ? k_.add : k_.copy)(rows_, plan_.n_embd, dy, ld, dx_, ld);
}

void ForwardBackward::embed_backward() {
  const long C = plan_.n_embd, ld = row_stride(C);
  dropout(Place::embedding, 0, dx_);
  float* const tokens = gradient(plan_.wte);
  float* const positions = gradient(plan_.wpe);
  for (long r = 0; r < rows_; ++r) k_.add(1, C, dx_ + r * ld, ld, tokens + inputs_[static_cast<std::size_t>(r)] * C, C);
  if (positions != nullptr)
    for (const Stretch& stretch : stretches_) k_.add(stretch.rows, C, dx_ + stretch.row * ld, ld, positions, C);
}

void ForwardBackward::attention_heads_backward(const BlockPass& block) {
  const long A = plan_.attention_width;
  for_each_head(block, [&](const Head& head) {
    float* const dq = dqkv_ + head.qkv;
    k_.attention_backward(head.shape, head.q, head.q + A, head.q + 2 * A, block.o + head.o, head.softmax_stats,
                          do_ + head.o, dq, dq + A, dq + 2 * A, head.shape.ld, head.mask, head.first, scratch_);
  });
}

/// dnormed_ = the gradient of the input of queries, keys and values.
void ForwardBackward::qkv_backward(const BlockPass& block) {
  const long C = plan_.n_embd, A = plan_.attention_width, ldc = row_stride(C), ldq = row_stride(3 * A);
  if (plan_.qkv_source == QkvSource::projected) {
    k_.qk_norm_rope_backward(rows_, chunk_.count, 2 * plan_.n_head, plan_.head_size, block.qkv, ldq, block.qk_rstd,
                             rope_cos_, rope_sin_, dqkv_, ldq);
    return linear_backward(block.parameters->c_attn, block.conv_1, ldc, dqkv_, ldq, dnormed_, ldc, false);
  }
  k_.copy(rows_, C, dqkv_ + 2 * A, ldq, dnormed_, ldc);
  if (plan_.qkv_source == QkvSource::uniform) return;
  for (const long part : {0L, A}) k_.add(rows_, C, dqkv_ + part, ldq, dnormed_, ldc);
}

void ForwardBackward::attention_block_backward(const BlockPass& block) {
  const long C = plan_.n_embd, A = plan_.attention_width, ldc = row_stride(C), ldo = row_stride(A);
  if (plan_.post_norm) norm_backward(block.parameters->ln_1, block.sum_1, block.ln_1_stats);
  const float* const branch = branch_gradient(Place::attention_output, block.layer);
  if (block.parameters->c_proj.out > 0)
    linear_backward(block.parameters->c_proj, block.o, ldo, branch, ldc, do_, ldo, false);
  else
    k_.copy(rows_, C, branch, ldc, do_, ldo);
  if (plan_.causal)
    attention_heads_backward(block);
  else
    window_means(do_, ldo, dqkv_ + 2 * A, row_stride(3 * A));
  qkv_backward(block);
  const float* const dln_1 = convolution_backward(block.parameters->conv_1, block.ln_1);
  add_sublayer_backward(block.parameters->ln_1, block.x, block.ln_1_stats, dln_1);
}

void ForwardBackward::mlp_block_backward(const BlockPass& block) {
  if (!plan_.feed_forward) return;
  const long C = plan_.n_embd, H = plan_.mlp_width, ldc = row_stride(C), ldh = row_stride(H);
  if (plan_.post_norm) norm_backward(block.parameters->ln_2, block.sum_2, block.ln_2_stats);
  const float* const branch = branch_gradient(Place::mlp, block.layer);
  linear_backward(block.parameters->mlp_proj, block.hidden, ldh, branch, ldc, dhidden_, ldh, false);
  // The forward pass stored the derivatives of the hidden values by fc and by the gate in these buffers.
  if (plan_.swiglu) {
    k_.copy(rows_, H, dhidden_, ldh, dgate_, ldh);
    k_.multiply(rows_, H, block.gate, ldh, dgate_, ldh);
  }
  k_.multiply(rows_, H, block.fc, ldh, dhidden_, ldh);
  linear_backward(block.parameters->c_fc, block.conv_2, ldc, dhidden_, ldh, dnormed_, ldc, false);
  if (plan_.swiglu) linear_backward(block.parameters->c_gate, block.conv_2, ldc, dgate_, ldh, dnormed_, ldc, true);
  const float* const dln_2 = convolution_backward(block.parameters->conv_2, block.ln_2);
  add_sublayer_backward(block.parameters->ln_2, block.x_mid, block.ln_2_stats, dln_2);
}

// ---- the whole model

/// logits_ contains its gradient (see cross_entropy). dx_ is the gradient of the residual stream; each block adds the
/// gradient of its branch.
void ForwardBackward::backward() {
  const long ld = row_stride(plan_.n_embd);
  linear_backward(plan_.head, ln_f_, ld, logits_, row_stride(plan_.vocab_size), dx_, ld, false);
  if (plan_.final_norm) norm_backward(plan_.ln_f, x_last_, ln_f_stats_);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    mlp_block_backward(*block);
    attention_block_backward(*block);
  }
  embed_backward();
  has_gradients_ = true;
}

void ForwardBackward::begin(float* gradients) {
  gradients_ = gradients;
  has_gradients_ = false;
  if (gradients == nullptr) return;
  // The first matmul writes matrices, also a tied embedding; parameters that are only added to start at 0.
  for_each_parameter(plan_, [this](const Parameter& p) {
    if (p.role == ParameterRole::matrix || (plan_.tied && &p == &plan_.wte)) return;
    std::ranges::fill(p.in(gradients_), 0.0F);
  });
}

double ForwardBackward::run(const BatchSlice& slice, float* losses, float* logits) {
  const long V = plan_.vocab_size;
  double total = 0;
  for_each_chunk(slice, [&](const Chunk& chunk, std::int64_t first) {
    forward(chunk);
    if (logits != nullptr) k_.copy(rows_, V, logits_, row_stride(V), logits + first * slice.windows.T * V, V);
    k_.cross_entropy(rows_, V, logits_, row_stride(V), targets_.data(), slice.scale, losses_);
    if (slice.soft != nullptr)
      k_.mix_targets(rows_, V, targets_.data(), slice.soft + first * slice.windows.T * V,
                     slice.scale * slice.soft_weight, logits_, row_stride(V));
    for (long r = 0; r < rows_; ++r) total += static_cast<double>(losses_[r]);
    if (losses != nullptr) std::copy_n(losses_, rows_, losses + first * slice.windows.T);
    backward();
  });
  return total;
}

}  // namespace chargpt::cpu
