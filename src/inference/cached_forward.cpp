#include "inference/cached_forward.h"

#include <algorithm>

// In shapes: C = n_embd, A = attention_width (the heads side by side), a row of qkv = q, k, v, A each. A panel holds
// panel_width columns of a matmul's B (kernels/matmul.h).
namespace chargpt::cpu {
namespace {

/// Rows of the longest panel: the most inputs of a linear layer.
long max_depth(const Plan& plan) {
  long depth = 0;
  for (const LinearPlan* layer : linear_layers(plan)) depth = std::max(depth, layer->in);
  return depth;
}

}  // namespace

// ---- memory

void CachedForward::allocate_buffers(Workspace& workspace, BumpAllocator& memory) const {
  workspace.x = memory.rows(max_rows, plan_.n_embd);
  workspace.qkv = memory.rows(max_rows, 3 * plan_.attention_width);
  workspace.o = memory.rows(max_rows, plan_.attention_width);
  workspace.fc = memory.rows(max_rows, plan_.mlp_width);
  workspace.gate = plan_.swiglu ? memory.rows(max_rows, plan_.mlp_width) : nullptr;
  workspace.hidden = memory.rows(max_rows, plan_.mlp_width);
  workspace.normed = plan_.norm ? memory.rows(max_rows, plan_.n_embd) : nullptr;
  workspace.norm_stats = memory.allocate(2 * max_rows);
  workspace.qk_rstd = plan_.qk_norm_eps ? memory.allocate(plan_.n_head * max_rows) : nullptr;
  workspace.scratch = memory.allocate(k_.attention_scratch(plan_.block_size, plan_.head_size));
  const bool convolves = plan_.conv_width > 0;
  workspace.conv_input = convolves ? memory.rows(plan_.conv_width - 1 + max_rows, plan_.n_embd) : nullptr;
  workspace.convolved = convolves ? memory.rows(max_rows, plan_.n_embd) : nullptr;
  workspace.panel = bf16_ ? memory.allocate(max_depth(plan_) * k_.panel_width) : nullptr;
}

CachedForward::CachedForward(const Plan& plan, const std::vector<const float*>& values, const Kernels& kernels,
                             bool bf16, ThreadTeam& team, SequenceCache& cache)
    : plan_(plan),
      values_(values),
      k_(kernels),
      bf16_(bf16),
      team_(team),
      cache_(cache),
      packed_(plan_.packed_floats),
      workspaces_(static_cast<std::size_t>(team_.threads())) {
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  allocate_buffers(workspaces_.front(), count);
  for (Workspace& workspace : workspaces_) {
    workspace.memory = AlignedFloats(count.used);
    BumpAllocator memory{.base = workspace.memory.data(), .slack = k_.slack};
    allocate_buffers(workspace, memory);
  }
  const PackedType type = bf16_ ? PackedType::bf16_storage : PackedType::float32;
  team_.run([&](int thread) { pack_weights(plan_, values_, type, k_, thread, team_.threads(), packed_.data()); });
}

// ---- threads

void CachedForward::run(const Chunk& chunk, int thread) {
  Workspace& own = workspaces_[static_cast<std::size_t>(thread)];
  forward(chunk, {own, own, 0, 1});
}

void CachedForward::run_shard(const Chunk& chunk, int index, int count) {
  forward(chunk, {workspaces_.front(), workspaces_[static_cast<std::size_t>(index)], index, count});
}

/// As many as leave each a whole panel of a matmul C wide. Those beyond n_head have columns, but no heads.
int CachedForward::max_shards() const {
  return static_cast<int>(std::max(1L, plan_.n_embd / k_.panel_width));
}

// ---- layers

void CachedForward::barrier(const Shard& shard) {
  if (shard.count > 1) team_.barrier(shard.count);
}

Range CachedForward::heads_of(const Shard& shard) const {
  return {plan_.n_head * shard.index / shard.count, plan_.n_head * (shard.index + 1) / shard.count};
}

/// The columns of a matmul that are the shard's: whole panels.
Range CachedForward::columns_of(long width, const Shard& shard) const {
  const long panels = (width + k_.panel_width - 1) / k_.panel_width;
  return {std::min(width, panels * shard.index / shard.count * k_.panel_width),
          std::min(width, panels * (shard.index + 1) / shard.count * k_.panel_width)};
}

/// y (rows, out) = x (rows, in) W^T + b, or += where `add`: of y only `columns`, which begin where a panel does.
void CachedForward::linear(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y,
                           long ldy, bool add, const Shard& shard) const {
  const long width = columns.width();
  if (width <= 0) return;
  add = put_bias(k_, value(layer.bias), columns, rows, y, ldy, add);
  y += columns.begin;
  if (bf16_) return linear_bf16(layer, columns, rows, x, ldx, y, ldy, add, shard.own.panel);
  const float* const weight = panel_of(layer, columns.begin / k_.panel_width);
  if (rows == 1) return k_.matvec(width, layer.in, x, weight, k_.panel_width, layer.in * k_.panel_width, y, add);
  k_.matmul(rows, width, layer.in, x, ldx, weight, k_.panel_width, layer.in * k_.panel_width, y, ldy, add);
}

/// The same from bfloat16. For several rows each panel is made float32 in `panel` first, and multiplied from there.
void CachedForward::linear_bf16(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y,
                                long ldy, bool add, float* panel) const {
  const long first = columns.begin / k_.panel_width, width = columns.width();
  if (rows == 1)
    return k_.matvec_bf16(width, layer.in, x, bf16_panel_of(layer, first), bf16_panel_size(layer.in, k_), y, add);
  for (long n = 0, p = first; n < width; n += k_.panel_width, ++p) {
    k_.panel_from_bf16(layer.in, bf16_panel_of(layer, p), panel);
    k_.matmul(rows, std::min(k_.panel_width, width - n), layer.in, x, ldx, panel, k_.panel_width,
              layer.in * k_.panel_width, y + n, ldy, add);
  }
}

/// norm(x) in the shard's own buffer, rows row_stride(C) apart. Only where the model has norms.
const float* CachedForward::normalise(const NormPlan& norm, long rows, const float* x, long ldx,
                                      const Shard& shard) const {
  k_.norm(*plan_.norm, rows, plan_.n_embd, x, ldx, value(norm.gain), value(norm.bias), plan_.norm_eps, shard.own.normed,
          row_stride(plan_.n_embd), shard.own.norm_stats);
  return shard.own.normed;
}

/// x + its convolution in the shard's own buffer, rows row_stride(C) apart; x itself where there is none. x: all rows
/// of the chunk. What the next chunk reads of them is kept; threads that share a chunk all read the same, so that one
/// of them keeps it, where none reads: the last `conv_width` positions have a place each, and a new one takes the
/// oldest's.
const float* CachedForward::convolve(const Parameter& weight, long layer, ConvolutionPlace place, const Chunk& chunk,
                                     const float* x, long ldx, const Shard& shard) {
  if (!weight.exists()) return x;
  const long C = plan_.n_embd, ld = row_stride(C), taps = plan_.conv_width;
  const auto seen = static_cast<long>(std::min<std::int64_t>(chunk.position, taps - 1));
  float* const rows = shard.own.conv_input;  // those before the chunk, then its own
  for (long s = 0; s < chunk.sequences; ++s, x += chunk.count * ldx) {
    const auto kept = [&](std::int64_t position) { return cache_.conv_input(layer, place, chunk.slots[s], position); };
    for (long i = 0; i < seen; ++i) k_.copy(1, C, kept(chunk.position - seen + i), C, rows + i * ld, ld);
    k_.copy(chunk.count, C, x, ldx, rows + seen * ld, ld);
    k_.convolve(chunk.count, seen, C, taps, rows + seen * ld, ld, value(weight),
                shard.own.convolved + s * chunk.count * ld, ld);
    if (shard.index > 0) continue;
    for (long i = std::max(0L, chunk.count - taps); i < chunk.count; ++i)
      k_.copy(1, C, x + i * ldx, ldx, kept(chunk.position + i), C);
  }
  return shard.own.convolved;
}

/// x = norm(x), by one thread for all.
void CachedForward::normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Shard& shard) {
  if (!plan_.norm) return;
  if (shard.index == 0) {
    const float* const h = normalise(norm, rows, x, ldx, shard);
    k_.copy(rows, plan_.n_embd, h, row_stride(plan_.n_embd), x, ldx);
  }
  barrier(shard);
}

