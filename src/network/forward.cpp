#include "network/forward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/part.h"

namespace chargpt::cpu {
namespace {

constexpr long divided_product = 1 << 13;  ///< multiply-adds that take a thread longer than to pass on its part: 0.2 us

/// Most sequences of a chunk.
std::int64_t max_sequences(std::int64_t T) {
  return std::max<std::int64_t>(1, Forward::chunk_rows / T);
}

}  // namespace

// ---- memory

void Forward::allocate_buffers(BumpAllocator& memory) {
  const std::int64_t rows = max_rows_;
  const long C = plan_.n_embd, A = plan_.attention_width, H = plan_.mlp_width;
  branch_ = memory.rows(rows, C);
  blocks_.clear();
  for (const BlockParameters& parameters : plan_.blocks) {
    const bool shares = !for_backward_ && !blocks_.empty();  // inference: all blocks share the buffers of the first
    BlockPass& block = blocks_.emplace_back(shares ? blocks_.front() : BlockPass{});
    block.parameters = &parameters;
    block.layer = std::ssize(blocks_) - 1;
    if (shares) continue;
    block.x = memory.rows(rows, C);
    block.ln_1 = plan_.norm_first() ? memory.rows(rows, C) : block.x;
    block.ln_1_stats = memory.allocate(2 * rows);
    block.conv_1 = parameters.conv_1.exists() ? memory.rows(rows, C) : block.ln_1;
    block.qkv = memory.rows(rows, 3 * A);
    block.qk_rstd = plan_.qk_norm_eps ? memory.allocate(2 * plan_.n_head * rows) : nullptr;
    block.softmax_stats = memory.allocate(2 * plan_.n_head * rows);
    block.o = memory.rows(rows, A);
    block.x_mid = for_backward_ ? memory.rows(rows, C) : block.x;
    block.ln_2 = plan_.norm_first() ? memory.rows(rows, C) : block.x_mid;
    block.ln_2_stats = memory.allocate(2 * rows);
    block.conv_2 = parameters.conv_2.exists() ? memory.rows(rows, C) : block.ln_2;
    block.fc = memory.rows(rows, H);
    block.gate = plan_.swiglu ? memory.rows(rows, H) : nullptr;
    block.hidden = memory.rows(rows, H);
    block.sum_1 = plan_.post_norm && for_backward_ ? memory.rows(rows, C) : branch_;
    block.sum_2 = plan_.post_norm && for_backward_ ? memory.rows(rows, C) : branch_;
  }
  x_last_ = for_backward_ || blocks_.empty() ? memory.rows(rows, C) : blocks_.front().x;
  x_first_ = blocks_.empty() ? x_last_ : blocks_.front().x;
  ln_f_ = plan_.final_norm ? memory.rows(rows, C) : x_last_;
  ln_f_stats_ = memory.allocate(2 * rows);
  logits_ = memory.rows(rows, plan_.vocab_size);
  losses_ = memory.allocate(rows);
  keys_ = memory.rows(plan_.head_size, max_T_);
  scratch_ = memory.allocate(k_.attention_scratch(max_T_, plan_.head_size));
  conv_rows_ = plan_.conv_width > 0 && !for_backward_ ? memory.rows(plan_.conv_width - 1 + rows, C) : nullptr;
  if (plan_.bf16 != nullptr) x_bf16_ = memory.bf16(rows * bf16_stride(max_width()));
}

std::int64_t Forward::sequences_at_once(std::int64_t count, std::int64_t T) {
  const std::int64_t chunks = (count + max_sequences(T) - 1) / max_sequences(T);
  return (count + chunks - 1) / chunks;
}

void Forward::prepare(std::int64_t sequences, std::int64_t T) {
  prepare_rows(std::min(sequences, max_sequences(T)) * T, T);
}

void Forward::prepare_rows(std::int64_t rows, std::int64_t T) {
  if (memory_.empty()) max_rows_ = max_T_ = 0;  // first call, or the last allocation failed
  if (rows <= max_rows_ && T <= max_T_) return;
  memory_ = AlignedFloats();
  max_rows_ = std::max(rows, max_rows_);
  max_T_ = std::max(T, max_T_);
  inputs_.resize(static_cast<std::size_t>(max_rows_));
  targets_.resize(inputs_.size());
  stretches_.reserve(inputs_.size());
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  allocate_buffers(count);
  memory_ = AlignedFloats(count.used);
  BumpAllocator memory{.base = memory_.data(), .slack = k_.slack};
  allocate_buffers(memory);
  beyond_.set(0, 1);  // allocates what a sliding context needs
}

void Forward::read_inputs(const WindowBatch& windows) {
  windows.copy_inputs(inputs_.data());
  stretches_.clear();
  for (long sequence = 0, row = 0; sequence < windows.B(); ++sequence)
    for (long t = 0; t < windows.T; ++t, ++row)
      if (t == 0 || inputs_[static_cast<std::size_t>(row)] == windows.tokens.document())
        stretches_.push_back({sequence, row, 1});
      else
        ++stretches_.back().rows;
}

// ---- dropout

DropoutMask Forward::mask_of(Place place, long layer) const {
  return dropout_mask(plan_.dropout.rate(place), *chunk_.seed, plan_.dropout.mask_index(place, layer));
}

/// x (rows, C) *= mask.
void Forward::dropout(Place place, long layer, float* x) const {
  if (!drops(place)) return;
  const auto first = static_cast<std::uint64_t>(chunk_.first_sequence * chunk_.count * plan_.n_embd);
  k_.dropout(mask_of(place, layer), first, rows_, plan_.n_embd, x, row_stride(plan_.n_embd));
}

// ---- layers

/// The largest input or output width of the linear layers.
long Forward::max_width() const {
  long width = 0;
  for_each_linear(plan_, [&](const LinearParameters& layer) { width = std::max({width, layer.in, layer.out}); });
  return width;
}

/// y (rows, out) (+)= x (rows, in) times a packed matrix (in, out).
void Forward::matmul(long rows, long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy,
                     bool add) const {
  const float* const from = weights_.packed.data() + packed;
  if (plan_.bf16 != nullptr) {
    const Bf16Kernels& bf16 = *plan_.bf16;
    const long ld = bf16_stride(in), pairs = 2 * bf16.panel_width;
    bf16.to_bf16(rows, in, x, ldx, x_bf16_, ld);
    return bf16.matmul(rows, out, in, x_bf16_, ld, reinterpret_cast<const Bf16*>(from), pairs, (in + 1) / 2 * pairs, y,
                       ldy, add);
  }
  const long width = k_.panel_width;
  if (rows == 1)
    k_.matvec(out, in, x, from, width, in * width, y, add);
  else
    k_.matmul(rows, out, in, x, ldx, from, width, in * width, y, ldy, add);
}

/// The part of these columns that a thread of the crew computes, in whole units.
Forward::Range Forward::part_of_thread(Range columns, long unit, int thread) const {
  if (chunk_.crew == nullptr) return columns;
  const long units = (columns.end - columns.begin + unit - 1) / unit, threads = chunk_.crew->team.threads();
  const auto edge = [&](long of) { return std::min(columns.end, columns.begin + units * of / threads * unit); };
  return {edge(thread), edge(thread + 1)};
}

/// Gives the other threads of the crew this thread's part of y, and takes theirs.
void Forward::exchange(long rows, Range columns, long unit, float* y, long ldy) {
  if (chunk_.crew == nullptr) return;
  Crew& crew = *chunk_.crew;
  exchanges_ ^= 1;  // the others may still read what was given the last time
  const auto copy = [&](int thread) {
    const Range part = part_of_thread(columns, unit, thread);
    const long width = part.end - part.begin, ld = row_stride(width);
    float* const given = crew.given.data() + (2 * thread + exchanges_) * crew.part_size;
    if (thread != chunk_.thread) return k_.copy(rows, width, given, ld, y + part.begin, ldy);
    k_.copy(rows, width, y + part.begin, ldy, given, ld);
  };
  copy(chunk_.thread);
  crew.team.meet(chunk_.thread);
  for (int thread = 0; thread < crew.team.threads(); ++thread)
    if (thread != chunk_.thread) copy(thread);
}

/// Some columns of y (rows, out) (+)= x (rows, in) W^T + b; they start at the start of a panel.
void Forward::linear(const LinearParameters& layer, Range columns, long rows, const float* x, long ldx, float* y,
                     long ldy, bool add) {
  const bool divided = rows * (columns.end - columns.begin) * layer.in >= divided_product;
  const auto [begin, end] = divided ? part_of_thread(columns, k_.panel_width, chunk_.thread) : columns;
  const long width = end - begin;
  if (const float* const bias = value(layer.bias)) {
    if (add)
      k_.add(rows, width, bias + begin, 0, y + begin, ldy);
    else
      k_.broadcast_row(rows, width, bias + begin, y + begin, ldy);
    add = true;
  }
  if (width > 0) matmul(rows, width, layer.in, x, ldx, layer.packed_forward + begin * layer.in, y + begin, ldy, add);
  if (divided) exchange(rows, columns, k_.panel_width, y, ldy);
}

/// y (rows, out) (+)= x (rows, in) W^T + b.
void Forward::linear(const LinearParameters& layer, const float* x, float* y, bool add) {
  linear(layer, {0, layer.out}, rows_, x, row_stride(layer.in), y, row_stride(layer.out), add);
}

/// Applies a norm; the model must have norms.
void Forward::normalise(const NormParameters& norm, const float* x, float* y, float* stats) const {
  const long ld = row_stride(plan_.n_embd);
  k_.norm(*plan_.norm, rows_, plan_.n_embd, x, ld, value(norm.gain), value(norm.bias), plan_.norm_eps, y, ld, stats);
}

/// For post-norm: sum = x, x = norm(sum). Does nothing for other models.
void Forward::normalise_sum(const NormParameters& norm, float* x, float* sum, float* stats) const {
  if (!plan_.post_norm) return;
  const long ld = row_stride(plan_.n_embd);
  k_.copy(rows_, plan_.n_embd, x, ld, sum, ld);
  normalise(norm, sum, x, stats);
}

/// x (rows, C) += dropout(W h + b), the end of a residual branch; without a residual stream, x = dropout(W h + b). If
/// the model does not have this linear layer, h replaces its output.
void Forward::add_branch(const LinearParameters& end, Place place, long layer, const float* h, float* x) {
  const long C = plan_.n_embd, ld = row_stride(C);
  const bool masked = drops(place), add = plan_.residual && !masked;
  float* const y = masked ? branch_ : x;
  if (end.out > 0)
    linear(end, h, y, add);
  else
    (add ? k_.add : k_.copy)(rows_, C, h, ld, y, ld);
  if (!masked) return;
  dropout(place, layer, y);
  (plan_.residual ? k_.add : k_.copy)(rows_, C, y, ld, x, ld);
}

/// y = x + its convolution, stretch by stretch: (rows, C). Returns without a weight: y is then x. Stores the rows that
/// the next chunk reads in a ring of the last positions.
void Forward::convolve(const Parameter& weight, long layer, Place place, const float* x, float* y) {
  if (!weight.exists()) return;
  const long C = plan_.n_embd, ld = row_stride(C), taps = plan_.conv_width;
  const auto seen = static_cast<long>(std::min<std::int64_t>(chunk_.position, taps - 1));
  for (const Stretch& stretch : stretches_) {
    const float* const own = x + stretch.row * ld;
    const auto kept = [&](std::int64_t position) {
      return chunk_.cache->conv_input(layer, place, chunk_.slots[stretch.sequence], position);
    };
    const float* rows = own;
    if (seen > 0) {  // rows before the chunk, then its own
      for (long i = 0; i < seen; ++i) k_.copy(1, C, kept(chunk_.position - seen + i), C, conv_rows_ + i * ld, ld);
      k_.copy(stretch.rows, C, own, ld, conv_rows_ + seen * ld, ld);
      rows = conv_rows_ + seen * ld;
    }
    k_.convolve(stretch.rows, seen, C, taps, rows, ld, value(weight), y + stretch.row * ld, ld);
    if (chunk_.count > 1 && chunk_.crew != nullptr) chunk_.crew->team.meet(chunk_.thread);  // all have read the ring
    if (chunk_.cache != nullptr && chunk_.thread == 0)
      for (long i = std::max(0L, stretch.rows - taps); i < stretch.rows; ++i)
        k_.copy(1, C, own + i * ld, ld, kept(chunk_.position + i), C);
  }
}

/// x = wte[id] + position, (rows, C)
void Forward::embed() {
  const long C = plan_.n_embd, ld = row_stride(C);
  const float* const tokens = value(plan_.wte);
  const float* const positions = position_vectors(plan_, weights_.values);
  for (long r = 0; r < rows_; ++r)
    k_.copy(1, C, tokens + inputs_[static_cast<std::size_t>(r)] * C, C, x_first_ + r * ld, ld);
  if (positions != nullptr)
    for (const Stretch& stretch : stretches_)
      k_.add(stretch.rows, C, positions + chunk_.first * C, C, x_first_ + stretch.row * ld, ld);
  dropout(Place::embedding, 0, x_first_);
  made(Made::embedding, 0, x_first_, C);
}

// ---- attention

/// Sets the RoPE angles of the chunk's positions. Those of a sliding context are computed, because they have no end.
void Forward::find_rotations() {
  if (!plan_.rope) return;
  const bool slides = chunk_.position + chunk_.count > plan_.block_size;
  if (slides) beyond_.set(chunk_.position, chunk_.count);
  const RopeAngles& angles = slides ? beyond_ : plan_.rotations;
  const std::int64_t first = slides ? 0 : chunk_.position * (plan_.head_size / 2);
  rope_cos_ = angles.cosines.data() + first;
  rope_sin_ = angles.sines.data() + first;
}

/// qkv (rows, 3 A) from the input of attention. Queries that are not wanted are not written.
void Forward::project_qkv(const BlockPass& block, long queries) {
  const long A = plan_.attention_width, ld = row_stride(plan_.n_embd), ldq = row_stride(3 * A);
  const float* const h = block.conv_1;
  if (plan_.qkv_source != QkvSource::projected) {  // the value is x; query and key are x or 0
    for (float* const to : {block.qkv, block.qkv + A})
      if (plan_.qkv_source == QkvSource::uniform)
        k_.broadcast_row(rows_, A, nullptr, to, ldq);
      else
        k_.copy(rows_, A, h, ld, to, ldq);
    return k_.copy(rows_, A, h, ld, block.qkv + 2 * A, ldq);
  }
  const bool all = queries == chunk_.count || A % k_.panel_width != 0;  // else the keys must start at a panel
  linear(block.parameters->c_attn, {all ? 0 : A, 3 * A}, rows_, h, ld, block.qkv, ldq, false);
  if (!all && queries > 0) {
    const long skipped = chunk_.count - 1;
    linear(block.parameters->c_attn, {0, A}, chunk_.sequences, h + skipped * ld, chunk_.count * ld,
           block.qkv + skipped * ldq, chunk_.count * ldq, false);
  }
  if (plan_.rope || plan_.qk_norm_eps)
    k_.qk_norm_rope(rows_, chunk_.count, 2 * plan_.n_head, plan_.head_size, block.qkv, ldq,
                    plan_.qk_norm_eps.value_or(0), block.qk_rstd, rope_cos_, rope_sin_);
}

/// Softmax of scores times values, head by head: qkv (rows, 3 A) -> o (rows, A).
void Forward::attention_over_windows(const BlockPass& block) {
  const long A = plan_.attention_width, ld = row_stride(3 * A);
  for_each_head(block, [&](const Head& head) {
    const long stride = row_stride(head.shape.end);
    k_.transpose(head.shape.end, plan_.head_size, head.q + A, ld, keys_, stride);
    k_.attention(head.shape, head.q, {keys_, stride, k_.panel_width}, head.q + 2 * A, ld, block.o + head.o,
                 head.softmax_stats, head.mask, head.first, scratch_);
  });
}

/// Attention over the cache, after storing the chunk's keys and values in it: o (sequences * queries, A).
void Forward::attention_over_cache(const BlockPass& block, long queries) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A), ldo = row_stride(A);
  const long end = chunk_.first + chunk_.count;
  const HeadShape shape{.begin = end - queries, .end = end, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  const Range heads = part_of_thread({0, plan_.n_head}, 1, chunk_.thread);
  for (long s = 0; s < chunk_.sequences; ++s)
    for (long h = heads.begin; h < heads.end; ++h) {
      const float* const q = block.qkv + s * chunk_.count * ld + h * hs;
      chunk_.cache->store(block.layer, chunk_.slots[s], h, chunk_.position % plan_.block_size, chunk_.count, q + A,
                          q + 2 * A, ld);
      if (queries > 0)
        k_.attention(shape, q + (chunk_.count - queries) * ld,
                     {chunk_.cache->keys(block.layer, chunk_.slots[s], h), k_.panel_width, hs * k_.panel_width},
                     chunk_.cache->values(block.layer, chunk_.slots[s], h), hs, block.o + s * queries * ldo + h * hs,
                     block.softmax_stats, nullptr, 0, scratch_);
    }
  exchange(chunk_.sequences * queries, {0, A}, hs, block.o, ldo);
}

