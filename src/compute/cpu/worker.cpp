#include "compute/cpu/worker.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace chargpt::cpu {
namespace {

constexpr std::int64_t rows_at_once = 128;  ///< tokens of a chunk

std::int64_t most_at_once(std::int64_t T) {
  return std::max<std::int64_t>(1, rows_at_once / T);
}

/// Chunks of one share are of almost one size.
std::int64_t sequences_at_once(std::int64_t count, std::int64_t T) {
  const std::int64_t chunks = (count + most_at_once(T) - 1) / most_at_once(T);
  return (count + chunks - 1) / chunks;
}

constexpr long rows_ahead = 4;  ///< of a table, asked for before they are needed: they lie anywhere in memory

void prefetch(const float* row, long width) {
  for (long i = 0; i < width; i += line) __builtin_prefetch(row + i);
}

}  // namespace

// ---- memory

void Worker::lay_out(Layout& layout) {
  const std::int64_t rows = sequences_ * T_;
  const long C = plan_.width, J = plan_.joined, H = plan_.hidden;
  records_.assign(static_cast<std::size_t>(plan_.layers), {});
  for (BlockRecord& r : records_) {
    if (!training_ && &r != &records_.front()) {  // nothing is kept: all blocks share the first one's
      r = records_.front();
      continue;
    }
    r.x = layout.rows(rows, C);
    r.h1 = plan_.norm ? layout.rows(rows, C) : r.x;
    r.statistics1 = layout.take(2 * rows);
    r.qkv = layout.rows(rows, 3 * J);
    r.inverse = plan_.qk_norm_eps ? layout.take(2 * plan_.heads * rows) : nullptr;
    r.softmax = layout.take(2 * plan_.heads * rows);
    r.o = layout.rows(rows, J);
    r.xm = layout.rows(rows, C);
    r.h2 = plan_.norm ? layout.rows(rows, C) : r.xm;
    r.statistics2 = layout.take(2 * rows);
    r.u = layout.rows(rows, H);
    r.gate = plan_.gated ? layout.rows(rows, H) : nullptr;
    r.g = layout.rows(rows, H);
  }
  joined_ = layout.rows(rows, plan_.ngram_proj.in);
  const bool normed = plan_.final_norm && plan_.norm;
  x_last_ = training_ ? layout.rows(rows, C) : records_.front().x;
  h_last_ = normed ? layout.rows(rows, C) : x_last_;
  statistics_last_ = layout.take(2 * rows);
  branch_ = layout.rows(rows, C);
  logits_ = layout.rows(rows, plan_.vocab);
  losses_ = layout.take(rows);
  scratch_ = layout.take(k_.attention_scratch(T_, plan_.head_size));
  if (!training_) return;
  if (halves()) {
    rounded_ = layout.halves(rows * half_stride(widest()));
    paired_x_ = layout.halves((rows + 1) / 2 * pair_stride(widest()));
    paired_dy_ = layout.halves((rows + 1) / 2 * pair_stride(widest()));
  }
  djoined_ = layout.rows(rows, plan_.ngram_proj.in);
  dx_ = layout.rows(rows, C);
  dh_ = layout.rows(rows, C);
  dqkv_ = layout.rows(rows, 3 * J);
  do_ = layout.rows(rows, J);
  dg_ = layout.rows(rows, H);
  dgate_ = plan_.gated ? layout.rows(rows, H) : nullptr;
}

void Worker::prepare(std::int64_t sequences, std::int64_t T, bool training) {
  const std::int64_t at_once = std::min(sequences, most_at_once(T));
  if (at_once <= sequences_ && T == T_ && training == training_) return;
  sequences_ = at_once;
  T_ = T;
  training_ = training;
  Layout count{.base = nullptr, .slack = k_.slack};
  lay_out(count);
  memory_ = Floats();
  memory_ = Floats(count.used);
  Layout layout{.base = memory_.data(), .slack = k_.slack};
  lay_out(layout);
}

// ---- dropout

/// Masks of a pass are numbered in the order in which model/layers.cpp asks for them: 0 attention's weights, 1 its
/// output, 2 the feed-forward layer's.
std::uint32_t Worker::mask_of(long layer, int place) const {
  const DropoutPlan& d = plan_.dropout;
  const int of[3] = {d.attention > 0, d.attention_output > 0, d.mlp > 0};
  int before = (d.embedding > 0) + static_cast<int>(layer) * (of[0] + of[1] + of[2]);
  for (int earlier = 0; earlier < place; ++earlier) before += of[earlier];
  return static_cast<std::uint32_t>(before);
}