/// x = wte[id] + position
void CachedForward::embed(const Chunk& chunk, const Shard& shard) {
  const long C = plan_.n_embd, ld = row_stride(C);
  const Range columns = columns_of(C, shard);
  const long width = columns.width();
  const float* const positions = position_vectors(plan_, values_);
  for (long s = 0, row = 0; s < chunk.sequences; ++s)
    for (long i = 0; i < chunk.count; ++i, ++row) {
      const std::int64_t* const ids = cache_.tokens(chunk.slots[s]);
      const long position = chunk.first + i;
      float* const x = shard.shared.x + row * ld + columns.begin;
      k_.copy(1, width, value(plan_.wte) + ids[position] * C + columns.begin, C, x, ld);
      if (positions != nullptr) k_.add(1, width, positions + position * C + columns.begin, C, x, ld);
    }
}

/// Queries and keys (rows, A) in qkv normalised and rotated, and keys and values into the cache.
void CachedForward::cache_keys_and_values(long layer, const Chunk& chunk, const Shard& shard) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A);
  const Range heads = heads_of(shard);
  float* const qkv = shard.shared.qkv;
  for (float* const x : {qkv, qkv + A})
    if (plan_.rope || plan_.qk_norm_eps)
      k_.qk_norm_rope(chunk.sequences * chunk.count, chunk.count, heads.width(), hs, x + heads.begin * hs, ld,
                      plan_.qk_norm_eps.value_or(0), shard.own.qk_rstd, plan_.rope ? chunk.rope_cos : nullptr,
                      chunk.rope_sin);
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = heads.begin; h < heads.end; ++h) {
      const float* const k = qkv + s * chunk.count * ld + A + h * hs;
      cache_.store(layer, chunk.slots[s], h, chunk.position % plan_.block_size, chunk.count, k, k + A, ld);
    }
}