/// y (rows, A): every row is the mean of x over the row's window. This is attention without a mask and with equal
/// weights, and in backward the gradient of its values.
void Forward::window_means(const float* x, long ldx, float* y, long ldy) const {
  const long A = plan_.attention_width, T = chunk_.count;
  for (long s = 0; s < chunk_.sequences; ++s, x += T * ldx, y += T * ldy) {
    k_.broadcast_row(1, A, nullptr, y, ldy);
    k_.add_column_sums(T, A, x, ldx, y);
    for (long i = 0; i < A; ++i) y[i] /= static_cast<float>(T);
    k_.copy(T - 1, A, y, 0, y + ldy, ldy);
  }
}

/// o = heads(conv(norm(x))) for the last `queries` positions of each sequence.
void Forward::attention(const BlockPass& block, long queries) {
  const long C = plan_.n_embd, A = plan_.attention_width;
  if (plan_.norm_first()) {
    normalise(block.parameters->ln_1, block.x, block.ln_1, block.ln_1_stats);
    made(Made::norm_1, block.layer, block.ln_1, C);
  }
  convolve(block.parameters->conv_1, block.layer, Place::attention, block.ln_1, block.conv_1);
  if (block.parameters->conv_1.exists()) made(Made::conv_1, block.layer, block.conv_1, C);
  project_qkv(block, queries);
  made(Made::qkv, block.layer, block.qkv, 3 * A);
  if (chunk_.cache != nullptr)
    attention_over_cache(block, queries);
  else if (plan_.causal)
    attention_over_windows(block);
  else
    window_means(block.qkv + 2 * A, row_stride(3 * A), block.o, row_stride(A));
  made(Made::attended, block.layer, block.o, A);
}

