#include "inference/cached_forward.h"

#include <algorithm>

// In shapes: C = n_embd, A = attention_width (the heads side by side), a row of qkv = q, k, v, A each. A panel holds
// panel_width columns of a matmul's B (kernels/matmul.h).
namespace chargpt::cpu {

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
}

CachedForward::CachedForward(const Plan& plan, const std::vector<const float*>& values, const Kernels& kernels,
                             ThreadTeam& team, SequenceCache& cache)
    : plan_(plan),
      values_(values),
      k_(kernels),
      cache_(cache),
      packed_(plan_.packed_floats),
      workspaces_(static_cast<std::size_t>(team.threads())) {
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  allocate_buffers(workspaces_.front(), count);
  for (Workspace& workspace : workspaces_) {
    workspace.memory = AlignedFloats(count.used);
    BumpAllocator memory{.base = workspace.memory.data(), .slack = k_.slack};
    allocate_buffers(workspace, memory);
  }
  team.run([&](int thread) {
    pack_weights(plan_, values_, PackedType::float32, k_, thread, team.threads(), packed_.data());
  });
}

// ---- layers

/// y (rows, out) = x (rows, in) W^T + b, or += where `add`: of y only `columns`, which begin where a panel does.
void CachedForward::linear(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y,
                           long ldy, bool add) const {
  add = put_bias(k_, value(layer.bias), columns, rows, y, ldy, add);
  const float* const weight = packed_.data() + layer.packed_forward + columns.begin * layer.in;
  const long stride = layer.in * k_.panel_width;
  if (rows == 1) return k_.matvec(columns.width(), layer.in, x, weight, k_.panel_width, stride, y + columns.begin, add);
  k_.matmul(rows, columns.width(), layer.in, x, ldx, weight, k_.panel_width, stride, y + columns.begin, ldy, add);
}

/// norm(x) in the thread's own buffer, rows row_stride(C) apart. Only where the model has norms.
const float* CachedForward::normalise(const NormPlan& norm, long rows, const float* x, long ldx,
                                      Workspace& work) const {
  k_.norm(*plan_.norm, rows, plan_.n_embd, x, ldx, value(norm.gain), value(norm.bias), plan_.norm_eps, work.normed,
          row_stride(plan_.n_embd), work.norm_stats);
  return work.normed;
}

/// x + its convolution in the thread's own buffer, rows row_stride(C) apart; x itself where there is none. x: all rows
/// of the chunk. What the next chunk reads of them is kept: the last `conv_width` positions have a place each, and a
/// new one takes the oldest's.
const float* CachedForward::convolve(const Parameter& weight, long layer, ConvolutionPlace place, const Chunk& chunk,
                                     const float* x, long ldx, Workspace& work) {
  if (!weight.exists()) return x;
  const long C = plan_.n_embd, ld = row_stride(C), taps = plan_.conv_width;
  const auto seen = static_cast<long>(std::min<std::int64_t>(chunk.position, taps - 1));
  float* const rows = work.conv_input;  // those before the chunk, then its own
  for (long s = 0; s < chunk.sequences; ++s, x += chunk.count * ldx) {
    const auto kept = [&](std::int64_t position) { return cache_.conv_input(layer, place, chunk.slots[s], position); };
    for (long i = 0; i < seen; ++i) k_.copy(1, C, kept(chunk.position - seen + i), C, rows + i * ld, ld);
    k_.copy(chunk.count, C, x, ldx, rows + seen * ld, ld);
    k_.convolve(chunk.count, seen, C, taps, rows + seen * ld, ld, value(weight), work.convolved + s * chunk.count * ld,
                ld);
    for (long i = std::max(0L, chunk.count - taps); i < chunk.count; ++i)
      k_.copy(1, C, x + i * ldx, ldx, kept(chunk.position + i), C);
  }
  return work.convolved;
}

