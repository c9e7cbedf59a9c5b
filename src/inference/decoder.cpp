#include "inference/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace chargpt::cpu {
namespace {

constexpr long chunk_rows = 128;
/// Fewer sequences for each thread may be run by all threads together, each reading a part of the weights: reading
/// them, not the arithmetic, is what takes the time.
constexpr std::int64_t few_sequences = 4;

/// Rows of the longest panel.
long max_depth(const Plan& plan) {
  long depth = 0;
  for (const LinearPlan* layer : linear_layers(plan)) depth = std::max(depth, layer->in);
  return depth;
}

}  // namespace

// ---- memory

void Decoder::allocate_buffers(Workspace& workspace, BumpAllocator& memory) const {
  workspace.x = memory.rows(chunk_rows, plan_.n_embd);
  workspace.qkv = memory.rows(chunk_rows, 3 * plan_.attention_width);
  workspace.o = memory.rows(chunk_rows, plan_.attention_width);
  workspace.fc = memory.rows(chunk_rows, plan_.mlp_width);
  workspace.gate = plan_.swiglu ? memory.rows(chunk_rows, plan_.mlp_width) : nullptr;
  workspace.hidden = memory.rows(chunk_rows, plan_.mlp_width);
  workspace.normed = plan_.norm ? memory.rows(chunk_rows, plan_.n_embd) : nullptr;
  workspace.ngram_concat = memory.allocate(plan_.ngram_width * std::ssize(plan_.tables));
  workspace.norm_stats = memory.allocate(2 * chunk_rows);
  workspace.qk_rstd = plan_.qk_norm_eps ? memory.allocate(plan_.n_head * chunk_rows) : nullptr;
  workspace.scratch = memory.allocate(k_.attention_scratch(plan_.block_size, plan_.head_size));
  workspace.panel = bf16_ ? memory.allocate(max_depth(plan_) * k_.panel_width) : nullptr;
  workspace.ngram_rows.resize(plan_.tables.size());
}

Decoder::Decoder(Plan plan, std::vector<const float*> values, const Kernels& kernels, int threads, bool bf16)
    : plan_(std::move(plan)),
      values_(std::move(values)),
      k_(kernels),
      bf16_(bf16),
      team_(threads),
      packed_(plan_.packed_floats),
      workspaces_(static_cast<std::size_t>(team_.threads())),
      key_positions_(key_positions(plan_, k_)),
      logits_stride_(row_stride(plan_.vocab_size)),
      layers_done_(static_cast<std::size_t>(plan_.block_size / cache_line + 1)) {
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

long Decoder::key_positions(const Plan& plan, const Kernels& kernels) {
  return static_cast<long>(rounded_up(plan.block_size, kernels.panel_width));
}

std::int64_t Decoder::kv_cache_floats(const Plan& plan, const Kernels& kernels) {
  return plan.n_layer * plan.attention_width * (key_positions(plan, kernels) + plan.block_size);
}

void Decoder::reserve(std::int64_t sequences) {
  slots_.resize(static_cast<std::size_t>(sequences));
  std::iota(slots_.begin(), slots_.end(), 0);
  if (sequences <= capacity_) return;
  capacity_ = sequences;
  kv_cache_ = AlignedFloats();
  kv_cache_ = AlignedFloats(sequences * kv_cache_floats(plan_, k_) + k_.slack);
  logits_ = AlignedFloats(sequences * logits_stride_ + k_.slack);
  tokens_.resize(static_cast<std::size_t>(sequences * plan_.block_size));
}

float* Decoder::keys_of(long layer, std::int64_t slot, long head) const {
  const std::int64_t floats = plan_.head_size * (key_positions_ + plan_.block_size);
  return kv_cache_.data() + ((layer * capacity_ + slot) * plan_.n_head + head) * floats;
}

float* Decoder::values_of(long layer, std::int64_t slot, long head) const {
  return keys_of(layer, slot, head) + plan_.head_size * key_positions_;
}

// ---- sequences

float* Decoder::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  reserve(sequences);
  const auto all = std::exchange(slots_, {0});
  std::ranges::copy(ids, tokens_of(0));
  prefill(static_cast<long>(ids.size()));
  slots_ = all;
  for (std::int64_t slot = 1; slot < sequences; ++slot) {
    std::ranges::copy(ids, tokens_of(slot));
    std::memcpy(logits_.data() + slot * logits_stride_, logits_.data(),
                static_cast<std::size_t>(plan_.vocab_size) * sizeof(float));
    for (long layer = 0; layer < plan_.n_layer; ++layer)
      std::memcpy(keys_of(layer, slot, 0), keys_of(layer, 0, 0),
                  static_cast<std::size_t>(kv_cache_floats(plan_, k_) / plan_.n_layer) * sizeof(float));
  }
  return logits_.data();
}