DropoutWords Worker::words(double rate, std::uint32_t mask, const Share& chunk) const {
  return {.key = {chunk.seed->words[0], chunk.seed->words[1]},
          .layer = mask,
          .first_kept = static_cast<std::uint64_t>(std::ldexp(rate, 32)),
          .kept = static_cast<float>(1.0 / (1.0 - rate))};
}

/// x (rows, C) *= mask.
void Worker::drop(double rate, std::uint32_t mask, const Share& chunk, float* x) {
  if (rate <= 0 || chunk.seed == nullptr) return;
  const auto first = static_cast<std::uint64_t>(chunk.first * chunk.T * plan_.width);
  k_.drop(words(rate, mask, chunk), first, rows_, plan_.width, x, row_stride(plan_.width));
}

/// The gradient that reaches a branch whose output was dropped: dx times the mask.
const float* Worker::branch_gradient(double rate, std::uint32_t mask, const Share& chunk) {
  if (rate <= 0 || chunk.seed == nullptr) return dx_;
  const long ld = row_stride(plan_.width);
  k_.copy(rows_, plan_.width, dx_, ld, branch_, ld);
  drop(rate, mask, chunk, branch_);
  return branch_;
}

// ---- layers

/// Of all that a linear layer reads or writes.
long Worker::widest() const {
  long width = 0;
  for (const LinearPlan* layer : linear_layers(plan_)) width = std::max({width, layer->in, layer->out});
  return width;
}

/// y (rows, out) (+)= x (rows, in) times a packed matrix (in, out).
void Worker::product(long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy,
                     bool add) const {
  if (!halves())
    return k_.product(rows_, out, in, x, ldx, weights_->packed + packed, k_.panel, in * k_.panel, y, ldy, add);
  const HalfKernels& half = *plan_.half;
  const long ld = half_stride(in), pairs = 2 * half.panel;
  half.round(rows_, in, x, ldx, rounded_, ld);
  half.product(rows_, out, in, rounded_, ld, packed_halves(packed), pairs, (in + 1) / 2 * pairs, y, ldy, add);
}

/// dw (out, in) (+)= dy^T x
void Worker::product_at(long out, long in, const float* dy, long lddy, const float* x, long ldx, float* dw) const {
  if (!halves()) return k_.product_at(out, in, rows_, dy, lddy, x, ldx, k_.panel, dw, in, worked_);
  const HalfKernels& half = *plan_.half;
  half.pair(rows_, out, dy, lddy, paired_dy_, pair_stride(out));
  half.pair(rows_, in, x, ldx, paired_x_, pair_stride(in));
  half.product_at(out, in, rows_, paired_dy_, pair_stride(out), paired_x_, pair_stride(in), 2 * half.panel, dw, in,
                  worked_);
}

/// y (rows, out) (+)= x (rows, in) W^T + b
void Worker::apply(const LinearPlan& layer, const float* x, long ldx, float* y, long ldy, bool add) const {
  const float* const bias = value(layer.bias);
  if (bias != nullptr && !add) k_.fill(rows_, layer.out, bias, y, ldy);
  if (bias != nullptr && add) k_.add(rows_, layer.out, bias, 0, y, ldy);
  product(layer.out, layer.in, x, ldx, layer.forward, y, ldy, add || bias != nullptr);
}

/// dW += dy^T x, db += sum of dy, dx (+)= dy W
void Worker::apply_backward(const LinearPlan& layer, const float* x, long ldx, const float* dy, long lddy, float* dx,
                            long lddx, bool add) {
  product_at(layer.out, layer.in, dy, lddy, x, ldx, gradient(layer.weight));
  if (layer.bias.there()) k_.add_rows(rows_, layer.out, dy, lddy, gradient(layer.bias));
  product(layer.in, layer.out, dy, lddy, layer.backward, dx, lddx, add);
}

