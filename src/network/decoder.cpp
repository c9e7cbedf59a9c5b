#include "network/decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/clock.h"

namespace chargpt::cpu {

Decoder::Decoder(ForwardTeam& team)
    : team_(team), plan_(team.plan()), cache_(plan_), logits_stride_(row_stride(plan_.vocab_size)) {
  constexpr std::int64_t least = 1 << 16;  // floats of packed weights of each thread
  const std::int64_t threads = std::min<std::int64_t>(std::max(2, team.threads() / 2), plan_.packed_floats / least);
  // A crew runs one sequence, of whose last chunk the head sees one row.
  const std::int64_t width = std::max({3 * plan_.attention_width, plan_.mlp_width, plan_.n_embd});
  const std::int64_t part = std::max(Forward::chunk_rows * row_stride(width), row_stride(plan_.vocab_size));
  if (team.threads() > 1 && threads > 1) crew_.emplace(static_cast<int>(threads), part);
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
/// buffers. The next token of a single sequence is run by one thread or by the crew, whichever was faster: another
/// program may need a core.
void Decoder::run_from(long first) {
  const long at_once = std::max(1L, Forward::chunk_rows / (length_ - first));
  const auto run = [&](long begin, long end, int thread, Crew* crew) {  // sequences begin to end - 1
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
                                .crew = crew,
                                .thread = crew == nullptr ? 0 : thread});
      }
  };
  const auto count = static_cast<long>(slots_.size());
  const long threads = team_.threads();
  if (count > 1)
    return on_threads(team_.threads(), [&](int thread) {
      run(count * thread / threads, count * (thread + 1) / threads, thread, nullptr);
    });
  const double begin = steady_seconds();
  if (crew_ && together_)
    crew_->team.run([&](int thread) { run(0, 1, thread, &*crew_); });
  else
    run(0, 1, 0, nullptr);
  if (crew_) choose_crew((steady_seconds() - begin) / static_cast<double>(length_ - first));
}

/// After each stretch of runs chooses who was faster the last time, and tries the other now and then: seldom enough to
/// lose little time, since a crew that waits for a core is up to hundreds of times as slow; it is given up at once.
/// `seconds`: of one token of a run.
void Decoder::choose_crew(double seconds) {
  constexpr std::int64_t stretch = 64;
  seconds_ += seconds;
  const bool waits = together_ && seconds > 4 * last_seconds_[0] + 1e-3;  // not only for a thread to wake
  if (++runs_ < stretch && !waits) return;
  last_seconds_[together_] = std::exchange(seconds_, 0) / static_cast<double>(std::exchange(runs_, 0));
  together_ = last_seconds_[1] < last_seconds_[0];
  const double wait = together_ ? 256 : std::min(4096.0, 16 * last_seconds_[1] / last_seconds_[0]);
  if (static_cast<double>(++stretches_) < wait) return;
  stretches_ = 0;
  together_ = !together_;
}

}  // namespace chargpt::cpu