float* Decoder::append(std::span<const std::int64_t> ids, std::int64_t kept, bool rerun) {
  const bool full = length_ == plan_.block_size, slides = full && kept == plan_.block_size;
  const std::int64_t stay = slides ? kept - 1 : kept;
  if (full) length_ = static_cast<long>(stay);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::int64_t* const tokens = tokens_of(slots_[i]);
    if (full) std::copy(tokens + plan_.block_size - stay, tokens + plan_.block_size, tokens);
    tokens[length_] = ids[i];
  }
  if (!slides && (full || (rerun && kept < plan_.block_size))) {
    prefill(length_ + 1);
    return logits_.data();
  }
  ++length_;
  set_position(position_ + 1);
  decode_token();
  return logits_.data();
}

/// Rotations of one position, however far it is.
void Decoder::set_position(std::int64_t position) {
  position_ = position;
  if (!plan_.rope) return;
  const long half = plan_.head_size / 2;
  rope_cos_.resize(static_cast<std::size_t>(half));
  rope_sin_.resize(static_cast<std::size_t>(half));
  for (long i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * plan_.rope_frequencies[static_cast<std::size_t>(i)];
    rope_cos_[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
    rope_sin_[static_cast<std::size_t>(i)] = static_cast<float>(std::sin(angle));
  }
}

void Decoder::keep(std::span<const std::int64_t> sequences) {
  std::size_t i = 0;
  for (const std::int64_t sequence : sequences) slots_[i++] = slots_[static_cast<std::size_t>(sequence)];
  slots_.resize(i);
}

/// All positions from the first on. Each thread takes as many whole sequences as the others; those left over, all
/// threads together or one alone.
void Decoder::prefill(long T) {
  length_ = T;
  position_ = T - 1;
  const auto count = static_cast<long>(slots_.size()), each = count / team_.threads();
  if (each > 0) team_.run([&](int thread) { prefill_sequences(T, each * thread, each * (thread + 1), thread); });
  for (long sequence = each * team_.threads(); sequence < count; ++sequence) {
    if (T <= cache_line) {  // a short prompt: no thread is woken for it
      prefill_sequences(T, sequence, sequence + 1, 0);
      continue;
    }
    prefill_tuner_.run([&](bool together) {
      if (together)
        prefill_split(T, sequence);
      else
        prefill_sequences(T, sequence, sequence + 1, 0);
    });
  }
}

/// Sequences begin to end - 1 by one thread, as many positions at a time as fit its buffers.
void Decoder::prefill_sequences(long T, long begin, long end, int thread) {
  Workspace& workspace = workspaces_[static_cast<std::size_t>(thread)];
  const long at_once = std::max(1L, chunk_rows / T);
  for (long sequence = begin; sequence < end; sequence += at_once)
    for (long first = 0; first < T; first += chunk_rows) {
      Chunk chunk{.slots = slots_.data() + sequence, .sequences = std::min(at_once, end - sequence)};
      set_chunk_position(chunk, first);
      chunk.count = std::min(T - first, chunk_rows);
      if (first + chunk.count == T) chunk.logits = logits_.data() + sequence * logits_stride_;
      forward(chunk, {workspace, workspace, 0, 1});
    }
}

/// One sequence cut by positions: in each layer a chunk waits for the keys and values of the one before.
void Decoder::prefill_split(long T, long sequence) {
  const long threads = team_.threads();
  const long size = std::min(chunk_rows, static_cast<long>(rounded_up((T + threads - 1) / threads, cache_line)));
  for (auto& layers : layers_done_) layers.store(0, std::memory_order_relaxed);
  team_.run([&](int thread) {
    Workspace& workspace = workspaces_[static_cast<std::size_t>(thread)];
    for (long index = thread; index * size < T; index += threads) {
      std::atomic<std::int64_t>* const done = &layers_done_[static_cast<std::size_t>(index)];
      Chunk chunk{.slots = slots_.data() + sequence, .sequences = 1, .layers_done = done};
      set_chunk_position(chunk, index * size);
      chunk.count = std::min(size, T - chunk.first);
      if (index > 0) chunk.previous_layers_done = done - 1;
      if (chunk.first + chunk.count == T) chunk.logits = logits_.data() + sequence * logits_stride_;
      forward(chunk, {workspace, workspace, 0, 1});
    }
  });
}

/// In a window that has not slid.
void Decoder::set_chunk_position(Chunk& chunk, long first) const {
  chunk.first = chunk.cache_position = first;
  chunk.rope_cos = plan_.rope_cos.data() + first * (plan_.head_size / 2);
  chunk.rope_sin = plan_.rope_sin.data() + first * (plan_.head_size / 2);
}

/// As many as leave each a panel of the narrowest matmul.
int Decoder::max_shards() const {
  return static_cast<int>(std::max(1L, plan_.n_embd / k_.panel_width));
}

/// The last position of every sequence. Few sequences are run by all threads together, or each by one, whichever takes
/// less time: the bits are the same.
void Decoder::decode_token() {
  const bool may_share = team_.threads() > 1 && sequences() < few_sequences * team_.threads();
  if (!may_share) return decode_token(false);
  token_tuner_.run([this](bool together) { decode_token(together); });
}

void Decoder::decode_token(bool together) {
  const auto count = static_cast<long>(slots_.size());
  const int threads = together ? std::min(team_.threads(), max_shards()) : team_.threads();
  auto body = [&](int thread) {
    if (thread >= threads) return;
    Workspace& own = workspaces_[static_cast<std::size_t>(thread)];
    const long begin = together ? 0 : count * thread / threads, end = together ? count : count * (thread + 1) / threads;
    for (long sequence = begin; sequence < end; sequence += chunk_rows) {
      const Chunk chunk{.slots = slots_.data() + sequence,
                        .sequences = std::min(chunk_rows, end - sequence),
                        .first = length_ - 1,
                        .count = 1,
                        .cache_position = static_cast<long>(position_ % plan_.block_size),
                        .rope_cos = rope_cos_.data(),
                        .rope_sin = rope_sin_.data(),
                        .logits = logits_.data() + sequence * logits_stride_};
      forward(chunk, together ? Shard{workspaces_.front(), own, thread, threads} : Shard{own, own, 0, 1});
    }
  };
  if (!together && count == 1)
    body(threads - 1);
  else
    team_.run(body);
}

// ---- layers

void Decoder::barrier(const Shard& shard) {
  if (shard.count > 1) team_.barrier(shard.count);
}

Decoder::Range Decoder::heads_of(const Shard& shard) const {
  return {plan_.n_head * shard.index / shard.count, plan_.n_head * (shard.index + 1) / shard.count};
}

/// The columns of a matmul that are the shard's: whole panels.
Decoder::Range Decoder::columns_of(long width, const Shard& shard) const {
  const long panels = (width + k_.panel_width - 1) / k_.panel_width;
  return {std::min(width, panels * shard.index / shard.count * k_.panel_width),
          std::min(width, panels * (shard.index + 1) / shard.count * k_.panel_width)};
}

/// y (rows, out) (+)= x (rows, in) W^T + b, of which only the columns: they begin with a panel.
void Decoder::linear(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y, long ldy,
                     bool add, const Shard& shard) const {
  const long width = columns.end - columns.begin;
  if (width <= 0) return;
  y += columns.begin;
  if (const float* const bias = value(layer.bias); bias != nullptr) {
    add ? k_.add(rows, width, bias + columns.begin, 0, y, ldy)
        : k_.broadcast_row(rows, width, bias + columns.begin, y, ldy);
    add = true;
  }
  if (bf16_) return linear_bf16(layer, columns, rows, x, ldx, y, ldy, add, shard.own.panel);
  const float* const weight = panel_of(layer, columns.begin / k_.panel_width);
  if (rows == 1) return k_.matvec(width, layer.in, x, weight, k_.panel_width, layer.in * k_.panel_width, y, add);
  k_.matmul(rows, width, layer.in, x, ldx, weight, k_.panel_width, layer.in * k_.panel_width, y, ldy, add);
}

/// The same from bfloat16: several rows on one panel after the other, which `panel` holds in float32.
void Decoder::linear_bf16(const LinearPlan& layer, Range columns, long rows, const float* x, long ldx, float* y,
                          long ldy, bool add, float* panel) const {
  const long first = columns.begin / k_.panel_width, width = columns.end - columns.begin;
  if (rows == 1)
    return k_.matvec_bf16(width, layer.in, x, bf16_panel_of(layer, first), bf16_panel_size(layer.in, k_), y, add);
  for (long n = 0, p = first; n < width; n += k_.panel_width, ++p) {
    k_.panel_from_bf16(layer.in, bf16_panel_of(layer, p), panel);
    k_.matmul(rows, std::min(k_.panel_width, width - n), layer.in, x, ldx, panel, k_.panel_width,
              layer.in * k_.panel_width, y + n, ldy, add);
  }
}

/// norm(x) in the shard's own buffer, rows row_stride(C) apart. Only where the model has norms.
const float* Decoder::normalise(const NormPlan& norm, long rows, const float* x, long ldx, const Shard& shard) const {
  k_.norm(*plan_.norm, rows, plan_.n_embd, x, ldx, value(norm.gain), value(norm.bias), plan_.norm_eps, shard.own.normed,
          row_stride(plan_.n_embd), shard.own.norm_stats);
  return shard.own.normed;
}

/// x = norm(x), by one thread for all.
void Decoder::normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Shard& shard) {
  if (!plan_.norm) return;
  if (shard.index == 0) {
    const float* const h = normalise(norm, rows, x, ldx, shard);
    k_.copy(rows, plan_.n_embd, h, row_stride(plan_.n_embd), x, ldx);
  }
  barrier(shard);
}