/// x_mid = x + dropout(c_proj(o)); without a residual stream, x_mid = dropout(c_proj(o)). Then, for post-norm, the
/// norm.
void Forward::attention_output(const BlockPass& block) {
  const long C = plan_.n_embd, ld = row_stride(C);
  if (block.x_mid != block.x) k_.copy(rows_, C, block.x, ld, block.x_mid, ld);
  add_branch(block.parameters->c_proj, Place::attention_output, block.layer, block.o, block.x_mid);
  normalise_sum(block.parameters->ln_1, block.x_mid, block.sum_1, block.ln_1_stats);
  made(Made::after_attention, block.layer, block.x_mid, C);
}

/// next = x_mid + dropout(c_proj(f(c_fc(conv(norm(x_mid)))))), and then, for post-norm, the norm.
void Forward::mlp(const BlockPass& block, float* next) {
  const long C = plan_.n_embd, H = plan_.mlp_width, ldc = row_stride(C), ldh = row_stride(H);
  if (next != block.x_mid) k_.copy(rows_, C, block.x_mid, ldc, next, ldc);
  if (!plan_.feed_forward) return;
  if (plan_.norm_first()) {
    normalise(block.parameters->ln_2, block.x_mid, block.ln_2, block.ln_2_stats);
    made(Made::norm_2, block.layer, block.ln_2, C);
  }
  convolve(block.parameters->conv_2, block.layer, Place::mlp, block.ln_2, block.conv_2);
  if (block.parameters->conv_2.exists()) made(Made::conv_2, block.layer, block.conv_2, C);
  linear(block.parameters->c_fc, block.conv_2, block.fc, false);
  if (plan_.swiglu) {
    linear(block.parameters->c_gate, block.conv_2, block.gate, false);
    k_.swiglu(rows_, H, block.fc, block.gate, ldh, block.hidden, ldh);
  } else {
    k_.activation(plan_.activation, rows_, H, block.fc, ldh, block.hidden, ldh);
  }
  made(Made::hidden, block.layer, block.hidden, H);
  add_branch(block.parameters->mlp_proj, Place::mlp, block.layer, block.hidden, next);
  normalise_sum(block.parameters->ln_2, next, block.sum_2, block.ln_2_stats);
  made(Made::block, block.layer, next, C);
}

