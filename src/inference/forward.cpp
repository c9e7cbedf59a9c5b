#include "inference/forward.h"

#include <algorithm>
#include <cmath>

namespace chargpt::cpu {
namespace {

constexpr std::int64_t rows_at_once = 128;  ///< tokens of a chunk

std::int64_t most_at_once(std::int64_t T) {
  return std::max<std::int64_t>(1, rows_at_once / T);
}

constexpr long rows_ahead = 4;  ///< of a table, asked for before they are needed: they lie anywhere in memory

void prefetch(const float* row, long width) {
  for (long i = 0; i < width; i += cache_line) __builtin_prefetch(row + i);
}

}  // namespace

// ---- memory

void Forward::lay_out(BumpAllocator& layout) {
  const std::int64_t rows = sequences_ * T_;
  const long C = plan_.width, J = plan_.joined, H = plan_.hidden;
  const bool norm_first = plan_.norm && !plan_.post_norm;
  records_.assign(static_cast<std::size_t>(plan_.layers), {});
  for (BlockRecord& r : records_) {
    if (!keep_ && &r != &records_.front()) {  // nothing is kept: all blocks share the first one's
      r = records_.front();
      continue;
    }
    r.x = layout.rows(rows, C);
    r.h1 = norm_first ? layout.rows(rows, C) : r.x;
    r.statistics1 = layout.allocate(2 * rows);
    r.qkv = layout.rows(rows, 3 * J);
    r.inverse = plan_.qk_norm_eps ? layout.allocate(2 * plan_.heads * rows) : nullptr;
    r.softmax = layout.allocate(2 * plan_.heads * rows);
    r.o = layout.rows(rows, J);
    r.xm = layout.rows(rows, C);
    r.h2 = norm_first ? layout.rows(rows, C) : r.xm;
    r.statistics2 = layout.allocate(2 * rows);
    r.u = layout.rows(rows, H);
    r.gate = plan_.gated ? layout.rows(rows, H) : nullptr;
    r.g = layout.rows(rows, H);
  }
  joined_ = layout.rows(rows, plan_.ngram_proj.in);
  const bool normed = plan_.final_norm && plan_.norm;
  x_last_ = keep_ || records_.empty() ? layout.rows(rows, C) : records_.front().x;
  x_first_ = records_.empty() ? x_last_ : records_.front().x;
  h_last_ = normed ? layout.rows(rows, C) : x_last_;
  statistics_last_ = layout.allocate(2 * rows);
  branch_ = layout.rows(rows, C);
  logits_ = layout.rows(rows, plan_.vocab);
  losses_ = layout.allocate(rows);
  scratch_ = layout.allocate(k_.attention_scratch(T_, plan_.head_size));
  if (halves()) rounded_ = layout.bf16(rows * bf16_stride(widest()));
}

std::int64_t Forward::sequences_at_once(std::int64_t count, std::int64_t T) {
  const std::int64_t chunks = (count + most_at_once(T) - 1) / most_at_once(T);
  return (count + chunks - 1) / chunks;
}

void Forward::prepare(std::int64_t sequences, std::int64_t T) {
  const std::int64_t at_once = std::min(sequences, most_at_once(T));
  if (at_once <= sequences_ && T == T_) return;
  sequences_ = at_once;
  T_ = T;
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  lay_out(count);
  memory_ = AlignedFloats();
  memory_ = AlignedFloats(count.used);
  BumpAllocator layout{.base = memory_.data(), .slack = k_.slack};
  lay_out(layout);
}

// ---- dropout

/// Masks of a pass are numbered in the order in which model/layers.cpp asks for them: 0 attention's weights, 1 its
/// output, 2 the feed-forward layer's.
std::uint32_t Forward::mask_of(long layer, int place) const {
  const DropoutPlan& d = plan_.dropout;
  const int of[3] = {d.attention > 0, d.attention_output > 0, d.mlp > 0};
  int before = (d.embedding > 0) + static_cast<int>(layer) * (of[0] + of[1] + of[2]);
  for (int earlier = 0; earlier < place; ++earlier) before += of[earlier];
  return static_cast<std::uint32_t>(before);
}

DropoutMask Forward::words(double rate, std::uint32_t mask, const Share& chunk) const {
  return {.key = {chunk.seed->words[0], chunk.seed->words[1]},
          .layer = mask,
          .threshold = static_cast<std::uint64_t>(std::ldexp(rate, 32)),
          .scale = static_cast<float>(1.0 / (1.0 - rate))};
}

/// x (rows, C) *= mask.
void Forward::drop(double rate, std::uint32_t mask, const Share& chunk, float* x) {
  if (rate <= 0 || chunk.seed == nullptr) return;
  const auto first = static_cast<std::uint64_t>(chunk.first * chunk.T * plan_.width);
  k_.dropout(words(rate, mask, chunk), first, rows_, plan_.width, x, row_stride(plan_.width));
}

// ---- layers

/// Of all that a linear layer reads or writes.
long Forward::widest() const {
  long width = 0;
  for (const LinearPlan* layer : linear_layers(plan_)) width = std::max({width, layer->in, layer->out});
  return width;
}

/// y (rows, out) (+)= x (rows, in) times a packed matrix (in, out).
void Forward::product(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy,
                      bool add) const {
  if (!halves())
    return k_.matmul(rows_, out, in, x, ldx, weights_->packed + packed, k_.panel_width, in * k_.panel_width, y, ldy,
                     add);
  const Bf16Kernels& half = *plan_.half;
  const long ld = bf16_stride(in), pairs = 2 * half.panel_width;
  half.to_bf16(rows_, in, x, ldx, rounded_, ld);
  half.matmul(rows_, out, in, rounded_, ld, packed_halves(packed), pairs, (in + 1) / 2 * pairs, y, ldy, add);
}

/// y (rows, out) (+)= x (rows, in) W^T + b
void Forward::apply(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const {
  const float* const bias = value(layer.bias);
  if (bias != nullptr && !add) k_.broadcast_row(rows_, layer.out, bias, y, ldy);
  if (bias != nullptr && add) k_.add(rows_, layer.out, bias, 0, y, ldy);
  product(layer.out, layer.in, x, ldx, layer.forward, y, ldy, add || bias != nullptr);
}

void Forward::normalise(const NormPlan& norm, const float* x, float* y, float* statistics) const {
  const long ld = row_stride(plan_.width);
  if (plan_.norm)
    k_.norm(*plan_.norm, rows_, plan_.width, x, ld, value(norm.gain), value(norm.bias), plan_.norm_eps, y, ld,
            statistics);
}

/// x = wte[id] + position + tables, (rows, C)
void Forward::embed(const Share& chunk) {
  const long C = plan_.width, ld = row_stride(C);
  float* const x = x_first_;
  const float* const tokens = value(plan_.wte);
  const float* const positions = plan_.wpe.there()         ? value(plan_.wpe)
                                 : plan_.sinusoids.empty() ? nullptr
                                                           : plan_.sinusoids.data();
  for (long r = 0; r < rows_; ++r) {
    k_.copy(1, C, tokens + chunk.inputs[r] * C, C, x + r * ld, ld);
    if (positions != nullptr) k_.add(1, C, positions + r % chunk.T * C, C, x + r * ld, ld);
  }
  if (!plan_.tables.empty()) look_up(chunk, x);
  drop(plan_.dropout.embedding, 0, chunk, x);
}

/// x (rows, C) += the rows of the tables, or the projection of those side by side.
void Forward::look_up(const Share& chunk, float* x) {
  const long W = plan_.table_width, ld = row_stride(plan_.width), ldj = row_stride(plan_.ngram_proj.in);
  for (std::size_t i = 0; i < plan_.tables.size(); ++i) {
    const float* const table = value(plan_.tables[i].weight);
    const std::int64_t* const row = chunk.rows[i] + chunk.first * chunk.T;
    float* const joined = joined_ + static_cast<long>(i) * W;
    for (long r = 0; r < rows_; ++r) {
      prefetch(table + row[std::min(r + rows_ahead, rows_ - 1)] * W, W);
      if (plan_.ngram_proj.out > 0)
        k_.copy(1, W, table + row[r] * W, W, joined + r * ldj, ldj);
      else
        k_.add(1, W, table + row[r] * W, W, x + r * ld, ld);
    }
  }
  if (plan_.ngram_proj.out > 0) apply(plan_.ngram_proj, joined_, ldj, x, ld, true);
}

/// Softmax of scores times values, head by head: qkv (rows, 3 nh hs) -> o (rows, nh hs)
void Forward::heads(const BlockRecord& record, long layer, const Share& chunk) {
  const long J = plan_.joined;
  for_each_head(record, layer, chunk, [&](const Head& head) {
    k_.attention(head.shape, head.q, head.q + J, head.q + 2 * J, record.o + head.o, head.softmax, head.mask, head.first,
                 scratch_);
  });
}

/// qkv (rows, 3 J) of a model that projects nothing: the token itself as value, and as query and key, or zeros there.
void Forward::repeat(const float* x, float* qkv) const {
  const long J = plan_.joined, ldx = row_stride(plan_.width), ld = row_stride(3 * J);
  for (float* const to : {qkv, qkv + J})
    if (plan_.mixing == Mixing::mean)
      k_.broadcast_row(rows_, J, nullptr, to, ld);
    else
      k_.copy(rows_, J, x, ldx, to, ld);
  k_.copy(rows_, J, x, ldx, qkv + 2 * J, ld);
}

/// o (rows, J) of a window in which every token sees all: their mean.
void Forward::mean(const BlockRecord& record, const Share& chunk) const {
  const long J = plan_.joined, T = chunk.T, ld = row_stride(3 * J), ldo = row_stride(J);
  for (long s = 0; s < chunk.count; ++s) {
    const float* const values = record.qkv + s * T * ld + 2 * J;
    float* const o = record.o + s * T * ldo;
    k_.broadcast_row(1, J, nullptr, o, ldo);
    for (long t = 0; t < T; ++t) k_.add(1, J, values + t * ld, ld, o, ldo);
    for (long i = 0; i < J; ++i) o[i] /= static_cast<float>(T);
    k_.copy(T - 1, J, o, 0, o + ldo, ldo);
  }
}

/// o (rows, J) = heads(norm(x))
void Forward::mix(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  const long C = plan_.width, ldq = row_stride(3 * plan_.joined);
  if (plan_.mixing != Mixing::projected) {
    repeat(record.x, record.qkv);
    return plan_.causal ? heads(record, layer, chunk) : mean(record, chunk);
  }
  if (!plan_.post_norm) normalise(block.ln_1, record.x, record.h1, record.statistics1);
  apply(block.c_attn, record.h1, row_stride(C), record.qkv, ldq, false);
  k_.qk_norm_rope(rows_, chunk.T, 2 * plan_.heads, plan_.head_size, record.qkv, ldq, plan_.qk_norm_eps.value_or(0),
                  record.inverse, plan_.rope ? plan_.cosines.data() : nullptr, plan_.sines.data());
  heads(record, layer, chunk);
}

/// x = norm(x), which backward does not know.
void Forward::normalise_in_place(const NormPlan& norm, float* x, float* statistics) {
  if (!plan_.norm) return;
  const long ld = row_stride(plan_.width);
  normalise(norm, x, branch_, statistics);
  k_.copy(rows_, plan_.width, branch_, ld, x, ld);
}

/// xm = x + dropout(projection(o)), of a model without residual stream the latter alone.
void Forward::attend(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  const long C = plan_.width, ldc = row_stride(C), ldj = row_stride(plan_.joined);
  mix(block, record, layer, chunk);
  const bool drops = plan_.dropout.attention_output > 0 && chunk.seed != nullptr;
  if (plan_.residual)
    k_.copy(rows_, C, record.x, ldc, record.xm, ldc);
  else
    k_.broadcast_row(rows_, C, nullptr, record.xm, ldc);
  if (block.c_proj.out > 0 && !drops) return apply(block.c_proj, record.o, ldj, record.xm, ldc, true);
  if (block.c_proj.out > 0)
    apply(block.c_proj, record.o, ldj, branch_, ldc, false);
  else
    k_.copy(rows_, C, record.o, ldj, branch_, ldc);
  drop(plan_.dropout.attention_output, mask_of(layer, 1), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, record.xm, ldc);
}

/// next = xm + dropout(projection(f(widening(norm(xm)))))
void Forward::feed(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk, float* next) {
  const long C = plan_.width, ldc = row_stride(C), ldh = row_stride(plan_.hidden);
  if (!plan_.feed_forward) return k_.copy(rows_, C, record.xm, ldc, next, ldc);
  if (!plan_.post_norm) normalise(block.ln_2, record.xm, record.h2, record.statistics2);
  apply(block.c_fc, record.h2, ldc, record.u, ldh, false);
  if (plan_.gated) {
    apply(block.c_gate, record.h2, ldc, record.gate, ldh, false);
    k_.swiglu(rows_, plan_.hidden, record.u, record.gate, ldh, record.g, ldh);
  } else {
    k_.activation(plan_.curve, rows_, plan_.hidden, record.u, ldh, record.g, ldh);
  }
  k_.copy(rows_, C, record.xm, ldc, next, ldc);
  if (plan_.dropout.mlp <= 0 || chunk.seed == nullptr) return apply(block.mlp_proj, record.g, ldh, next, ldc, true);
  apply(block.mlp_proj, record.g, ldh, branch_, ldc, false);
  drop(plan_.dropout.mlp, mask_of(layer, 2), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, next, ldc);
}

// ---- the whole model

/// inputs (rows) -> logits (rows, V)
void Forward::forward(const Share& chunk) {
  rows_ = chunk.count * chunk.T;
  embed(chunk);
  for (long layer = 0; layer < plan_.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    const BlockPlan& block = plan_.blocks[at];
    const BlockRecord& record = records_[at];
    float* const next = at + 1 < records_.size() ? records_[at + 1].x : x_last_;
    attend(block, record, layer, chunk);
    if (plan_.post_norm) normalise_in_place(block.ln_1, record.xm, record.statistics1);
    feed(block, record, layer, chunk, next);
    if (plan_.post_norm && plan_.feed_forward) normalise_in_place(block.ln_2, next, record.statistics2);
  }
  if (plan_.final_norm) normalise(plan_.ln_f, x_last_, h_last_, statistics_last_);
  apply(plan_.head, h_last_, row_stride(plan_.width), logits_, row_stride(plan_.vocab), false);
}

void Forward::losses(const Weights& weights, const Share& share, float* losses) {
  weights_ = &weights;
  for_each_chunk(share, [&](const Share& chunk, std::int64_t begin) {
    forward(chunk);
    k_.cross_entropy(rows_, plan_.vocab, logits_, row_stride(plan_.vocab), chunk.targets, 0, losses + begin * share.T);
  });
}

}  // namespace chargpt::cpu