/// x = wte[id] + position + n-gram rows
void Decoder::embed(const Chunk& chunk, const Shard& shard) {
  const long C = plan_.n_embd, ld = row_stride(C);
  const Range columns = columns_of(C, shard);
  const long width = columns.end - columns.begin;
  const float* const positions = position_vectors(plan_, values_);
  for (long s = 0, row = 0; s < chunk.sequences; ++s)
    for (long i = 0; i < chunk.count; ++i, ++row) {
      const std::int64_t* const ids = tokens_of(chunk.slots[s]);
      const long position = chunk.first + i;
      float* const x = shard.shared.x + row * ld + columns.begin;
      k_.copy(1, width, value(plan_.wte) + ids[position] * C + columns.begin, C, x, ld);
      if (!plan_.tables.empty()) add_ngram_rows(shard, row, ids, position);
      if (positions != nullptr) k_.add(1, width, positions + position * C + columns.begin, C, x, ld);
    }
}

/// x += the rows of the n-grams that end at `position`, or their projection.
void Decoder::add_ngram_rows(const Shard& shard, long row, const std::int64_t* ids, long position) {
  const long C = plan_.n_embd, width = plan_.ngram_width;
  const Range columns = columns_of(C, shard);
  float* const x = shard.shared.x + row * row_stride(C);
  last_ngram_rows(plan_.ngrams, plan_.vocab_size, {ids, static_cast<std::size_t>(position + 1)}, shard.own.ngram_rows);
  for (std::size_t table = 0; table < plan_.tables.size(); ++table) {
    const float* const found = value(plan_.tables[table].weight) + shard.own.ngram_rows[table] * width;
    if (plan_.ngram_proj.out > 0)
      k_.copy(1, width, found, width, shard.own.ngram_concat + static_cast<long>(table) * width, width);
    else
      k_.add(1, columns.end - columns.begin, found + columns.begin, width, x + columns.begin, C);
  }
  if (plan_.ngram_proj.out > 0) linear(plan_.ngram_proj, columns, 1, shard.own.ngram_concat, 0, x, 0, true, shard);
}

