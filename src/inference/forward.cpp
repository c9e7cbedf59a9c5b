#include "inference/forward.h"

#include <algorithm>
#include <cmath>

#include "inference/layers.h"

namespace chargpt::cpu {
namespace {

constexpr std::int64_t chunk_rows = 128;  ///< tokens of a chunk

/// Of a chunk.
std::int64_t max_sequences(std::int64_t T) {
  return std::max<std::int64_t>(1, chunk_rows / T);
}

}  // namespace

// ---- memory

void Forward::allocate_buffers(BumpAllocator& memory) {
  const std::int64_t rows = sequences_ * T_;
  const long C = plan_.n_embd, A = plan_.attention_width, H = plan_.mlp_width;
  const bool norm_first = plan_.norm && !plan_.post_norm;
  acts_.assign(static_cast<std::size_t>(plan_.n_layer), {});
  for (std::size_t layer = 0; layer < acts_.size(); ++layer) {
    BlockActivations& acts = acts_[layer];
    const BlockPlan& block = plan_.blocks[layer];
    if (!for_backward_ && layer > 0) {  // nothing is kept: all blocks share the first one's
      acts = acts_.front();
      continue;
    }
    acts.x = memory.rows(rows, C);
    acts.ln_1 = norm_first ? memory.rows(rows, C) : acts.x;
    acts.ln_1_stats = memory.allocate(2 * rows);
    acts.conv_1 = block.conv_1.exists() ? memory.rows(rows, C) : acts.ln_1;
    acts.qkv = memory.rows(rows, 3 * A);
    acts.qk_rstd = plan_.qk_norm_eps ? memory.allocate(2 * plan_.n_head * rows) : nullptr;
    acts.softmax_stats = memory.allocate(2 * plan_.n_head * rows);
    acts.o = memory.rows(rows, A);
    acts.x_mid = memory.rows(rows, C);
    acts.ln_2 = norm_first ? memory.rows(rows, C) : acts.x_mid;
    acts.ln_2_stats = memory.allocate(2 * rows);
    acts.conv_2 = block.conv_2.exists() ? memory.rows(rows, C) : acts.ln_2;
    acts.fc = memory.rows(rows, H);
    acts.gate = plan_.swiglu ? memory.rows(rows, H) : nullptr;
    acts.hidden = memory.rows(rows, H);
  }
  const bool normed = plan_.final_norm && plan_.norm;
  x_last_ = for_backward_ || acts_.empty() ? memory.rows(rows, C) : acts_.front().x;
  x_first_ = acts_.empty() ? x_last_ : acts_.front().x;
  ln_f_ = normed ? memory.rows(rows, C) : x_last_;
  ln_f_stats_ = memory.allocate(2 * rows);
  branch_ = memory.rows(rows, C);
  logits_ = memory.rows(rows, plan_.vocab_size);
  losses_ = memory.allocate(rows);
  scratch_ = memory.allocate(k_.attention_scratch(T_, plan_.head_size));
  if (uses_bf16()) x_bf16_ = memory.bf16(rows * bf16_stride(max_width()));
}

std::int64_t Forward::sequences_at_once(std::int64_t count, std::int64_t T) {
  const std::int64_t chunks = (count + max_sequences(T) - 1) / max_sequences(T);
  return (count + chunks - 1) / chunks;
}

std::int64_t Forward::count_buffers(std::int64_t sequences, std::int64_t T) {
  sequences_ = std::min(sequences, max_sequences(T));
  T_ = T;
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  allocate_buffers(count);
  return count.used;
}

void Forward::prepare(std::int64_t sequences, std::int64_t T) {
  if (std::min(sequences, max_sequences(T)) <= sequences_ && T == T_) return;
  const std::int64_t floats = count_buffers(sequences, T);
  inputs_.resize(static_cast<std::size_t>(sequences_ * T));
  targets_.resize(inputs_.size());
  memory_ = AlignedFloats();
  memory_ = AlignedFloats(floats);
  BumpAllocator memory{.base = memory_.data(), .slack = k_.slack};
  allocate_buffers(memory);
}

// ---- dropout

/// Masks of a pass are numbered in the order in which model/layers.cpp asks for them.
std::uint32_t Forward::mask_index(long layer, DropoutPlace place) const {
  const DropoutPlan& d = plan_.dropout;
  const int attention = d.attention > 0, output = d.attention_output > 0, mlp = d.mlp > 0;
  int before = (d.embedding > 0) + static_cast<int>(layer) * (attention + output + mlp);
  if (place > DropoutPlace::attention) before += attention;
  if (place > DropoutPlace::attention_output) before += output;
  return static_cast<std::uint32_t>(before);
}

DropoutMask Forward::dropout_mask(double rate, std::uint32_t mask, const BatchSlice& chunk) const {
  return {.key = {chunk.seed->words[0], chunk.seed->words[1]},
          .layer = mask,
          .threshold = static_cast<std::uint64_t>(std::ldexp(rate, 32)),
          .scale = static_cast<float>(1.0 / (1.0 - rate))};
}

/// x (rows, C) *= mask.
void Forward::dropout(double rate, std::uint32_t mask, const BatchSlice& chunk, float* x) {
  if (rate <= 0 || chunk.seed == nullptr) return;
  const auto first = static_cast<std::uint64_t>((chunk.elsewhere + chunk.first) * chunk.windows.T * plan_.n_embd);
  k_.dropout(dropout_mask(rate, mask, chunk), first, rows_, plan_.n_embd, x, row_stride(plan_.n_embd));
}

// ---- layers

/// Of all that a linear layer reads or writes.
long Forward::max_width() const {
  long width = 0;
  for (const LinearPlan* layer : linear_layers(plan_)) width = std::max({width, layer->in, layer->out});
  return width;
}

/// y (rows, out) (+)= x (rows, in) times a packed matrix (in, out).
void Forward::matmul(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy,
                     bool add) const {
  if (!uses_bf16())
    return k_.matmul(rows_, out, in, x, ldx, weights_->packed + packed, k_.panel_width, in * k_.panel_width, y, ldy,
                     add);
  const Bf16Kernels& bf16 = *plan_.bf16;
  const long ld = bf16_stride(in), pairs = 2 * bf16.panel_width;
  bf16.to_bf16(rows_, in, x, ldx, x_bf16_, ld);
  bf16.matmul(rows_, out, in, x_bf16_, ld, packed_bf16(packed), pairs, (in + 1) / 2 * pairs, y, ldy, add);
}

/// y (rows, out) (+)= x (rows, in) W^T + b
void Forward::linear(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const {
  add = put_bias(k_, value(layer.bias), {0, layer.out}, rows_, y, ldy, add);
  matmul(layer.out, layer.in, x, ldx, layer.packed_forward, y, ldy, add);
}

void Forward::normalise(const NormPlan& norm, const float* x, float* y, float* stats) const {
  const long ld = row_stride(plan_.n_embd);
  if (plan_.norm)
    k_.norm(*plan_.norm, rows_, plan_.n_embd, x, ld, value(norm.gain), value(norm.bias), plan_.norm_eps, y, ld, stats);
}

/// y = x + its convolution, window by window: (rows, C). Nothing where there is no weight: y is then x.
void Forward::convolve(const Parameter& weight, const BatchSlice& chunk, const float* x, float* y) const {
  if (!weight.exists()) return;
  const long T = chunk.windows.T, ld = row_stride(plan_.n_embd);
  for (long first = 0; first < rows_; first += T)
    k_.convolve(T, 0, plan_.n_embd, plan_.conv_width, x + first * ld, ld, value(weight), y + first * ld, ld);
}

/// x = wte[id] + position, (rows, C)
void Forward::embed(const BatchSlice& chunk) {
  const long C = plan_.n_embd, ld = row_stride(C);
  float* const x = x_first_;
  const float* const tokens = value(plan_.wte);
  const float* const positions = position_vectors(plan_, weights_->values);
  for (long r = 0; r < rows_; ++r) {
    k_.copy(1, C, tokens + inputs_[static_cast<std::size_t>(r)] * C, C, x + r * ld, ld);
    if (positions != nullptr) k_.add(1, C, positions + r % chunk.windows.T * C, C, x + r * ld, ld);
  }
  dropout(plan_.dropout.embedding, 0, chunk, x);
}

/// Softmax of scores times values, head by head: qkv (rows, 3 A) -> o (rows, A)
void Forward::attention_heads(const BlockActivations& acts, long layer, const BatchSlice& chunk) {
  const long A = plan_.attention_width;
  for_each_head(acts, layer, chunk, [&](const Head& head) {
    k_.attention(head.shape, head.q, head.q + A, head.q + 2 * A, acts.o + head.o, head.softmax_stats, head.mask,
                 head.first, scratch_);
  });
}

/// o (rows, A) of a window in which every token sees all: their mean.
void Forward::uniform_attention(const BlockActivations& acts, const BatchSlice& chunk) const {
  const long A = plan_.attention_width, T = chunk.windows.T, ld = row_stride(3 * A), ldo = row_stride(A);
  for (long s = 0; s < chunk.windows.B(); ++s) {
    const float* const values = acts.qkv + s * T * ld + 2 * A;
    float* const o = acts.o + s * T * ldo;
    k_.broadcast_row(1, A, nullptr, o, ldo);
    for (long t = 0; t < T; ++t) k_.add(1, A, values + t * ld, ld, o, ldo);
    for (long i = 0; i < A; ++i) o[i] /= static_cast<float>(T);
    k_.copy(T - 1, A, o, 0, o + ldo, ldo);
  }
}

/// o (rows, A) = heads(conv(norm(x)))
void Forward::attention(const BlockPlan& block, const BlockActivations& acts, long layer, const BatchSlice& chunk) {
  const long C = plan_.n_embd, ldq = row_stride(3 * plan_.attention_width);
  if (plan_.qkv_source != QkvSource::projected) {
    copy_to_qkv(plan_, k_, rows_, acts.x, row_stride(C), acts.qkv);
    return plan_.causal ? attention_heads(acts, layer, chunk) : uniform_attention(acts, chunk);
  }
  if (!plan_.post_norm) normalise(block.ln_1, acts.x, acts.ln_1, acts.ln_1_stats);
  convolve(block.conv_1, chunk, acts.ln_1, acts.conv_1);
  linear(block.c_attn, acts.conv_1, row_stride(C), acts.qkv, ldq, false);
  k_.qk_norm_rope(rows_, chunk.windows.T, 2 * plan_.n_head, plan_.head_size, acts.qkv, ldq,
                  plan_.qk_norm_eps.value_or(0), acts.qk_rstd, plan_.rope ? plan_.rope_cos.data() : nullptr,
                  plan_.rope_sin.data());
  attention_heads(acts, layer, chunk);
}

/// x = norm(x), of post-norm, which has no backward pass.
void Forward::normalise_in_place(const NormPlan& norm, float* x, float* stats) {
  if (!plan_.norm) return;
  const long ld = row_stride(plan_.n_embd);
  normalise(norm, x, branch_, stats);
  k_.copy(rows_, plan_.n_embd, branch_, ld, x, ld);
}

/// x_mid = x + dropout(c_proj(attention(x))); without a residual stream the latter alone.
void Forward::attention_block(const BlockPlan& block, const BlockActivations& acts, long layer,
                              const BatchSlice& chunk) {
  const long C = plan_.n_embd, ldc = row_stride(C), ldo = row_stride(plan_.attention_width);
  attention(block, acts, layer, chunk);
  attended(acts, layer, chunk);
  const bool drops = plan_.dropout.attention_output > 0 && chunk.seed != nullptr;
  if (plan_.residual)
    k_.copy(rows_, C, acts.x, ldc, acts.x_mid, ldc);
  else
    k_.broadcast_row(rows_, C, nullptr, acts.x_mid, ldc);
  if (block.c_proj.out > 0 && !drops) return linear(block.c_proj, acts.o, ldo, acts.x_mid, ldc, true);
  if (block.c_proj.out > 0)
    linear(block.c_proj, acts.o, ldo, branch_, ldc, false);
  else
    k_.copy(rows_, C, acts.o, ldo, branch_, ldc);
  dropout(plan_.dropout.attention_output, mask_index(layer, DropoutPlace::attention_output), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, acts.x_mid, ldc);
}

/// next = x_mid + dropout(c_proj(f(c_fc(conv(norm(x_mid))))))
void Forward::mlp_block(const BlockPlan& block, const BlockActivations& acts, long layer, const BatchSlice& chunk,
                        float* next) {
  const long C = plan_.n_embd, ldc = row_stride(C), ldh = row_stride(plan_.mlp_width);
  if (!plan_.feed_forward) return k_.copy(rows_, C, acts.x_mid, ldc, next, ldc);
  if (!plan_.post_norm) normalise(block.ln_2, acts.x_mid, acts.ln_2, acts.ln_2_stats);
  convolve(block.conv_2, chunk, acts.ln_2, acts.conv_2);
  linear(block.c_fc, acts.conv_2, ldc, acts.fc, ldh, false);
  if (plan_.swiglu) linear(block.c_gate, acts.conv_2, ldc, acts.gate, ldh, false);
  activate(plan_, k_, rows_, acts.fc, acts.gate, acts.hidden);
  k_.copy(rows_, C, acts.x_mid, ldc, next, ldc);
  if (plan_.dropout.mlp <= 0 || chunk.seed == nullptr) return linear(block.mlp_proj, acts.hidden, ldh, next, ldc, true);
  linear(block.mlp_proj, acts.hidden, ldh, branch_, ldc, false);
  dropout(plan_.dropout.mlp, mask_index(layer, DropoutPlace::mlp), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, next, ldc);
}

// ---- the whole model

/// The chunk's inputs -> logits_ (rows, V)
void Forward::forward(const BatchSlice& chunk) {
  rows_ = chunk.windows.numel();
  chunk.windows.copy_inputs(inputs_.data());
  embed(chunk);
  for (long layer = 0; layer < plan_.n_layer; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    const BlockPlan& block = plan_.blocks[at];
    const BlockActivations& acts = acts_[at];
    float* const next = at + 1 < acts_.size() ? acts_[at + 1].x : x_last_;
    attention_block(block, acts, layer, chunk);
    if (plan_.post_norm) normalise_in_place(block.ln_1, acts.x_mid, acts.ln_1_stats);
    mlp_block(block, acts, layer, chunk, next);
    if (plan_.post_norm && plan_.feed_forward) normalise_in_place(block.ln_2, next, acts.ln_2_stats);
  }
  if (plan_.final_norm) normalise(plan_.ln_f, x_last_, ln_f_, ln_f_stats_);
  linear(plan_.head, ln_f_, row_stride(plan_.n_embd), logits_, row_stride(plan_.vocab_size), false);
}

void Forward::losses(const WeightPointers& weights, const BatchSlice& slice, float* losses) {
  weights_ = &weights;
  for_each_chunk(slice, [&](const BatchSlice& chunk, std::int64_t begin) {
    forward(chunk);
    chunk.windows.copy_targets(targets_.data());
    k_.cross_entropy(rows_, plan_.vocab_size, logits_, row_stride(plan_.vocab_size), targets_.data(), 0,
                     losses + begin * slice.windows.T);
  });
}

void Forward::logits(const WeightPointers& weights, const BatchSlice& slice, float* logits) {
  const long V = plan_.vocab_size;
  weights_ = &weights;
  for_each_chunk(slice, [&](const BatchSlice& chunk, std::int64_t begin) {
    forward(chunk);
    k_.copy(rows_, V, logits_, row_stride(V), logits + begin * slice.windows.T * V, V);
  });
}

}  // namespace chargpt::cpu