// ---- the whole model

/// From now on, computes only the last position of each sequence, whose rows of x become its first rows.
void Forward::keep_last(float* x) {
  const long C = plan_.n_embd, ld = row_stride(C), count = rows_ / chunk_.sequences;
  for (long s = 0; s < chunk_.sequences && count > 1; ++s)
    k_.copy(1, C, x + ((s + 1) * count - 1) * ld, ld, x + s * ld, ld);
  rows_ = chunk_.sequences;
}

void Forward::forward(const Chunk& chunk) {
  chunk_ = chunk;
  rows_ = chunk.sequences * chunk.count;
  find_rotations();
  embed();
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const BlockPass& block = blocks_[layer];
    const bool last = layer + 1 == blocks_.size();
    // The last layer computes only wanted rows, unless its convolution also reads the positions before them.
    const bool all = chunk.wanted == Wanted::all || !last || block.parameters->conv_2.exists();
    const long queries = all ? chunk.count : chunk.wanted == Wanted::last ? 1 : 0;
    attention(block, queries);
    if (queries == 0) return;
    if (!all) keep_last(block.x);
    attention_output(block);
    mlp(block, last ? x_last_ : blocks_[layer + 1].x);
  }
  if (chunk.wanted == Wanted::none) return;
  if (chunk.wanted == Wanted::last) keep_last(x_last_);
  if (plan_.final_norm) {
    normalise(plan_.ln_f, x_last_, ln_f_, ln_f_stats_);
    made(Made::final_norm, 0, ln_f_, plan_.n_embd);
  }
  const long V = plan_.vocab_size, ld = row_stride(V);
  linear(plan_.head, ln_f_, logits_, false);
  made(Made::logits, 0, logits_, V);
  if (chunk.logits != nullptr && chunk.thread == 0) k_.copy(rows_, V, logits_, ld, chunk.logits, ld);
}

