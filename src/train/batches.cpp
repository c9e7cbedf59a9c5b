#include "train/batches.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"
#include "base/token_view.h"

namespace chargpt {
namespace {

/// Streams of Purpose::windows: one draws random starts, two draw an epoch's offset and order.
enum Stream : std::uint32_t { random_starts = 0, epoch_offset = 1, epoch_order = 2 };

std::int64_t below(RandomStream& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

/// One pass through a six-round Feistel network: a bijection on numbers of 2 * half_bits bits for any round function.
std::uint64_t feistel(std::uint64_t number, int half_bits, std::uint64_t key) {
  const std::array<std::uint32_t, 2> keys{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = number >> half_bits, right = number & mask;
  for (std::uint32_t round = 0; round < 6; ++round) {
    const std::uint64_t mixed = left ^ (philox({static_cast<std::uint32_t>(right), round, 0, 0}, keys)[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

/// The start of the last window of documents, which is moved back so that it has the full length: to the earliest start
/// of a document that fits, or inside a long document as far as necessary.
std::int64_t start_of_last(const WindowCut& cut, std::int64_t length) {
  const TokenView& split = cut.tokens();
  const std::int64_t row = cut.count() - 1, last = split.size() - length - 1,
                     before = row > 0 ? cut[row - 1].begin : -1;
  if (cut[row].begin <= last) return cut[row].begin;
  std::int64_t begin = last;
  while (begin > before && split[begin] != split.document()) --begin;
  return begin > before ? begin : last;
}

}  // namespace

// A Feistel network on the next power of four, repeated until the result is below count: a permutation without a table.
// Source: Black & Rogaway (2002), "Ciphers with arbitrary finite domains".
std::int64_t permuted(std::int64_t index, std::int64_t count, std::uint64_t key) {
  const int half_bits = std::max(1, (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1))) + 1) / 2);
  auto place = static_cast<std::uint64_t>(index);
  do {
    place = feistel(place, half_bits, key);
  } while (place >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(place);
}

BatchSource::BatchSource(TokenView split, std::int64_t block_size, const TrainConfig& train)
    : split_(split),
      block_size_(block_size),
      batch_size_(train.batch_size),
      micro_batches_(train.gradient_accumulation_steps),
      windows_(train.windows),
      seed_(static_cast<std::uint64_t>(train.seed)),
      cut_(split, block_size) {
  if (split.size() <= block_size)
    throw Error(ExitCode::data, "a split of ", split.size(),
                " tokens holds no window of model.block_size + 1 = ", block_size + 1,
                "; use a longer text or a smaller block_size");
  if (divided()) last_start_ = start_of_last(cut_, block_size);
}

std::int64_t BatchSource::random_start(RandomStream& random) const {
  if (!divided()) return below(random, split_.size() - block_size_);
  const std::int64_t row = below(random, cut_.count());
  return document_row(row, below(random, block_size_));
}

/// The start of a window. One in the middle of a long document may start up to T - 1 tokens earlier.
std::int64_t BatchSource::document_row(std::int64_t row, std::int64_t offset) const {
  const std::int64_t begin = row + 1 == cut_.count() ? last_start_ : cut_[row].begin, document = split_.document();
  const bool within = split_[begin] != document && split_[begin + block_size_] != document &&
                      counted_targets(split_, begin, block_size_) == block_size_;
  return within ? begin - offset : begin;
}

std::int64_t BatchSource::shuffled_start(std::int64_t index) const {
  const std::int64_t windows = windows_per_epoch();
  const auto epoch = static_cast<std::uint64_t>(index / windows);
  RandomStream offsets(seed_, Purpose::windows, epoch, epoch_offset);
  const std::int64_t offset = below(offsets, block_size_);
  const std::int64_t window =
      permuted(index % windows, windows, derive_seed(seed_, Purpose::windows, epoch, epoch_order));
  if (divided()) return document_row(window, offset);
  return std::min(offset + window * block_size_, split_.size() - block_size_ - 1);
}

std::vector<std::int64_t> BatchSource::starts(std::int64_t step) const {
  std::vector<std::int64_t> starts;
  for (std::int64_t micro = 0; micro < micro_batches_; ++micro) {
    const std::int64_t micro_batch = step * micro_batches_ + micro;
    RandomStream random(seed_, Purpose::windows, static_cast<std::uint64_t>(micro_batch), random_starts);
    for (std::int64_t row = 0; row < batch_size_; ++row)
      starts.push_back(windows_ == Windows::random ? random_start(random)
                                                   : shuffled_start(micro_batch * batch_size_ + row));
  }
  return starts;
}

std::vector<WindowBatch> BatchSource::micro_batches(std::span<const std::int64_t> starts) const {
  const WindowBatch all{.tokens = split_, .starts = starts, .T = block_size_};
  std::vector<WindowBatch> batches;
  for (std::int64_t micro = 0; micro < micro_batches_; ++micro)
    batches.push_back(all.part(micro * batch_size_, batch_size_));
  return batches;
}

}  // namespace chargpt