void Worker::normalise(const NormPlan& norm, const float* x, float* y, float* statistics) const {
  const long ld = row_stride(plan_.width);
  if (plan_.norm)
    k_.norm(*plan_.norm, rows_, plan_.width, x, ld, value(norm.gain), value(norm.bias), plan_.norm_eps, y, ld,
            statistics);
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

/// x = wte[id] + position + tables, (rows, C)
void Worker::embed(const Share& chunk) {
  const long C = plan_.width, ld = row_stride(C);
  float* const x = records_.front().x;
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
void Worker::look_up(const Share& chunk, float* x) {
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

/// Softmax of scores times values, head by head: qkv (rows, 3 nh hs) -> o (rows, nh hs)
void Worker::heads(const BlockRecord& record, long layer, const Share& chunk) {
  const long J = plan_.joined, hs = plan_.head_size, T = chunk.T, ld = row_stride(3 * J), ldo = row_stride(J);
  const HeadShape shape{.T = T, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  const bool drops = plan_.dropout.attention > 0 && chunk.seed != nullptr;
  const DropoutWords mask = drops ? words(plan_.dropout.attention, mask_of(layer, 0), chunk) : DropoutWords{};
  for (long s = 0; s < chunk.count; ++s)
    for (long h = 0; h < plan_.heads; ++h) {
      const float* const q = record.qkv + s * T * ld + h * hs;
      const auto first = static_cast<std::uint64_t>(((chunk.first + s) * plan_.heads + h) * T * T);
      k_.attention(shape, q, q + J, q + 2 * J, record.o + s * T * ldo + h * hs,
                   record.softmax + (s * plan_.heads + h) * 2 * T, drops ? &mask : nullptr, first, scratch_);
    }
}

void Worker::heads_backward(const BlockRecord& record, long layer, const Share& chunk) {
  const long J = plan_.joined, hs = plan_.head_size, T = chunk.T, ld = row_stride(3 * J), ldo = row_stride(J);
  const HeadShape shape{.T = T, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  const bool drops = plan_.dropout.attention > 0 && chunk.seed != nullptr;
  const DropoutWords mask = drops ? words(plan_.dropout.attention, mask_of(layer, 0), chunk) : DropoutWords{};
  for (long s = 0; s < chunk.count; ++s)
    for (long h = 0; h < plan_.heads; ++h) {
      const float* const q = record.qkv + s * T * ld + h * hs;
      float* const dq = dqkv_ + s * T * ld + h * hs;
      const long place = s * T * ldo + h * hs;
      const auto first = static_cast<std::uint64_t>(((chunk.first + s) * plan_.heads + h) * T * T);
      k_.attention_backward(shape, q, q + J, q + 2 * J, record.o + place,
                            record.softmax + (s * plan_.heads + h) * 2 * T, do_ + place, dq, dq + J, dq + 2 * J, ld,
                            drops ? &mask : nullptr, first, scratch_);
    }
}

/// xm = x + dropout(projection(heads(norm(x))))
void Worker::attend(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  const long C = plan_.width, J = plan_.joined, ldc = row_stride(C), ldj = row_stride(J), ldq = row_stride(3 * J);
  normalise(block.ln_1, record.x, record.h1, record.statistics1);
  apply(block.c_attn, record.h1, ldc, record.qkv, ldq, false);
  k_.turn(rows_, chunk.T, 2 * plan_.heads, plan_.head_size, record.qkv, ldq, plan_.qk_norm_eps.value_or(0),
          record.inverse, plan_.rope ? plan_.cosines.data() : nullptr, plan_.sines.data());
  heads(record, layer, chunk);
  const bool drops = plan_.dropout.attention_output > 0 && chunk.seed != nullptr;
  k_.copy(rows_, C, record.x, ldc, record.xm, ldc);
  if (block.c_proj.out > 0 && !drops) return apply(block.c_proj, record.o, ldj, record.xm, ldc, true);
  if (block.c_proj.out > 0)
    apply(block.c_proj, record.o, ldj, branch_, ldc, false);
  else
    k_.copy(rows_, C, record.o, ldj, branch_, ldc);
  drop(plan_.dropout.attention_output, mask_of(layer, 1), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, record.xm, ldc);
}

void Worker::attend_backward(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk) {
  const long C = plan_.width, J = plan_.joined, ldc = row_stride(C), ldj = row_stride(J), ldq = row_stride(3 * J);
  const float* const branch = branch_gradient(plan_.dropout.attention_output, mask_of(layer, 1), chunk);
  if (block.c_proj.out > 0)
    apply_backward(block.c_proj, record.o, ldj, branch, ldc, do_, ldj, false);
  else
    k_.copy(rows_, C, branch, ldc, do_, ldj);
  heads_backward(record, layer, chunk);
  k_.turn_backward(rows_, chunk.T, 2 * plan_.heads, plan_.head_size, record.qkv, ldq, record.inverse,
                   plan_.rope ? plan_.cosines.data() : nullptr, plan_.sines.data(), dqkv_, ldq);
  apply_backward(block.c_attn, record.h1, ldc, dqkv_, ldq, dh_, ldc, false);
  normalise_backward(block.ln_1, record.x, record.statistics1, dh_, dx_);
}

/// next = xm + dropout(projection(f(widening(norm(xm)))))
void Worker::feed(const BlockPlan& block, const BlockRecord& record, long layer, const Share& chunk, float* next) {
  const long C = plan_.width, ldc = row_stride(C), ldh = row_stride(plan_.hidden);
  if (!plan_.feed_forward) return k_.copy(rows_, C, record.xm, ldc, next, ldc);
  normalise(block.ln_2, record.xm, record.h2, record.statistics2);
  apply(block.c_fc, record.h2, ldc, record.u, ldh, false);
  if (plan_.gated) {
    apply(block.c_gate, record.h2, ldc, record.gate, ldh, false);
    k_.gated(rows_, plan_.hidden, record.u, record.gate, ldh, record.g, ldh);
  } else {
    k_.curve(plan_.curve, rows_, plan_.hidden, record.u, ldh, record.g, ldh);
  }
  k_.copy(rows_, C, record.xm, ldc, next, ldc);
  if (plan_.dropout.mlp <= 0 || chunk.seed == nullptr) return apply(block.mlp_proj, record.g, ldh, next, ldc, true);
  apply(block.mlp_proj, record.g, ldh, branch_, ldc, false);
  drop(plan_.dropout.mlp, mask_of(layer, 2), chunk, branch_);
  k_.add(rows_, C, branch_, ldc, next, ldc);
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

/// inputs (rows) -> logits (rows, V)
void Worker::forward(const Share& chunk) {
  rows_ = chunk.count * chunk.T;
  embed(chunk);
  for (long layer = 0; layer < plan_.layers; ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    attend(plan_.blocks[at], records_[at], layer, chunk);
    feed(plan_.blocks[at], records_[at], layer, chunk, at + 1 < records_.size() ? records_[at + 1].x : x_last_);
  }
  if (plan_.final_norm) normalise(plan_.ln_f, x_last_, h_last_, statistics_last_);
  apply(plan_.head, h_last_, row_stride(plan_.width), logits_, row_stride(plan_.vocab), false);
}

/// logits_ holds their gradient.
void Worker::backward(const Share& chunk) {
  const long C = plan_.width, ld = row_stride(C);
  const bool normed = plan_.final_norm && plan_.norm;
  apply_backward(plan_.head, h_last_, ld, logits_, row_stride(plan_.vocab), normed ? dh_ : dx_, ld, false);
  if (normed) {
    k_.fill(rows_, C, nullptr, dx_, ld);
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

/// Chunk after chunk; `losses` null: train.
double Worker::run(const Share& share, float* losses) {
  double total = 0;
  const std::int64_t at_once = sequences_at_once(share.count, share.T);
  for (std::int64_t begin = 0; begin < share.count; begin += at_once) {
    Share chunk = share;
    chunk.inputs += begin * share.T;
    chunk.targets += begin * share.T;
    chunk.first += begin;
    chunk.count = std::min(at_once, share.count - begin);
    forward(chunk);
    float* const each = losses != nullptr ? losses + begin * share.T : losses_;
    k_.cross_entropy(rows_, plan_.vocab, logits_, row_stride(plan_.vocab), chunk.targets,
                     losses != nullptr ? 0 : share.scale, each);
    if (losses != nullptr) continue;
    for (long r = 0; r < rows_; ++r) total += static_cast<double>(each[r]);
    backward(chunk);
  }
  return total;
}

double Worker::train(const Share& share) {
  return run(share, nullptr);
}

void Worker::evaluate(const Weights& weights, const Share& share, float* losses) {
  weights_ = &weights;
  run(share, losses);
}

}  // namespace chargpt::cpu