/// qkv (rows, 3 A) -> o (sequences * queries, A), head by head: softmax of scores times values.
void CachedForward::cached_attention(long layer, const Chunk& chunk, const Shard& shard, long queries) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A), ldo = row_stride(A);
  const Range heads = heads_of(shard);
  if (heads.begin == heads.end) return;
  cache_keys_and_values(layer, chunk, shard);
  // Chunks of one prompt, on several threads: when the keys and values of all before this one are there, so are this
  // one's. Null where threads share a chunk.
  if (chunk.previous_layers_done != nullptr)
    wait_until(*chunk.previous_layers_done,
               [layer](std::uint32_t layers) { return static_cast<long>(layers) > layer; });
  if (chunk.layers_done != nullptr) {
    chunk.layers_done->store(static_cast<std::uint32_t>(layer + 1), std::memory_order_release);
    chunk.layers_done->notify_one();
  }
  if (queries == 0) return;
  const long end = chunk.first + chunk.count;
  const CachedHeadShape shape{
      .begin = end - queries, .end = end, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = heads.begin; h < heads.end; ++h)
      k_.attention_cached(shape, shard.shared.qkv + ((s + 1) * chunk.count - queries) * ld + h * hs,
                          cache_.keys(layer, chunk.slots[s], h), cache_.values(layer, chunk.slots[s], h),
                          shard.shared.o + s * queries * ldo + h * hs, shard.own.scratch);
}

/// qkv (rows, 3 A) from what attention reads, h (rows, C).
void CachedForward::project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk,
                                const Shard& shard, long queries) {
  const long A = plan_.attention_width, ld = row_stride(3 * A), rows = chunk.sequences * chunk.count;
  float* const qkv = shard.shared.qkv;
  if (plan_.qkv_source != QkvSource::projected) return copy_to_qkv(plan_, k_, columns_of(A, shard), rows, h, ldh, qkv);
  const bool few_queries = queries < chunk.count && A % k_.panel_width == 0;  // keys then begin where a panel does
  if (!few_queries) return linear(block.c_attn, columns_of(3 * A, shard), rows, h, ldh, qkv, ld, false, shard);
  // Queries that nobody reads keep what was there. Only a prefill has any, and its shard is all columns.
  linear(block.c_attn, {A, 3 * A}, rows, h, ldh, qkv, ld, false, shard);
  const long skipped = chunk.count - 1;
  if (queries > 0)
    linear(block.c_attn, {0, A}, chunk.sequences, h + skipped * ldh, chunk.count * ldh, qkv + skipped * ld,
           chunk.count * ld, false, shard);
}

