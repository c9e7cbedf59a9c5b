#include "inference/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace chargpt::cpu {
namespace {

constexpr long rows_at_once = 128;
/// So few sequences for each thread may be run by all threads together, which share out the weights: reading them, and
/// not the arithmetic, is what takes the time.
constexpr std::int64_t few_sequences = 4;

/// Rows of the longest panel.
long deepest(const Plan& plan) {
  long depth = 0;
  for (const LinearPlan* layer : linear_layers(plan)) depth = std::max(depth, layer->in);
  return depth;
}

}  // namespace

// ---- memory

void Decoder::lay_out(Lane& lane, BumpAllocator& layout) const {
  lane.x = layout.rows(rows_at_once, plan_.width);
  lane.qkv = layout.rows(rows_at_once, 3 * plan_.joined);
  lane.o = layout.rows(rows_at_once, plan_.joined);
  lane.u = layout.rows(rows_at_once, plan_.hidden);
  lane.gate = plan_.gated ? layout.rows(rows_at_once, plan_.hidden) : nullptr;
  lane.g = layout.rows(rows_at_once, plan_.hidden);
  lane.h = plan_.norm ? layout.rows(rows_at_once, plan_.width) : nullptr;
  lane.joined = layout.allocate(plan_.table_width * std::ssize(plan_.tables));
  lane.statistics = layout.allocate(2 * rows_at_once);
  lane.inverse = plan_.qk_norm_eps ? layout.allocate(plan_.heads * rows_at_once) : nullptr;
  lane.scratch = layout.allocate(k_.attention_scratch(plan_.block_size, plan_.head_size));
  lane.panel = narrow_ ? layout.allocate(deepest(plan_) * k_.panel_width) : nullptr;
  lane.rows.resize(plan_.tables.size());
}

Decoder::Decoder(Plan plan, std::vector<const float*> values, const Kernels& kernels, int threads, bool narrow)
    : plan_(std::move(plan)),
      values_(std::move(values)),
      k_(kernels),
      narrow_(narrow),
      team_(threads),
      packed_(plan_.packed),
      lanes_(static_cast<std::size_t>(team_.threads())),
      key_positions_(key_positions(plan_, k_)),
      logits_stride_(row_stride(plan_.vocab)),
      progress_(static_cast<std::size_t>(plan_.block_size / cache_line + 1)) {
  BumpAllocator count{.base = nullptr, .slack = k_.slack};
  lay_out(lanes_.front(), count);
  for (Lane& lane : lanes_) {
    lane.memory = AlignedFloats(count.used);
    BumpAllocator layout{.base = lane.memory.data(), .slack = k_.slack};
    lay_out(lane, layout);
  }
  pack_weights();
}

/// Every matrix in the order in which products read it, each member its panels: those it will read.
void Decoder::pack_weights() {
  const std::vector<const LinearPlan*> layers = linear_layers(plan_);
  team_.run([&](int member) {
    Lane& own = lanes_[static_cast<std::size_t>(member)];
    const Part part{lanes_.front(), own, member, team_.threads()};
    for (const LinearPlan* layer : layers) {
      const Columns columns = columns_of(layer->out, part);
      const long begin = columns.begin / k_.panel_width, end = (columns.end + k_.panel_width - 1) / k_.panel_width;
      if (narrow_)
        narrow_panels(*layer, begin, end, own.panel);
      else
        k_.pack(begin, end, layer->in, layer->out, value(layer->weight), true, packed_.data() + layer->forward);
    }
  });
}

void Decoder::narrow_panels(const LinearPlan& layer, long begin, long end, float* scratch) {
  for (long p = begin; p < end; ++p) {
    const long column = p * k_.panel_width;
    k_.pack(0, 1, layer.in, std::min(k_.panel_width, layer.out - column), value(layer.weight) + column * layer.in, true,
            scratch);
    k_.panel_to_bf16(layer.in, scratch, narrow_panel_of(layer, p));
  }
}

long Decoder::key_positions(const Plan& plan, const Kernels& kernels) {
  return static_cast<long>(rounded_up(plan.block_size, kernels.panel_width));
}

std::int64_t Decoder::kept_floats(const Plan& plan, const Kernels& kernels) {
  return plan.layers * plan.joined * (key_positions(plan, kernels) + plan.block_size);
}

