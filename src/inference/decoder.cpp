#include "inference/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace chargpt::cpu {
namespace {

/// Fewer sequences for each thread may be run by all threads together, each reading a part of the weights: reading
/// them, not the arithmetic, is what takes the time.
constexpr std::int64_t few_sequences = 4;

}  // namespace

Decoder::Decoder(Plan plan, std::vector<const float*> values, const Kernels& kernels, int threads, bool bf16)
    : plan_(std::move(plan)),
      values_(std::move(values)),
      k_(kernels),
      team_(threads),
      cache_(plan_, kernels),
      forward_(plan_, values_, kernels, bf16, team_, cache_),
      logits_stride_(row_stride(plan_.vocab_size)),
      layers_done_(static_cast<std::size_t>(plan_.block_size / cache_line + 1)) {}

void Decoder::reserve(std::int64_t sequences) {
  slots_.resize(static_cast<std::size_t>(sequences));
  std::iota(slots_.begin(), slots_.end(), 0);
  if (sequences <= cache_.slots()) return;
  cache_.make_room(sequences);
  logits_ = AlignedFloats(sequences * logits_stride_ + k_.slack);
}

// ---- sequences

float* Decoder::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  reserve(sequences);
  const auto all = std::exchange(slots_, {0});
  std::ranges::copy(ids, cache_.tokens(0));
  prefill(static_cast<long>(ids.size()));
  slots_ = all;
  for (std::int64_t slot = 1; slot < sequences; ++slot) {
    std::ranges::copy(ids, cache_.tokens(slot));
    std::memcpy(logits_.data() + slot * logits_stride_, logits_.data(),
                static_cast<std::size_t>(plan_.vocab_size) * sizeof(float));
    cache_.copy(0, slot);
  }
  return logits_.data();
}

float* Decoder::append(std::span<const std::int64_t> ids, std::int64_t kept, bool rerun) {
  const bool full = length_ == plan_.block_size, slides = full && kept == plan_.block_size;
  const std::int64_t stay = slides ? kept - 1 : kept;
  if (full) length_ = static_cast<long>(stay);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::int64_t* const tokens = cache_.tokens(slots_[i]);
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
    // No thread is woken for a short prompt; a part of one that is convolved would have to wait for the one before it
    // in every sublayer.
    if (T <= cache_line || plan_.conv_width > 0) {
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
  const long at_once = std::max(1L, CachedForward::max_rows / T);
  for (long sequence = begin; sequence < end; sequence += at_once)
    for (long first = 0; first < T; first += CachedForward::max_rows) {
      CachedForward::Chunk chunk{.slots = slots_.data() + sequence, .sequences = std::min(at_once, end - sequence)};
      set_chunk_position(chunk, first);
      chunk.count = std::min(T - first, CachedForward::max_rows);
      if (first + chunk.count == T) chunk.logits = logits_.data() + sequence * logits_stride_;
      forward_.run(chunk, thread);
    }
}

/// One sequence cut by positions: in each layer a chunk waits for the keys and values of the one before.
void Decoder::prefill_split(long T, long sequence) {
  const long threads = team_.threads();
  const long size =
      std::min(CachedForward::max_rows, static_cast<long>(rounded_up((T + threads - 1) / threads, cache_line)));
  for (auto& layers : layers_done_) layers.store(0, std::memory_order_relaxed);
  team_.run([&](int thread) {
    for (long index = thread; index * size < T; index += threads) {
      std::atomic<std::uint32_t>* const done = &layers_done_[static_cast<std::size_t>(index)];
      CachedForward::Chunk chunk{.slots = slots_.data() + sequence, .sequences = 1, .layers_done = done};
      set_chunk_position(chunk, index * size);
      chunk.count = std::min(size, T - chunk.first);
      if (index > 0) chunk.previous_layers_done = done - 1;
      if (chunk.first + chunk.count == T) chunk.logits = logits_.data() + sequence * logits_stride_;
      forward_.run(chunk, thread);
    }
  });
}

/// In a window that has not slid.
void Decoder::set_chunk_position(CachedForward::Chunk& chunk, long first) const {
  chunk.first = first;
  chunk.position = first;
  if (plan_.rope_cos.empty()) return;  // no rotary positions
  chunk.rope_cos = plan_.rope_cos.data() + first * (plan_.head_size / 2);
  chunk.rope_sin = plan_.rope_sin.data() + first * (plan_.head_size / 2);
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
  const int threads = together ? std::min(team_.threads(), forward_.max_shards()) : team_.threads();
  auto body = [&](int thread) {
    if (thread >= threads) return;
    const long begin = together ? 0 : count * thread / threads, end = together ? count : count * (thread + 1) / threads;
    for (long sequence = begin; sequence < end; sequence += CachedForward::max_rows) {
      const CachedForward::Chunk chunk{.slots = slots_.data() + sequence,
                                       .sequences = std::min(CachedForward::max_rows, end - sequence),
                                       .first = length_ - 1,
                                       .count = 1,
                                       .position = position_,
                                       .rope_cos = rope_cos_.data(),
                                       .rope_sin = rope_sin_.data(),
                                       .logits = logits_.data() + sequence * logits_stride_};
      together ? forward_.run_shard(chunk, thread, threads) : forward_.run(chunk, thread);
    }
  };
  if (!together && count == 1)
    body(threads - 1);
  else
    team_.run(body);
}

}  // namespace chargpt::cpu
