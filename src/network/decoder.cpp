#include "network/decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace chargpt::cpu {

Decoder::Decoder(ForwardTeam& team)
    : team_(team), plan_(team.plan()), cache_(plan_), logits_stride_(row_stride(plan_.vocab_size)) {
  // Half of the threads: each product waits for the slowest thread, and another program may need a core.
  constexpr std::int64_t large = 1 << 21;  // in floats; larger than the caches of a core
  if (plan_.packed_floats >= large && team.threads() >= 4) helpers_.emplace(team.threads() / 2);
}

void Decoder::reserve(std::int64_t sequences) {
  team_.pack();
  for (Forward& pass : team_.passes()) pass.prepare_chunks();
  slots_.resize(static_cast<std::size_t>(sequences));
  std::iota(slots_.begin(), slots_.end(), 0);
  if (sequences <= cache_.slots()) return;
  logits_ = AlignedFloats(sequences * logits_stride_ + plan_.kernels->slack);
  cache_.make_room(sequences);
}

// ---- sequences

float* Decoder::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  reserve(sequences);
  const auto all = std::exchange(slots_, {0});
  std::ranges::copy(ids, cache_.tokens(0));
  length_ = static_cast<long>(ids.size());
  position_ = length_ - 1;
  run_from(0);
  slots_ = all;
  for (std::int64_t slot = 1; slot < sequences; ++slot) {
    std::ranges::copy(ids, cache_.tokens(slot));
    std::memcpy(logits_.data() + slot * logits_stride_, logits_.data(),
                static_cast<std::size_t>(plan_.vocab_size) * sizeof(float));
    cache_.copy(0, slot);
  }
  return logits_.data();
}

float* Decoder::append(std::span<const std::int64_t> ids, std::int64_t kept) {
  const bool full = length_ == plan_.block_size, slides = full && kept == plan_.block_size;
  const std::int64_t stay = slides ? kept - 1 : kept;
  if (full) length_ = static_cast<long>(stay);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::int64_t* const tokens = cache_.tokens(slots_[i]);
    if (full) std::copy(tokens + plan_.block_size - stay, tokens + plan_.block_size, tokens);
    tokens[length_] = ids[i];
  }
  const bool again = full && !slides;
  ++length_;
  position_ = again ? length_ - 1 : position_ + 1;
  run_from(again ? 0 : length_ - 1);
  return logits_.data();
}

void Decoder::keep(std::span<const std::int64_t> sequences) {
  std::size_t i = 0;
  for (const std::int64_t sequence : sequences) slots_[i++] = slots_[static_cast<std::size_t>(sequence)];
  slots_.resize(i);
}

/// Runs the ids of every sequence from index `first` to the last one; each thread runs as many at a time as fit its
/// buffers.
void Decoder::run_from(long first) {
  const long at_once = std::max(1L, Forward::chunk_rows / (length_ - first));
  const auto run = [&](long begin, long end, int thread) {  // sequences begin to end - 1
    for (long sequence = begin; sequence < end; sequence += at_once)
      for (long index = first; index < length_; index += Forward::chunk_rows) {
        const long positions = std::min(length_ - index, Forward::chunk_rows);
        team_.pass(thread).run({.sequences = std::min(at_once, end - sequence),
                                .count = positions,
                                .cache = &cache_,
                                .slots = slots_.data() + sequence,
                                .first = index,
                                .position = position_ - (length_ - 1 - index),
                                .wanted = index + positions == length_ ? Wanted::last : Wanted::none,
                                .logits = logits_.data() + sequence * logits_stride_,
                                .helpers = slots_.size() == 1 && helpers_ ? &*helpers_ : nullptr});
      }
  };
  const auto count = static_cast<long>(slots_.size());
  if (count == 1) return run(0, 1, 0);
  const long threads = team_.threads();
  on_threads(team_.threads(),
             [&](int thread) { run(count * thread / threads, count * (thread + 1) / threads, thread); });
}

}  // namespace chargpt::cpu