void Decoder::make_room(std::int64_t sequences) {
  slots_.resize(static_cast<std::size_t>(sequences));
  std::iota(slots_.begin(), slots_.end(), 0);
  if (sequences <= capacity_) return;
  capacity_ = sequences;
  kept_ = AlignedFloats();
  kept_ = AlignedFloats(sequences * kept_floats(plan_, k_) + k_.slack);
  logits_ = AlignedFloats(sequences * logits_stride_ + k_.slack);
  tokens_.resize(static_cast<std::size_t>(sequences * plan_.block_size));
}

float* Decoder::keys_of(long layer, std::int64_t slot, long head) const {
  const std::int64_t floats = plan_.head_size * (key_positions_ + plan_.block_size);
  return kept_.data() + ((layer * capacity_ + slot) * plan_.heads + head) * floats;
}

float* Decoder::values_of(long layer, std::int64_t slot, long head) const {
  return keys_of(layer, slot, head) + plan_.head_size * key_positions_;
}

// ---- sequences

float* Decoder::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  make_room(sequences);
  const auto all = std::exchange(slots_, {0});
  std::ranges::copy(ids, tokens_of(0));
  run_windows(static_cast<long>(ids.size()));
  slots_ = all;
  for (std::int64_t slot = 1; slot < sequences; ++slot) {
    std::ranges::copy(ids, tokens_of(slot));
    std::memcpy(logits_.data() + slot * logits_stride_, logits_.data(),
                static_cast<std::size_t>(plan_.vocab) * sizeof(float));
    for (long layer = 0; layer < plan_.layers; ++layer)
      std::memcpy(keys_of(layer, slot, 0), keys_of(layer, 0, 0),
                  static_cast<std::size_t>(kept_floats(plan_, k_) / plan_.layers) * sizeof(float));
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
    run_windows(length_ + 1);
    return logits_.data();
  }
  ++length_;
  turn_to(position_ + 1);
  run_last();
  return logits_.data();
}