void Forward::run(const Chunk& chunk) {
  for (long s = 0; s < chunk.sequences; ++s)
    std::copy_n(chunk.cache->tokens(chunk.slots[s]) + chunk.first, chunk.count, inputs_.data() + s * chunk.count);
  stretches_.clear();
  for (long s = 0; s < chunk.sequences; ++s) stretches_.push_back({s, s * chunk.count, chunk.count});
  forward(chunk);
}

void Forward::observe(const WindowBatch& window, const Observer& observer) {
  observer_ = &observer;
  read_inputs(window);
  forward(windows_chunk(1, window.T));
  observer_ = nullptr;
}

void Forward::score(const BatchSlice& slice, float* losses, float* logits) {
  const long V = plan_.vocab_size, T = slice.windows.T;
  for_each_chunk(slice, [&](const Chunk& chunk, std::int64_t begin) {
    forward(chunk);
    if (logits != nullptr) k_.copy(rows_, V, logits_, row_stride(V), logits + begin * T * V, V);
    if (losses != nullptr) k_.cross_entropy(rows_, V, logits_, row_stride(V), targets_.data(), 0, losses + begin * T);
  });
}

// ---- ForwardTeam

ForwardTeam::ForwardTeam(const Plan& plan, const float* values, int threads)
    : plan_(plan), weights_{.values = values, .packed = AlignedFloats(plan.packed_floats)} {
  for (int thread = 0; thread < threads; ++thread) passes_.emplace_back(plan_, weights_);
}

void ForwardTeam::pack() {
  if (std::exchange(is_packed_, true)) return;
  on_threads(threads(), [this](int thread) { pack_weights(plan_, weights_, thread, threads()); });
}

void ForwardTeam::score(const WindowBatch& windows, float* losses, float* logits) {
  pack();
  check_windows(windows, plan_.vocab_size, plan_.block_size);
  on_threads(threads(), [&](int thread) {
    const Part part = part_of(windows.B(), threads(), thread);
    if (part.size == 0) return;
    const std::int64_t first = part.begin * windows.T;
    pass(thread).prepare(part.size, windows.T);
    pass(thread).score({.windows = windows.part(part.begin, part.size), .first = part.begin},
                       losses == nullptr ? nullptr : losses + first,
                       logits == nullptr ? nullptr : logits + first * plan_.vocab_size);
  });
}

}  // namespace chargpt::cpu