/// x = norm(x)
void CachedForward::normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, Workspace& work) const {
  if (!plan_.norm) return;
  const float* const h = normalise(norm, rows, x, ldx, work);
  k_.copy(rows, plan_.n_embd, h, row_stride(plan_.n_embd), x, ldx);
}

/// x = wte[id] + position
void CachedForward::embed(const Chunk& chunk, Workspace& work) const {
  const long C = plan_.n_embd, ld = row_stride(C);
  const float* const positions = position_vectors(plan_, values_);
  for (long s = 0, row = 0; s < chunk.sequences; ++s)
    for (long i = 0; i < chunk.count; ++i, ++row) {
      const std::int64_t* const ids = cache_.tokens(chunk.slots[s]);
      const long position = chunk.first + i;
      float* const x = work.x + row * ld;
      k_.copy(1, C, value(plan_.wte) + ids[position] * C, C, x, ld);
      if (positions != nullptr) k_.add(1, C, positions + position * C, C, x, ld);
    }
}

/// Queries and keys (rows, A) in qkv normalised and rotated, and keys and values into the cache.
void CachedForward::cache_keys_and_values(long layer, const Chunk& chunk, Workspace& work) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A);
  float* const qkv = work.qkv;
  for (float* const x : {qkv, qkv + A})
    if (plan_.rope || plan_.qk_norm_eps)
      k_.qk_norm_rope(chunk.sequences * chunk.count, chunk.count, plan_.n_head, hs, x, ld,
                      plan_.qk_norm_eps.value_or(0), work.qk_rstd, plan_.rope ? chunk.rope_cos : nullptr,
                      chunk.rope_sin);
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = 0; h < plan_.n_head; ++h) {
      const float* const k = qkv + s * chunk.count * ld + A + h * hs;
      cache_.store(layer, chunk.slots[s], h, chunk.position % plan_.block_size, chunk.count, k, k + A, ld);
    }
}

/// qkv (rows, 3 A) -> o (sequences * queries, A), head by head: softmax of scores times values.
void CachedForward::cached_attention(long layer, const Chunk& chunk, Workspace& work, long queries) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A), ldo = row_stride(A);
  cache_keys_and_values(layer, chunk, work);
  if (queries == 0) return;
  const long end = chunk.first + chunk.count;
  const CachedHeadShape shape{
      .begin = end - queries, .end = end, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = 0; h < plan_.n_head; ++h)
      k_.attention_cached(shape, work.qkv + ((s + 1) * chunk.count - queries) * ld + h * hs,
                          cache_.keys(layer, chunk.slots[s], h), cache_.values(layer, chunk.slots[s], h),
                          work.o + s * queries * ldo + h * hs, work.scratch);
}

/// qkv (rows, 3 A) from what attention reads, h (rows, C).
void CachedForward::project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk, Workspace& work,
                                long queries) const {
  const long A = plan_.attention_width, ld = row_stride(3 * A), rows = chunk.sequences * chunk.count;
  float* const qkv = work.qkv;
  if (plan_.qkv_source != QkvSource::projected) return copy_to_qkv(plan_, k_, rows, h, ldh, qkv);
  const bool few_queries = queries < chunk.count && A % k_.panel_width == 0;  // keys then begin where a panel does
  if (!few_queries) return linear(block.c_attn, rows, h, ldh, qkv, ld, false);
  // Queries that nobody reads keep what was there.
  linear(block.c_attn, {A, 3 * A}, rows, h, ldh, qkv, ld, false);
  const long skipped = chunk.count - 1;
  if (queries > 0)
    linear(block.c_attn, {0, A}, chunk.sequences, h + skipped * ldh, chunk.count * ldh, qkv + skipped * ld,
           chunk.count * ld, false);
}