/// Keys (count, hs) of positions from `first` on into a head's panels (hs, panel).
void Decoder::cache_keys(const float* k, long ld, long first, long count, float* keys) const {
  for (long done = 0; done < count;) {
    const long at = first + done, inside = at % k_.panel_width, some = std::min(count - done, k_.panel_width - inside);
    k_.transpose(some, plan_.head_size, k + done * ld, ld, keys + (at - inside) * plan_.head_size + inside,
                 k_.panel_width);
    done += some;
  }
}

/// Queries and keys (rows, A) in qkv normalised and rotated, and keys and values into the cache.
void Decoder::cache_keys_and_values(long layer, const Chunk& chunk, const Shard& shard) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A);
  const Range heads = heads_of(shard);
  float* const qkv = shard.shared.qkv;
  for (float* const x : {qkv, qkv + A})
    if (plan_.rope || plan_.qk_norm_eps)
      k_.qk_norm_rope(chunk.sequences * chunk.count, chunk.count, heads.end - heads.begin, hs, x + heads.begin * hs, ld,
                      plan_.qk_norm_eps.value_or(0), shard.own.qk_rstd, plan_.rope ? chunk.rope_cos : nullptr,
                      chunk.rope_sin);
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = heads.begin; h < heads.end; ++h) {
      const float* const k = qkv + s * chunk.count * ld + A + h * hs;
      cache_keys(k, ld, chunk.cache_position, chunk.count, keys_of(layer, chunk.slots[s], h));
      k_.copy(chunk.count, hs, k + A, ld, values_of(layer, chunk.slots[s], h) + chunk.cache_position * hs, hs);
    }
}

