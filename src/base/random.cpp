#include "base/random.h"

namespace chargpt {
namespace {

__extension__ typedef unsigned __int128 Wide;  // GCC and Clang; 64 x 64 -> 128 bits

constexpr std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// The purpose goes through the cipher into the key, which leaves all 128 bits of the counter to (a, b, block).
std::array<std::uint32_t, 2> stream_key(std::uint64_t seed, Purpose purpose) {
  const auto mixed = philox({static_cast<std::uint32_t>(purpose), 0, 0, 0}, {low(seed), high(seed)});
  return {mixed[0], mixed[1]};
}

std::uint64_t next64(RandomStream& stream) {
  const std::uint64_t first = stream.next();
  return first | static_cast<std::uint64_t>(stream.next()) << 32;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(odd) ^ counter[1] ^ key[0], low(odd), high(even) ^ counter[3] ^ key[1], low(even)};
    key[0] += 0x9E3779B9;  // Weyl sequences: the golden ratio and sqrt(3) - 1
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint64_t derive_seed(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b) {
  RandomStream stream(seed, purpose, a, b);
  return next64(stream);
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b)
    : key_(stream_key(seed, purpose)), counter_{0, b, low(a), high(a)} {}

std::uint32_t RandomStream::next() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() {
  return static_cast<double>(next64(*this) >> 11) * 0x1p-53;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  Wide product = Wide{next64(*this)} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound draws are one too many
    while (static_cast<std::uint64_t>(product) < threshold) product = Wide{next64(*this)} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace chargpt