/// o = heads(conv(norm(x))) for the last `queries` positions of each sequence; keys and values of all.
void CachedForward::attention(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard,
                              long queries) {
  const long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const float* const x = shard.shared.x;
  const float* h = plan_.norm && !plan_.post_norm ? normalise(block.ln_1, rows, x, ldx, shard) : x;
  h = convolve(block.conv_1, layer, ConvolutionPlace::attention, chunk, h, ldx, shard);
  project_qkv(block, h, ldx, chunk, shard, queries);
  barrier(shard);
  cached_attention(layer, chunk, shard, queries);
}

/// x (+)= c_proj(o), and the norm after it where that is its place.
void CachedForward::attention_output(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows) {
  const long ldo = row_stride(plan_.attention_width);
  const Range columns = columns_of(plan_.n_embd, shard);
  const long width = columns.width();
  const float* const o = shard.shared.o;
  if (block.c_proj.out > 0)
    linear(block.c_proj, columns, rows, o, ldo, x, ldx, plan_.residual, shard);
  else
    (plan_.residual ? k_.add : k_.copy)(rows, width, o + columns.begin, ldo, x + columns.begin, ldx);
  barrier(shard);
  if (plan_.post_norm) normalise_in_place(block.ln_1, rows, x, ldx, shard);
}

/// x += c_proj(f(c_fc(conv(norm(x)))))
void CachedForward::mlp(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard, float* x, long ldx,
                        long rows) {
  const long ldh = row_stride(plan_.mlp_width);
  const Range columns = columns_of(plan_.mlp_width, shard);
  const float* h = x;
  long ld = ldx;
  if (plan_.norm && !plan_.post_norm) h = normalise(block.ln_2, rows, x, ldx, shard), ld = row_stride(plan_.n_embd);
  if (block.conv_2.exists()) {
    h = convolve(block.conv_2, layer, ConvolutionPlace::mlp, chunk, h, ld, shard);
    ld = row_stride(plan_.n_embd);
  }
  Workspace& workspace = shard.shared;
  linear(block.c_fc, columns, rows, h, ld, workspace.fc, ldh, false, shard);
  if (plan_.swiglu) linear(block.c_gate, columns, rows, h, ld, workspace.gate, ldh, false, shard);
  activate(plan_, k_, columns, rows, workspace.fc, workspace.gate, workspace.hidden);
  barrier(shard);
  linear(block.mlp_proj, columns_of(plan_.n_embd, shard), rows, workspace.hidden, ldh, x, ldx, true, shard);
  barrier(shard);
  if (plan_.post_norm) normalise_in_place(block.ln_2, rows, x, ldx, shard);
}

/// Logits of one row for each sequence.
void CachedForward::lm_head(const Chunk& chunk, const Shard& shard, const float* x, long ldx) {
  const float* h = x;
  long ld = ldx;
  if (plan_.final_norm && plan_.norm)
    h = normalise(plan_.ln_f, chunk.sequences, x, ldx, shard), ld = row_stride(plan_.n_embd);
  linear(plan_.head, columns_of(plan_.vocab_size, shard), chunk.sequences, h, ld, chunk.logits,
         row_stride(plan_.vocab_size), false, shard);
}

void CachedForward::forward(const Chunk& chunk, const Shard& shard) {
  float* x = shard.shared.x;
  long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const auto keep_last_positions = [&] {  // x stays in place, a row in chunk.count of it
    x += (chunk.count - 1) * ldx;
    ldx *= chunk.count;
    rows = chunk.sequences;
  };
  embed(chunk, shard);
  barrier(shard);
  if (plan_.n_layer == 0) keep_last_positions();
  for (long layer = 0; layer < plan_.n_layer; ++layer) {
    const BlockPlan& block = plan_.blocks[static_cast<std::size_t>(layer)];
    // Of the last layer only the last position's output is wanted, unless the convolution reads those before it too.
    const bool last = layer + 1 == plan_.n_layer, all = !last || block.conv_2.exists();
    const long queries = all ? chunk.count : chunk.logits != nullptr ? 1 : 0;
    attention(block, layer, chunk, shard, queries);
    if (queries == 0) return;
    barrier(shard);
    if (!all) keep_last_positions();
    attention_output(block, shard, x, ldx, rows);
    if (plan_.feed_forward) mlp(block, layer, chunk, shard, x, ldx, rows);
    if (last && all) keep_last_positions();
  }
  if (chunk.logits != nullptr) lm_head(chunk, shard, x, ldx);
}

}  // namespace chargpt::cpu