/// o = heads(conv(norm(x))) for the last `queries` positions of each sequence; keys and values of all.
void CachedForward::attention(const BlockPlan& block, long layer, const Chunk& chunk, Workspace& work, long queries) {
  const long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const float* h = plan_.norm && !plan_.post_norm ? normalise(block.ln_1, rows, work.x, ldx, work) : work.x;
  h = convolve(block.conv_1, layer, ConvolutionPlace::attention, chunk, h, ldx, work);
  project_qkv(block, h, ldx, chunk, work, queries);
  cached_attention(layer, chunk, work, queries);
}

/// x (+)= c_proj(o), and the norm after it where that is its place.
void CachedForward::attention_output(const BlockPlan& block, Workspace& work, float* x, long ldx, long rows) const {
  const long ldo = row_stride(plan_.attention_width);
  if (block.c_proj.out > 0)
    linear(block.c_proj, rows, work.o, ldo, x, ldx, plan_.residual);
  else
    (plan_.residual ? k_.add : k_.copy)(rows, plan_.n_embd, work.o, ldo, x, ldx);
  if (plan_.post_norm) normalise_in_place(block.ln_1, rows, x, ldx, work);
}

/// x += c_proj(f(c_fc(conv(norm(x)))))
void CachedForward::mlp(const BlockPlan& block, long layer, const Chunk& chunk, Workspace& work, float* x, long ldx,
                        long rows) {
  const long ldh = row_stride(plan_.mlp_width);
  const float* h = x;
  long ld = ldx;
  if (plan_.norm && !plan_.post_norm) h = normalise(block.ln_2, rows, x, ldx, work), ld = row_stride(plan_.n_embd);
  if (block.conv_2.exists()) {
    h = convolve(block.conv_2, layer, ConvolutionPlace::mlp, chunk, h, ld, work);
    ld = row_stride(plan_.n_embd);
  }
  linear(block.c_fc, rows, h, ld, work.fc, ldh, false);
  if (plan_.swiglu) linear(block.c_gate, rows, h, ld, work.gate, ldh, false);
  activate(plan_, k_, rows, work.fc, work.gate, work.hidden);
  linear(block.mlp_proj, rows, work.hidden, ldh, x, ldx, true);
  if (plan_.post_norm) normalise_in_place(block.ln_2, rows, x, ldx, work);
}

/// Logits of one row for each sequence.
void CachedForward::lm_head(const Chunk& chunk, Workspace& work, const float* x, long ldx) const {
  const float* h = x;
  long ld = ldx;
  if (plan_.final_norm && plan_.norm)
    h = normalise(plan_.ln_f, chunk.sequences, x, ldx, work), ld = row_stride(plan_.n_embd);
  linear(plan_.head, chunk.sequences, h, ld, chunk.logits, row_stride(plan_.vocab_size), false);
}

void CachedForward::run(const Chunk& chunk, int thread) {
  Workspace& work = workspaces_[static_cast<std::size_t>(thread)];
  float* x = work.x;
  long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const auto keep_last_positions = [&] {  // x stays in place, a row in chunk.count of it
    x += (chunk.count - 1) * ldx;
    ldx *= chunk.count;
    rows = chunk.sequences;
  };
  embed(chunk, work);
  if (plan_.n_layer == 0) keep_last_positions();
  for (long layer = 0; layer < plan_.n_layer; ++layer) {
    const BlockPlan& block = plan_.blocks[static_cast<std::size_t>(layer)];
    // Of the last layer only the last position's output is wanted, unless the convolution reads those before it too.
    const bool last = layer + 1 == plan_.n_layer, all = !last || block.conv_2.exists();
    const long queries = all ? chunk.count : chunk.logits != nullptr ? 1 : 0;
    attention(block, layer, chunk, work, queries);
    if (queries == 0) return;
    if (!all) keep_last_positions();
    attention_output(block, work, x, ldx, rows);
    if (plan_.feed_forward) mlp(block, layer, chunk, work, x, ldx, rows);
    if (last && all) keep_last_positions();
  }
  if (chunk.logits != nullptr) lm_head(chunk, work, x, ldx);
}

}  // namespace chargpt::cpu