/// qkv (rows, 3 A) -> o (sequences * queries, A), head by head: softmax of scores times values.
void Decoder::cached_attention(long layer, const Chunk& chunk, const Shard& shard, long queries) {
  const long A = plan_.attention_width, hs = plan_.head_size, ld = row_stride(3 * A), ldo = row_stride(A);
  const Range heads = heads_of(shard);
  if (heads.begin == heads.end) return;
  cache_keys_and_values(layer, chunk, shard);
  if (chunk.previous_layers_done != nullptr)
    spin_until([&] { return chunk.previous_layers_done->load(std::memory_order_acquire) > layer; });
  if (chunk.layers_done != nullptr) chunk.layers_done->store(layer + 1, std::memory_order_release);
  if (queries == 0) return;
  const long end = chunk.first + chunk.count;
  const CachedHeadShape shape{
      .begin = end - queries, .end = end, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  for (long s = 0; s < chunk.sequences; ++s)
    for (long h = heads.begin; h < heads.end; ++h)
      k_.attention_cached(shape, shard.shared.qkv + ((s + 1) * chunk.count - queries) * ld + h * hs,
                          keys_of(layer, chunk.slots[s], h), values_of(layer, chunk.slots[s], h),
                          shard.shared.o + s * queries * ldo + h * hs, shard.own.scratch);
}

/// qkv (rows, 3 A) from what attention reads, h (rows, C).
void Decoder::project_qkv(const BlockPlan& block, const float* h, long ldh, const Chunk& chunk, const Shard& shard,
                          long queries) {
  const long A = plan_.attention_width, ld = row_stride(3 * A), rows = chunk.sequences * chunk.count;
  float* const qkv = shard.shared.qkv;
  if (plan_.qkv_source != QkvSource::projected) return copy_to_qkv(h, ldh, rows, shard);
  const bool apart = queries < chunk.count && A % k_.panel_width == 0;
  if (!apart) return linear(block.c_attn, columns_of(3 * A, shard), rows, h, ldh, qkv, ld, false, shard);
  linear(block.c_attn, {A, 3 * A}, rows, h, ldh, qkv, ld, false,
         shard);  // only prefill comes here, whose shard is all columns
  const long skipped = chunk.count - 1;
  if (queries > 0)
    linear(block.c_attn, {0, A}, chunk.sequences, h + skipped * ldh, chunk.count * ldh, qkv + skipped * ld,
           chunk.count * ld, false, shard);
}

/// qkv (rows, 3 A) of a model that projects nothing: the token itself as value, and as query and key, or zeros there.
void Decoder::copy_to_qkv(const float* h, long ldh, long rows, const Shard& shard) {
  const long A = plan_.attention_width, ld = row_stride(3 * A);
  const Range columns = columns_of(A, shard);
  const long width = columns.end - columns.begin;
  float* const q = shard.shared.qkv + columns.begin;
  for (float* const x : {q, q + A})
    if (plan_.qkv_source == QkvSource::uniform)
      k_.broadcast_row(rows, width, nullptr, x, ld);
    else
      k_.copy(rows, width, h + columns.begin, ldh, x, ld);
  k_.copy(rows, width, h + columns.begin, ldh, q + 2 * A, ld);
}

/// o = heads(norm(x)) for the last `queries` positions of each sequence; keys and values of all.
void Decoder::attention(const BlockPlan& block, long layer, const Chunk& chunk, const Shard& shard, long queries) {
  const long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const float* const x = shard.shared.x;
  const float* const h = plan_.norm && !plan_.post_norm ? normalise(block.ln_1, rows, x, ldx, shard) : x;
  project_qkv(block, h, ldx, chunk, shard, queries);
  barrier(shard);
  cached_attention(layer, chunk, shard, queries);
}

/// x (+)= c_proj(o), and the norm after it where that is its place.
void Decoder::attention_output(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows) {
  const long ldo = row_stride(plan_.attention_width);
  const Range columns = columns_of(plan_.n_embd, shard);
  const long width = columns.end - columns.begin;
  const float* const o = shard.shared.o;
  if (block.c_proj.out > 0)
    linear(block.c_proj, columns, rows, o, ldo, x, ldx, plan_.residual, shard);
  else
    (plan_.residual ? k_.add : k_.copy)(rows, width, o + columns.begin, ldo, x + columns.begin, ldx);
  barrier(shard);
  if (plan_.post_norm) normalise_in_place(block.ln_1, rows, x, ldx, shard);
}

/// x += c_proj(f(c_fc(norm(x))))
void Decoder::mlp(const BlockPlan& block, const Shard& shard, float* x, long ldx, long rows) {
  const long ldh = row_stride(plan_.mlp_width);
  const Range columns = columns_of(plan_.mlp_width, shard);
  const long width = columns.end - columns.begin;
  const float* h = x;
  long ld = ldx;
  if (plan_.norm && !plan_.post_norm) h = normalise(block.ln_2, rows, x, ldx, shard), ld = row_stride(plan_.n_embd);
  Workspace& workspace = shard.shared;
  linear(block.c_fc, columns, rows, h, ld, workspace.fc, ldh, false, shard);
  float* const fc = workspace.fc + columns.begin;
  float* const hidden = workspace.hidden + columns.begin;
  if (plan_.swiglu) {
    linear(block.c_gate, columns, rows, h, ld, workspace.gate, ldh, false, shard);
    k_.swiglu(rows, width, fc, workspace.gate + columns.begin, ldh, hidden, ldh);
  } else {
    k_.activation(plan_.activation, rows, width, fc, ldh, hidden, ldh);
  }
  barrier(shard);
  linear(block.mlp_proj, columns_of(plan_.n_embd, shard), rows, workspace.hidden, ldh, x, ldx, true, shard);
  barrier(shard);
  if (plan_.post_norm) normalise_in_place(block.ln_2, rows, x, ldx, shard);
}

/// Logits of one row for each sequence.
void Decoder::lm_head(const Chunk& chunk, const Shard& shard, const float* x, long ldx) {
  const float* h = x;
  long ld = ldx;
  if (plan_.final_norm && plan_.norm)
    h = normalise(plan_.ln_f, chunk.sequences, x, ldx, shard), ld = row_stride(plan_.n_embd);
  linear(plan_.head, columns_of(plan_.vocab_size, shard), chunk.sequences, h, ld, chunk.logits, logits_stride_, false,
         shard);
}

void Decoder::forward(const Chunk& chunk, const Shard& shard) {
  float* x = shard.shared.x;
  long ldx = row_stride(plan_.n_embd), rows = chunk.sequences * chunk.count;
  const auto leave_last_positions = [&] {
    x += (chunk.count - 1) * ldx;
    ldx *= chunk.count;
    rows = chunk.sequences;
  };
  embed(chunk, shard);
  barrier(shard);
  if (plan_.n_layer == 0) leave_last_positions();
  for (long layer = 0; layer < plan_.n_layer; ++layer) {
    const BlockPlan& block = plan_.blocks[static_cast<std::size_t>(layer)];
    const bool last = layer + 1 == plan_.n_layer;  // of it only the last position's output is wanted
    const long queries = !last ? chunk.count : chunk.logits != nullptr ? 1 : 0;
    attention(block, layer, chunk, shard, queries);
    if (queries == 0) return;
    barrier(shard);
    if (last) leave_last_positions();
    attention_output(block, shard, x, ldx, rows);
    if (plan_.feed_forward) mlp(block, shard, x, ldx, rows);
  }
  if (chunk.logits != nullptr) lm_head(chunk, shard, x, ldx);
}

}  // namespace chargpt::cpu