/// Rotations of one position, however far it is.
void Decoder::turn_to(std::int64_t position) {
  position_ = position;
  if (!plan_.rope) return;
  const long half = plan_.head_size / 2;
  cosines_.resize(static_cast<std::size_t>(half));
  sines_.resize(static_cast<std::size_t>(half));
  for (long i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * plan_.frequencies[static_cast<std::size_t>(i)];
    cosines_[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
    sines_[static_cast<std::size_t>(i)] = static_cast<float>(std::sin(angle));
  }
}

void Decoder::keep(std::span<const std::int64_t> sequences) {
  std::size_t i = 0;
  for (const std::int64_t sequence : sequences) slots_[i++] = slots_[static_cast<std::size_t>(sequence)];
  slots_.resize(i);
}

/// All positions from the first on. Each thread takes as many whole sequences as the others; those left over, all
/// threads together or one alone.
void Decoder::run_windows(long T) {
  length_ = T;
  position_ = T - 1;
  const auto count = static_cast<long>(slots_.size()), each = count / team_.threads();
  if (each > 0) team_.run([&](int member) { run_whole(T, each * member, each * (member + 1), member); });
  for (long sequence = each * team_.threads(); sequence < count; ++sequence) {
    if (T <= cache_line) {  // a short prompt: no thread is woken for it
      run_whole(T, sequence, sequence + 1, 0);
      continue;
    }
    faster_window_.run([&](bool together) {
      if (together)
        run_split(T, sequence);
      else
        run_whole(T, sequence, sequence + 1, 0);
    });
  }
}

/// Sequences begin to end - 1 by one thread, as many positions at a time as fit its buffers.
void Decoder::run_whole(long T, long begin, long end, int member) {
  Lane& lane = lanes_[static_cast<std::size_t>(member)];
  const long at_once = std::max(1L, rows_at_once / T);
  for (long sequence = begin; sequence < end; sequence += at_once)
    for (long first = 0; first < T; first += rows_at_once) {
      Piece piece{.slots = slots_.data() + sequence, .sequences = std::min(at_once, end - sequence)};
      stand_at(piece, first);
      piece.count = std::min(T - first, rows_at_once);
      if (first + piece.count == T) piece.logits = logits_.data() + sequence * logits_stride_;
      forward(piece, {lane, lane, 0, 1});
    }
}

/// One sequence cut by positions: in each layer a piece waits for the keys and values of the one before.
void Decoder::run_split(long T, long sequence) {
  const long members = team_.threads();
  const long size = std::min(rows_at_once, static_cast<long>(rounded_up((T + members - 1) / members, cache_line)));
  for (auto& layers : progress_) layers.store(0, std::memory_order_relaxed);
  team_.run([&](int member) {
    Lane& lane = lanes_[static_cast<std::size_t>(member)];
    for (long at = member; at * size < T; at += members) {
      std::atomic<std::int64_t>* const done = &progress_[static_cast<std::size_t>(at)];
      Piece piece{.slots = slots_.data() + sequence, .sequences = 1, .done = done};
      stand_at(piece, at * size);
      piece.count = std::min(size, T - piece.first);
      if (at > 0) piece.before = done - 1;
      if (piece.first + piece.count == T) piece.logits = logits_.data() + sequence * logits_stride_;
      forward(piece, {lane, lane, 0, 1});
    }
  });
}

/// In a window that has not slid.
void Decoder::stand_at(Piece& piece, long first) const {
  piece.first = piece.place = first;
  piece.cosines = plan_.cosines.data() + first * (plan_.head_size / 2);
  piece.sines = plan_.sines.data() + first * (plan_.head_size / 2);
}

/// Members that still have something to do each in the narrowest product.
int Decoder::most_together() const {
  return static_cast<int>(std::max(1L, plan_.width / k_.panel_width));
}

/// The last position of every sequence. Few sequences are run by all threads together, or each by one, whichever takes
/// less time: the bits are the same.
void Decoder::run_last() {
  const bool may_share = team_.threads() > 1 && sequences() < few_sequences * team_.threads();
  if (!may_share) return run_last(false);
  faster_.run([this](bool together) { run_last(together); });
}

void Decoder::run_last(bool together) {
  const auto count = static_cast<long>(slots_.size());
  const int members = together ? std::min(team_.threads(), most_together()) : team_.threads();
  auto body = [&](int member) {
    if (member >= members) return;
    Lane& own = lanes_[static_cast<std::size_t>(member)];
    const long begin = together ? 0 : count * member / members, end = together ? count : count * (member + 1) / members;
    for (long sequence = begin; sequence < end; sequence += rows_at_once) {
      const Piece piece{.slots = slots_.data() + sequence,
                        .sequences = std::min(rows_at_once, end - sequence),
                        .first = length_ - 1,
                        .count = 1,
                        .place = static_cast<long>(position_ % plan_.block_size),
                        .cosines = cosines_.data(),
                        .sines = sines_.data(),
                        .logits = logits_.data() + sequence * logits_stride_};
      forward(piece, together ? Part{lanes_.front(), own, member, members} : Part{own, own, 0, 1});
    }
  };
  if (!together && count == 1)
    body(members - 1);
  else
    team_.run(body);
}

// ---- layers

void Decoder::meet(const Part& part) {
  if (part.of > 1) team_.barrier(part.of);
}

/// The columns of a product that are the part's: whole panels.
Decoder::Columns Decoder::columns_of(long width, const Part& part) const {
  const long panels = (width + k_.panel_width - 1) / k_.panel_width;
  return {std::min(width, panels * part.member / part.of * k_.panel_width),
          std::min(width, panels * (part.member + 1) / part.of * k_.panel_width)};
}

/// y (rows, out) (+)= x (rows, in) W^T + b, of which only the columns: they begin with a panel.
void Decoder::apply(const LinearPlan& layer, Columns columns, long rows, const float* x, long ldx, float* y, long ldy,
                    bool add, const Part& part) const {
  const long width = columns.end - columns.begin;
  if (width <= 0) return;
  y += columns.begin;
  if (const float* const bias = value(layer.bias); bias != nullptr) {
    add ? k_.add(rows, width, bias + columns.begin, 0, y, ldy)
        : k_.broadcast_row(rows, width, bias + columns.begin, y, ldy);
    add = true;
  }
  if (narrow_) return apply_narrow(layer, columns, rows, x, ldx, y, ldy, add, part.own.panel);
  const float* const weight = panel_of(layer, columns.begin / k_.panel_width);
  if (rows == 1) return k_.matvec(width, layer.in, x, weight, k_.panel_width, layer.in * k_.panel_width, y, add);
  k_.matmul(rows, width, layer.in, x, ldx, weight, k_.panel_width, layer.in * k_.panel_width, y, ldy, add);
}

/// The same from bfloat16: several rows on one panel after the other, widened to `panel`.
void Decoder::apply_narrow(const LinearPlan& layer, Columns columns, long rows, const float* x, long ldx, float* y,
                           long ldy, bool add, float* panel) const {
  const long first = columns.begin / k_.panel_width, width = columns.end - columns.begin;
  if (rows == 1) return k_.matvec_bf16(width, layer.in, x, narrow_panel_of(layer, first), narrow_panel(layer), y, add);
  for (long n = 0, p = first; n < width; n += k_.panel_width, ++p) {
    k_.panel_from_bf16(layer.in, narrow_panel_of(layer, p), panel);
    k_.matmul(rows, std::min(k_.panel_width, width - n), layer.in, x, ldx, panel, k_.panel_width,
              layer.in * k_.panel_width, y + n, ldy, add);
  }
}

/// norm(x) in the part's own buffer, rows row_stride(C) apart. Only where the model has norms.
const float* Decoder::normalise(const NormPlan& norm, long rows, const float* x, long ldx, const Part& part) const {
  k_.norm(*plan_.norm, rows, plan_.width, x, ldx, value(norm.gain), value(norm.bias), plan_.norm_eps, part.own.h,
          row_stride(plan_.width), part.own.statistics);
  return part.own.h;
}

/// x = norm(x), by one member for all.
void Decoder::normalise_in_place(const NormPlan& norm, long rows, float* x, long ldx, const Part& part) {
  if (!plan_.norm) return;
  if (part.member == 0) {
    const float* const h = normalise(norm, rows, x, ldx, part);
    k_.copy(rows, plan_.width, h, row_stride(plan_.width), x, ldx);
  }
  meet(part);
}

/// x = wte[id] + position + n-gram rows
void Decoder::embed(const Piece& piece, const Part& part) {
  const long C = plan_.width, ld = row_stride(C);
  const Columns columns = columns_of(C, part);
  const long width = columns.end - columns.begin;
  const float* const positions = plan_.wpe.there()         ? value(plan_.wpe)
                                 : plan_.sinusoids.empty() ? nullptr
                                                           : plan_.sinusoids.data();
  for (long s = 0, row = 0; s < piece.sequences; ++s)
    for (long i = 0; i < piece.count; ++i, ++row) {
      const std::int64_t* const ids = tokens_of(piece.slots[s]);
      const long position = piece.first + i;
      float* const x = part.shared.x + row * ld + columns.begin;
      k_.copy(1, width, value(plan_.wte) + ids[position] * C + columns.begin, C, x, ld);
      if (!plan_.tables.empty()) look_up(part, row, ids, position);
      if (positions != nullptr) k_.add(1, width, positions + position * C + columns.begin, C, x, ld);
    }
}

/// x += the rows of the n-grams that end at `position`, or their projection.
void Decoder::look_up(const Part& part, long row, const std::int64_t* ids, long position) {
  const long C = plan_.width, width = plan_.table_width;
  const Columns columns = columns_of(C, part);
  float* const x = part.shared.x + row * row_stride(C);
  last_ngram_rows(plan_.ngrams, plan_.vocab, {ids, static_cast<std::size_t>(position + 1)}, part.own.rows);
  for (std::size_t table = 0; table < plan_.tables.size(); ++table) {
    const float* const found = value(plan_.tables[table].weight) + part.own.rows[table] * width;
    if (plan_.ngram_proj.out > 0)
      k_.copy(1, width, found, width, part.own.joined + static_cast<long>(table) * width, width);
    else
      k_.add(1, columns.end - columns.begin, found + columns.begin, width, x + columns.begin, C);
  }
  if (plan_.ngram_proj.out > 0) apply(plan_.ngram_proj, columns, 1, part.own.joined, 0, x, 0, true, part);
}

/// Keys (count, hs) of positions from `first` on into a head's panels (hs, panel).
void Decoder::keep_keys(const float* k, long ld, long first, long count, float* keys) const {
  for (long done = 0; done < count;) {
    const long at = first + done, inside = at % k_.panel_width, some = std::min(count - done, k_.panel_width - inside);
    k_.transpose(some, plan_.head_size, k + done * ld, ld, keys + (at - inside) * plan_.head_size + inside,
                 k_.panel_width);
    done += some;
  }
}

/// qkv (rows, 3 J) -> o (sequences * queries, J) by heads: rotation, what is kept, and softmax of scores times values.
void Decoder::heads(long layer, const Piece& piece, const Part& part, long queries) {
  const long J = plan_.joined, hs = plan_.head_size, ld = row_stride(3 * J), ldo = row_stride(J);
  const long begin = plan_.heads * part.member / part.of, end = plan_.heads * (part.member + 1) / part.of;
  if (begin == end) return;
  const long rows = piece.sequences * piece.count, last = piece.first + piece.count;
  float* const qkv = part.shared.qkv;
  for (float* const x : {qkv, qkv + J})
    if (plan_.rope || plan_.qk_norm_eps)
      k_.qk_norm_rope(rows, piece.count, end - begin, hs, x + begin * hs, ld, plan_.qk_norm_eps.value_or(0),
                      part.own.inverse, plan_.rope ? piece.cosines : nullptr, piece.sines);
  for (long s = 0; s < piece.sequences; ++s)
    for (long h = begin; h < end; ++h) {
      const float* const k = qkv + s * piece.count * ld + J + h * hs;
      keep_keys(k, ld, piece.place, piece.count, keys_of(layer, piece.slots[s], h));
      k_.copy(piece.count, hs, k + J, ld, values_of(layer, piece.slots[s], h) + piece.place * hs, hs);
    }
  if (piece.before != nullptr) spin_until([&] { return piece.before->load(std::memory_order_acquire) > layer; });
  if (piece.done != nullptr) piece.done->store(layer + 1, std::memory_order_release);
  const CachedHeadShape shape{
      .begin = last - queries, .end = last, .hs = hs, .ld = ld, .ldo = ldo, .scale = plan_.score_scale};
  for (long s = 0; s < piece.sequences; ++s)
    for (long h = begin; queries > 0 && h < end; ++h)
      k_.attention_cached(shape, qkv + ((s + 1) * piece.count - queries) * ld + h * hs,
                          keys_of(layer, piece.slots[s], h), values_of(layer, piece.slots[s], h),
                          part.shared.o + s * queries * ldo + h * hs, part.own.scratch);
}

/// qkv (rows, 3 J) from what attention reads, h (rows, C).
void Decoder::project(const BlockPlan& block, const float* h, long ldh, const Piece& piece, const Part& part,
                      long queries) {
  const long J = plan_.joined, ld = row_stride(3 * J), rows = piece.sequences * piece.count;
  float* const qkv = part.shared.qkv;
  if (plan_.mixing != Mixing::projected) return repeat(h, ldh, rows, part);
  const bool apart = queries < piece.count && J % k_.panel_width == 0;
  if (!apart) return apply(block.c_attn, columns_of(3 * J, part), rows, h, ldh, qkv, ld, false, part);
  apply(block.c_attn, {J, 3 * J}, rows, h, ldh, qkv, ld, false, part);  // a part is all here: see run_last()
  const long skipped = piece.count - 1;
  if (queries > 0)
    apply(block.c_attn, {0, J}, piece.sequences, h + skipped * ldh, piece.count * ldh, qkv + skipped * ld,
          piece.count * ld, false, part);
}

/// qkv (rows, 3 J) of a model that projects nothing: the token itself as value, and as query and key, or zeros there.
void Decoder::repeat(const float* h, long ldh, long rows, const Part& part) {
  const long J = plan_.joined, ld = row_stride(3 * J);
  const Columns columns = columns_of(J, part);
  const long width = columns.end - columns.begin;
  float* const q = part.shared.qkv + columns.begin;
  for (float* const x : {q, q + J})
    if (plan_.mixing == Mixing::mean)
      k_.broadcast_row(rows, width, nullptr, x, ld);
    else
      k_.copy(rows, width, h + columns.begin, ldh, x, ld);
  k_.copy(rows, width, h + columns.begin, ldh, q + 2 * J, ld);
}

/// o = heads(norm(x)) for the last `queries` positions of each sequence; keys and values of all.
void Decoder::attend(const BlockPlan& block, long layer, const Piece& piece, const Part& part, long queries) {
  const long ldx = row_stride(plan_.width), rows = piece.sequences * piece.count;
  const float* const x = part.shared.x;
  const float* const h = plan_.norm && !plan_.post_norm ? normalise(block.ln_1, rows, x, ldx, part) : x;
  project(block, h, ldx, piece, part, queries);
  meet(part);
  heads(layer, piece, part, queries);
}

/// x (+)= projection(o), and the norm behind it where it stands there.
void Decoder::add_attended(const BlockPlan& block, const Part& part, float* x, long ldx, long rows) {
  const long ldo = row_stride(plan_.joined);
  const Columns columns = columns_of(plan_.width, part);
  const long width = columns.end - columns.begin;
  const float* const o = part.shared.o;
  if (block.c_proj.out > 0)
    apply(block.c_proj, columns, rows, o, ldo, x, ldx, plan_.residual, part);
  else
    (plan_.residual ? k_.add : k_.copy)(rows, width, o + columns.begin, ldo, x + columns.begin, ldx);
  meet(part);
  if (plan_.post_norm) normalise_in_place(block.ln_1, rows, x, ldx, part);
}

/// x += projection(f(widening(norm(x))))
void Decoder::feed(const BlockPlan& block, const Part& part, float* x, long ldx, long rows) {
  const long ldh = row_stride(plan_.hidden);
  const Columns columns = columns_of(plan_.hidden, part);
  const long width = columns.end - columns.begin;
  const float* h = x;
  long ld = ldx;
  if (plan_.norm && !plan_.post_norm) h = normalise(block.ln_2, rows, x, ldx, part), ld = row_stride(plan_.width);
  Lane& lane = part.shared;
  apply(block.c_fc, columns, rows, h, ld, lane.u, ldh, false, part);
  float* const u = lane.u + columns.begin;
  float* const g = lane.g + columns.begin;
  if (plan_.gated) {
    apply(block.c_gate, columns, rows, h, ld, lane.gate, ldh, false, part);
    k_.swiglu(rows, width, u, lane.gate + columns.begin, ldh, g, ldh);
  } else {
    k_.activation(plan_.curve, rows, width, u, ldh, g, ldh);
  }
  meet(part);
  apply(block.mlp_proj, columns_of(plan_.width, part), rows, lane.g, ldh, x, ldx, true, part);
  meet(part);
  if (plan_.post_norm) normalise_in_place(block.ln_2, rows, x, ldx, part);
}

/// Logits of one row for each sequence.
void Decoder::finish(const Piece& piece, const Part& part, const float* x, long ldx) {
  const float* h = x;
  long ld = ldx;
  if (plan_.final_norm && plan_.norm)
    h = normalise(plan_.ln_f, piece.sequences, x, ldx, part), ld = row_stride(plan_.width);
  apply(plan_.head, columns_of(plan_.vocab, part), piece.sequences, h, ld, piece.logits, logits_stride_, false, part);
}

void Decoder::forward(const Piece& piece, const Part& part) {
  float* x = part.shared.x;
  long ldx = row_stride(plan_.width), rows = piece.sequences * piece.count;
  const auto leave_last_positions = [&] {
    x += (piece.count - 1) * ldx;
    ldx *= piece.count;
    rows = piece.sequences;
  };
  embed(piece, part);
  meet(part);
  if (plan_.layers == 0) leave_last_positions();
  for (long layer = 0; layer < plan_.layers; ++layer) {
    const BlockPlan& block = plan_.blocks[static_cast<std::size_t>(layer)];
    const bool last = layer + 1 == plan_.layers;  // of it only the last position's output is wanted
    const long queries = !last ? piece.count : piece.logits != nullptr ? 1 : 0;
    attend(block, layer, piece, part, queries);
    if (queries == 0) return;
    meet(part);
    if (last) leave_last_positions();
    add_attended(block, part, x, ldx, rows);
    if (plan_.feed_forward) feed(block, part, x, ldx, rows);
  }
  if (piece.logits != nullptr) finish(piece, part, x, ldx);
}

}  // namespace chargpt::cpu
